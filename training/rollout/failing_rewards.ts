/** Watches the rewards of a run for failures. */
import { RgxError } from "../../core/errors.ts";
import type { Rollout } from "./rollout.ts";

/** The run ends when a reward fails on every completion of this number of steps in a row. */
const FAILING_STEPS = 3;

/**
 * A reward has failed too often. The step that noticed it was completed, so a checkpoint can be
 * saved.
 */
export class RewardFailure extends RgxError {
  /** Name of the class, as of every error. */
  override name = "RewardFailure";
}

export class FailingRewards {
  /** Number of steps in a row in which each reward failed on every completion, by its name. */
  readonly #failedSteps = new Map<string, number>();

  /** @param names names of the rewards */
  constructor(private readonly names: readonly string[]) {}

  /**
   * Takes what a step generated. Reports a reward the first time that it fails, and in each step
   * that there are completions to which no reward applies, as TRL does.
   * @throws RewardFailure when one fails on every completion of several steps in a row
   */
  async check(rollout: Rollout, warn: (message: string) => Promise<void>): Promise<void> {
    const without = rollout.rows.filter(({ rewards }) => rewards.every((value) => value === null));
    if (without.length > 0) {
      await warn(
        `no reward applies to ${without.length} of ${rollout.rows.length} completions, so they ` +
          `teach nothing: all of ${this.names.join(", ")} returned null; the first completion ` +
          `was ${JSON.stringify(without[0]!.text)}. At least one reward must return a number`,
      );
    }
    for (const name of this.names) {
      const errors = rollout.errors.filter((error) => error.name === name);
      const all = errors.length === rollout.rows.length;
      const before = this.#failedSteps.get(name);
      if (errors.length > 0 && before === undefined) {
        const { message, completion } = errors[0]!;
        await warn(
          `reward ${name} failed and counts 0: ${message}; the completion was ` +
            JSON.stringify(completion),
        );
      }
      if (errors.length > 0 || before !== undefined) {
        this.#failedSteps.set(name, all ? (before ?? 0) + 1 : 0);
      }
      if (this.#failedSteps.get(name) !== FAILING_STEPS) continue;
      throw new RewardFailure(
        `reward ${name} failed on every completion of ${FAILING_STEPS} steps in a row`,
        { advice: "Repair the reward, then resume the run." },
      );
    }
  }
}
