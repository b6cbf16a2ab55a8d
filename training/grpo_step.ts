/** One GRPO step of a run: generate, score, train, and record what happened. */
import { RgxError } from "../core/errors.ts";
import { DROPOUT_PASS } from "../core/philox.ts";
import { finiteOrNull, type Metrics } from "./metrics.ts";
import type { AdamW } from "./optimizer.ts";
import type { ReferencePolicy } from "./reference_policy.ts";
import { type Rollout, rollOut } from "./rollout.ts";
import type { RunContext } from "./run_context.ts";
import type { PromptSampler } from "./sampler.ts";
import { rateFactor } from "./schedule.ts";
import { trainWindow } from "./train_window.ts";

/** Steps in a row in which a reward fails on every completion, after which the run gives up. */
const FAILING_STEPS = 3;

/** A reward failed again and again; the step that found out was completed, so a checkpoint can be saved. */
export class RewardFailure extends RgxError {
  override name = "RewardFailure";
}

export class GrpoSteps {
  readonly #sampler: PromptSampler;
  /** Steps in a row in which a reward failed on everything, by name. */
  readonly #failing = new Map<string, number>();

  constructor(
    private readonly run: RunContext,
    private readonly optimizer: AdamW,
    private readonly reference: ReferencePolicy | null,
  ) {
    this.#sampler = run.createSampler("GRPO", run.sizes.promptsPerStep);
  }

  /**
   * Does the next step and increases `state.step`.
   * @throws Interrupted while generating, with nothing changed; RgxError when a reward keeps failing
   */
  async step(): Promise<void> {
    const { config, model, problems, rubric } = this.run.options;
    const { training } = config, { state, clock, sizes } = this.run;
    const start = performance.now(), step = state.step + 1;
    const { indices } = this.#sampler.at(state.step);
    const firstPromptId = state.step * sizes.promptsPerStep;
    const rollout = await rollOut(
      indices.map((index) => problems.trainEntry(index)),
      step,
      firstPromptId,
      {
        model,
        prompts: this.run.prompts,
        rubric,
        training,
        clock,
        shouldStop: () => this.run.stopRequested(),
      },
    );
    const { window, gradNorm } = await clock.time("forward_backward", async () => ({
      window: await trainWindow(
        model,
        rollout.rows.map(({ group, ids, advantage }, i) => ({
          group,
          promptId: firstPromptId + group,
          branch: i % training.num_generations,
          promptIds: rollout.groups[group]!.prompt.ids,
          ids,
          advantage,
          oldLogp: null,
        })),
        {
          microBatchSize: training.per_device_train_batch_size,
          temperature: training.temperature,
          settings: training,
          maxCompletionLength: training.max_completion_length,
          reference: this.reference,
          dropout: { seed: training.seed, pass: DROPOUT_PASS.grpo },
        },
      ),
      // Read here, so that the backward pass is booked where it belongs.
      gradNorm: await this.optimizer.gradNorm(),
    }));
    const schedule = {
      type: training.lr_scheduler_type,
      warmupSteps: training.warmup_steps,
      totalSteps: sizes.totalSteps,
    };
    const rate = training.learning_rate * rateFactor(schedule, state.step);
    await this.run.applyGradients(this.optimizer, rate, gradNorm);
    state.step = step;
    state.numTokens += rollout.promptTokens + rollout.completionTokens;
    state.tokensGenerated += rollout.completionTokens;
    state.tokensTrained += window.tokens;
    state.lossSum += window.loss;
    await this.#record(start, rollout, {
      loss: window.loss,
      grad_norm: gradNorm,
      learning_rate: rate,
      num_tokens: state.numTokens,
      ...rollout.metrics,
      ...window.metrics,
    });
    await this.#watchRewards(rollout);
  }

  /** Metrics line, completions, events. */
  async #record(start: number, rollout: Rollout, metrics: Metrics): Promise<void> {
    const { run } = this, { config, rubric } = run.options, { training } = config;
    const { step } = run.state, { totalSteps } = run.sizes, epoch = run.epoch();
    const clockMetrics = run.clockMetrics(start);
    const { step_time = NaN } = clockMetrics;
    clockMetrics["throughput/tokens_per_second"] = rollout.completionTokens / step_time;
    await run.store.appendMetrics({
      step,
      epoch,
      split: "train",
      ...finiteOrNull(metrics),
      ...clockMetrics,
    });
    if (training.log_completions) await run.store.writeCompletions(step, rollout, rubric.names);
    run.averager.add({ ...metrics, step_time, epoch });
    run.emit({
      type: "step",
      phase: "grpo",
      step,
      totalSteps,
      metrics: { ...metrics, ...clockMetrics },
      tokens: { generated: rollout.completionTokens, trained: rollout.completionTokens },
    });
    if (step % training.logging_steps !== 0 && step !== totalSteps) return;
    const means = run.averager.means();
    run.averager.reset();
    run.store.logHistory.push({ ...means, step });
    run.emit({ type: "log", step, totalSteps, metrics: means });
    // A group whose completions differ in reward shows more than one in which nothing is learned.
    const shown = rollout.rows.find((row) => row.advantage !== 0)?.group ?? 0;
    const { entry, prompt } = rollout.groups[shown]!;
    run.emit({
      type: "sample",
      step,
      question: entry.question,
      answer: entry.answer,
      prompt: prompt.text,
      rewardNames: rubric.names,
      completions: rollout.rows.filter((row) => row.group === shown),
    });
  }

  /** Reports a failing reward once; gives up when one fails on everything again and again. */
  async #watchRewards(rollout: Rollout): Promise<void> {
    for (const name of this.run.options.rubric.names) {
      const errors = rollout.errors.filter((error) => error.name === name);
      const all = errors.length === rollout.rows.length;
      const before = this.#failing.get(name);
      if (errors.length > 0 && before === undefined) {
        const { message, completion } = errors[0]!;
        await this.run.warn(
          `reward ${name} failed and counts 0: ${message}; the completion was ` +
            JSON.stringify(completion),
        );
      }
      if (errors.length > 0 || before !== undefined) {
        this.#failing.set(name, all ? (before ?? 0) + 1 : 0);
      }
      if (this.#failing.get(name) !== FAILING_STEPS) continue;
      throw new RewardFailure(
        `reward ${name} failed on every completion of ${FAILING_STEPS} steps in a row`,
        { advice: "Repair the reward, then continue with --resume." },
      );
    }
  }
}
