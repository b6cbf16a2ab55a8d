/**
 * Rounds of decode steps, after each of which the host reads the sampled tokens. On a graphics card
 * the first step of the next round is ready before the host waits: the card goes on with it while
 * the host sees which branches have ended. Branches that have ended run through that one step for
 * nothing. What a branch samples depends on none of this.
 */
import type { Network } from "../network/weights/model_weights.ts";
import type { Decoder } from "./decoder.ts";
import { type Branch, byDecoder, wantsLogits } from "./generation_job.ts";
import { samplingBatches, stepsAsOneBatch } from "./sampling/sampling_params.ts";
import type { SampledTokens } from "./sampling/decode_sampler.ts";

export type TakeToken = (
  branch: Branch,
  token: number,
  logprob: number,
  logits: Float32Array | Float64Array | null,
) => void;

/** Steps of the same rows in a row. */
interface Steps {
  rows: readonly Branch[];
  count: number;
}

export class DecodeRounds {
  /** Whether the host can do something while the card computes. */
  readonly #overlaps: boolean;
  /** The rows of the first step of a round, whose tokens were not read; null = there is none. */
  #ahead: readonly Branch[] | null = null;

  constructor(
    private readonly network: Network,
    private readonly stepsPerRead: number,
    private readonly take: TakeToken,
  ) {
    this.#overlaps = network.device.readLater !== undefined;
  }

  /**
   * A round for each model.
   * @param mayGoOn whether the same branches decode next, but for those that end
   */
  async run(active: readonly Branch[], mayGoOn: boolean): Promise<void> {
    const models = byDecoder(active);
    for (const [decoder, rows] of models) {
      await this.#round(decoder, rows, mayGoOn && models.size === 1);
    }
  }

  /** Reads the tokens of the step that ran ahead, so that rows can be added. */
  async catchUp(): Promise<void> {
    const rows = this.#ahead;
    this.#ahead = null;
    // All of its branches may have ended in the round before it.
    if (rows === null || rows.every(({ done }) => done)) return;
    await this.#takeTokens(await rows[0]!.job.decoder.beginRead(), [{ rows, count: 1 }]);
  }

  /** Forgets it, after an error. */
  forget(): void {
    this.#ahead = null;
  }

  /** Reads the tokens of branches that have just been prefilled. */
  async readFirst(decoder: Decoder, rows: readonly Branch[]): Promise<void> {
    await this.#takeTokens(await decoder.beginRead(), [{ rows, count: 1 }]);
  }

  async #round(decoder: Decoder, rows: readonly Branch[], mayGoOn: boolean): Promise<void> {
    const batches = samplingBatches(rows), before = this.#ahead;
    this.#ahead = null;
    const left = rows.reduce((most, { job, position }) => Math.max(most, job.limit - position), 0);
    const most = batches.length > 1 || rows.some(wantsLogits)
      ? 1
      : Math.min(left, stepsAsOneBatch(rows));
    const steps = Math.min(this.stepsPerRead, most), done: Steps[] = [];
    if (before !== null) done.push({ rows: before, count: 1 });
    // The rows of the step before; those that have ended are among them.
    let last = before;
    const step = async (index: number, ahead: number) => {
      const after = last === null ? null : (index || ahead) - 1;
      const moved = last === null ? null : movedRows(rows, last);
      await decoder.step({ index, ahead, after, moved }, rows, batches);
      last = rows;
    };
    const first = done.length;
    for (let number = first; number < steps; number++) await step(number, number);
    if (steps > first) done.push({ rows, count: steps - first });
    const finish = await decoder.beginRead();
    if (this.#overlaps && mayGoOn && steps < most) {
      // The first step of the next round, before the host knows which branches have ended.
      await step(0, steps);
      this.#ahead = rows;
    }
    await this.#takeTokens(finish, done);
  }

  /** Waits for tokens, and gives them to the branches that have not ended, in order. */
  async #takeTokens(
    finish: () => Promise<SampledTokens>,
    steps: readonly Steps[],
  ): Promise<void> {
    const { rows: last } = steps.at(-1)!, { vocabSize } = this.network.config;
    const logits = last.some(wantsLogits)
      ? await last[0]!.job.decoder.readLogits(last.length)
      : null;
    const { tokens, logprobs, at } = await finish();
    let step = 0;
    for (const { rows, count } of steps) {
      for (const end = step + count; step < end; step++) {
        rows.forEach((branch, row) => {
          if (branch.done) return;
          const element = at(step, row);
          const own = logits?.subarray(row * vocabSize, (row + 1) * vocabSize) ?? null;
          this.take(branch, tokens[element]!, logprobs[element]!, own);
        });
      }
    }
  }
}

/** The number that each row had in a step before; null where all have the same. */
function movedRows(rows: readonly Branch[], before: readonly Branch[]): Uint32Array | null {
  if (rows.length === before.length && rows.every((row, r) => row === before[r])) return null;
  const numbers = new Map(before.map((row, r) => [row, r]));
  return Uint32Array.from(rows, (row) => numbers.get(row)!);
}
