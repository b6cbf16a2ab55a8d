/** What follows from a GRPO step: records and events, the curriculum, warnings about rewards. */
import { mean } from "../../core/statistics.ts";
import { extractAnswer } from "../../data/extract.ts";
import { publishedFormat } from "../../data/published_formats.ts";
import { TAGGED } from "../diagnosis/diagnosis.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type Rollout, tokensOf } from "../rollout/rollout.ts";
import { rolloutScores, taskMetrics, type TaskScore } from "../rollout/task_metrics.ts";
import type { AccumulationResult } from "../step/gradient_accumulation.ts";
import { addLoss, addSpent } from "../checkpoint/run_state.ts";
import type { TrainingCurriculum } from "../curriculum/curriculum.ts";
import type { IntervalStrategy } from "./interval_strategy.ts";
import type { RunParts } from "./run_report.ts";
import { RgxError } from "../../core/errors.ts";

export interface StepOutcome {
  /** Time at which it began. */
  start: number;
  /** What it rolled out; null = it only used an earlier batch. */
  rollout: Rollout | null;
  result: AccumulationResult;
  gradNorm: number;
  learningRate: number;
  /** null = the loss has no entropy bonus. */
  entropyCoef: number | null;
}

export class StepRecords {
  readonly #failingRewards: FailingRewards;

  constructor(
    private readonly run: RunParts,
    private readonly intervals: IntervalStrategy,
    /** null = the parameters of the tasks do not change. */
    private readonly curriculum: TrainingCurriculum | null,
  ) {
    this.#failingRewards = new FailingRewards(run.options.rubric.names);
  }

  /** @throws RewardFailure when a reward keeps failing */
  async stepped(outcome: StepOutcome): Promise<void> {
    const { run } = this, { state } = run, { rollout, result } = outcome;
    const { sampled = 0, prompts = 0 } = rollout === null ? {} : tokensOf(rollout);
    state.numTokens += sampled + prompts;
    state.tokensGenerated += sampled;
    state.tokensTrained += result.tokens;
    addLoss(state, result.loss, run.options.config.training);
    const spent = addSpent(state, rollout?.spent ?? {}), scores = this.#scores(rollout);
    await this.#record(outcome, sampled, {
      // First, so that no reward can overwrite a metric of the trainer.
      ...rollout?.logged,
      loss: result.loss,
      grad_norm: outcome.gradNorm,
      ...(state.lossScale === null ? {} : { loss_scale: state.lossScale.scale }),
      learning_rate: outcome.learningRate,
      num_tokens: state.numTokens,
      ...rollout?.metrics,
      ...spent,
      ...result.metrics,
      ...(outcome.entropyCoef === null ? {} : { entropy_coef: outcome.entropyCoef }),
      ...(run.options.problems.source.mix === null ? {} : taskMetrics(scores)),
      ...this.curriculum?.metrics(),
    });
    run.updates.isWholeStep = true;
    await this.#moveLevels(scores);
    if (rollout === null) return;
    // All ranks come to the same result; each of them has to know that the others do.
    await run.stop.ranks.each(async () => {
      await this.#failingRewards.check(rollout, (message) => run.report.warn(message));
      for (const message of rollout.warnings) await run.report.warn(message);
    });
  }

  async #record(
    { start, rollout, result }: StepOutcome,
    generated: number,
    metrics: Metrics,
  ): Promise<void> {
    const { run } = this, { config, rubric } = run.options, { training } = config;
    const { step } = run.state, { totalSteps } = run.sizes, epoch = run.sizes.schedule.epoch(step);
    const clockMetrics = run.clock.stepMetrics(start), { report } = run;
    const { step_time = NaN } = clockMetrics;
    if (rollout !== null) clockMetrics["throughput/tokens_per_second"] = generated / step_time;
    const tokens = { generated, trained: result.tokens };
    const about = { phase: "grpo", split: "train", step, epoch, totalSteps, tokens } as const;
    await report.step(about, metrics, clockMetrics);
    const rewardNames = rubric.names;
    if (rollout !== null) {
      if (training.log_completions) await report.writeCompletions(step, rollout, rewardNames);
      const groups = rollout.groups.map((_, group) => shownGroup(rollout, group));
      report.emit({ type: "completions", step, rewardNames, groups });
    }
    await report.diagnose(step, { ...metrics, ...(rollout !== null && taggedShare(rollout)) });
    const isLogged = this.intervals.logsAt(step);
    report.log(step, totalSteps, { ...metrics, step_time, epoch }, isLogged);
    if (!isLogged || rollout === null) return;
    // A group with different rewards shows more than one without a signal.
    const shown = rollout.rows.find((row) => row.advantage !== 0)?.group ?? 0;
    report.emit({ type: "sample", step, rewardNames, ...shownGroup(rollout, shown) });
  }

  /** Scores of the completions, if the curriculum or the metrics of several tasks need them. */
  #scores(rollout: Rollout | null): TaskScore[] {
    const { curriculum, run: { options } } = this;
    const wanted = curriculum !== null || options.problems.source.mix !== null;
    return rollout === null || !wanted ? [] : rolloutScores(rollout, options.rubric.weights);
  }

  /** Passes the scores to the curriculum. Problems that are made from now on have its levels. */
  async #moveLevels(scores: readonly TaskScore[]): Promise<void> {
    const { run, curriculum } = this, { state } = run, { step } = state;
    if (curriculum === null) return;
    curriculum.record(scores);
    const { changes, notes } = curriculum.endStep(step, (task) => this.#misfit(task));
    state.curriculum = curriculum.state;
    for (const change of changes) {
      await run.report.appendLevels(step, change);
      run.report.emit({ type: "curriculum", step, change });
    }
    for (const note of notes) await run.report.warn(note);
  }

  /** Why the training prompts of a task, at its current level, do not fit; null if they do. */
  #misfit(task: string): string | null {
    const { problems, promptMisfit, config } = this.run.options;
    const { max_prompt_length: limit } = config.training;
    let longest = 0;
    for (let i = 0; i < this.run.sizes.trainProblems; i++) {
      const entry = this.run.clock.problem(() => problems.trainEntry(i));
      if (entry.metadata["source_dataset"] !== task) continue;
      longest = Math.max(longest, this.run.prompts.prompt(entry).ids.length);
    }
    if (limit !== null && longest > limit) {
      return `its longest prompt has ${longest} tokens, max_prompt_length is ${limit}`;
    }
    return promptMisfit?.(longest) ?? null;
  }
}

/** The share of completions with an answer in tags, for problems that ask for them. */
function taggedShare({ rows, groups }: Rollout): Metrics {
  const asked = rows.filter(({ group }) =>
    publishedFormat(groups[group]!.entry.metadata["source_dataset"]) === null
  );
  if (asked.length < rows.length) return {};
  return { [TAGGED]: mean(asked.map(({ text }) => extractAnswer(text) === null ? 0 : 1)) };
}

/** A prompt with its completions, as events show them. */
function shownGroup({ groups, rows }: Rollout, group: number) {
  const { entry: { question, answer }, prompt } = groups[group]!;
  const completions = rows.filter((row) => row.group === group);
  return { question, answer, prompt: prompt.text, completions };
}

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

  constructor(private readonly names: readonly string[]) {}

  /**
   * Takes what a step generated. Reports a reward the first time that it fails, and in each step
   * that there are completions to which no reward applies, as TRL does.
   * @throws RewardFailure when one fails on every completion of several steps in a row
   */
  async check(rollout: Rollout, warn: (message: string) => Promise<void>): Promise<void> {
    const without = rollout.rows.filter(({ rewards }) => rewards.every((value) => value === null));
    if (without.length > 0 && this.names.length > 0) {
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
