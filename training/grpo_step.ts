/**
 * One GRPO step of a run: generate, score, train, and record what happened.
 */
import { RgxError } from "../core/errors.ts";
import { DROPOUT_PASS } from "../core/philox.ts";
import { dropoutOf } from "./model/adapter_options.ts";
import { EntropyControl } from "./loss/entropy_control.ts";
import { finiteOrNull, type Metrics } from "./metrics/metrics.ts";
import type { AdamW } from "./step/optimizer.ts";
import type { ReferencePolicy } from "./step/reference_policy.ts";
import { joinRollouts, type Rollout, rollOut, type RolloutRow } from "./rollout/rollout.ts";
import { RolloutBuffer } from "./step/rollout_buffer.ts";
import { SamplerDrift } from "./metrics/rollout_metrics.ts";
import type { RunContext } from "./run/run_context.ts";
import type { PromptSampler } from "./rollout/prompt_sampler.ts";
import { rateFactor, scheduleOf } from "./step/lr_schedule.ts";
import { rolloutScores, taskMetrics, type TaskScore } from "./rollout/task_metrics.ts";
import { accumulateGradients, policyLogp, type TrainingRow } from "./step/gradient_accumulation.ts";

/** After so many steps in a row in which a reward fails on every completion, the run gives up. */
const FAILING_STEPS = 3;

/**
 * A reward has failed too often. The step that noticed it was completed, so a checkpoint can be
 * saved.
 */
export class RewardFailure extends RgxError {
  override name = "RewardFailure";
}

export class GrpoSteps {
  readonly #sampler: PromptSampler;
  readonly #entropy: EntropyControl;
  /** The generation batch that is being trained on. */
  #buffer: RolloutBuffer | null;
  /** Number of steps in a row in which each reward failed on every completion. */
  readonly #failing = new Map<string, number>();

  /** @param buffer the generation batch that a restored run was training on */
  constructor(
    private readonly run: RunContext,
    private readonly optimizer: AdamW,
    private readonly reference: ReferencePolicy | null,
    buffer: RolloutBuffer | null,
  ) {
    const { training } = run.options.config;
    this.#sampler = run.createSampler("GRPO", run.sizes.promptsPerGeneration);
    this.#entropy = new EntropyControl(training, run.state.entropy);
    this.#buffer = buffer;
  }

  /**
   * The generation batch that the next step continues with, or null if it starts with a new one.
   */
  inFlight(): RolloutBuffer | null {
    return this.run.sizes.schedule.inFlight(this.run.state.step) === null ? null : this.#buffer;
  }

  /**
   * Does the next step and increases `state.step`.
   * @throws Interrupted before the weights change, with nothing changed; RgxError when a reward
   *   keeps failing
   */
  async step(): Promise<void> {
    const { training } = this.run.options.config, { state, sizes } = this.run;
    const start = performance.now(), step = state.step + 1;
    const { buffer, rows, rollout, nextPrompt } = await this.#stepRows();
    const { result, gradNorm } = await this.#passes(async () => ({
      result: await accumulateGradients(this.run.options.model, rows, {
        microBatchSize: training.per_device_train_batch_size,
        temperature: training.temperature,
        settings: {
          ...training,
          entropy_coef: this.#entropy.applied,
          entropy_bonus: this.#entropy.active,
        },
        maxCompletionLength: training.max_completion_length,
        reference: this.reference,
        dropout: { seed: training.seed, pass: DROPOUT_PASS.grpo },
      }),
      // Reading the norm waits for the backward pass, so its time counts for this phase.
      gradNorm: await this.optimizer.gradNorm(),
    }));
    const rate = training.learning_rate *
      rateFactor(scheduleOf(training, sizes.totalSteps), state.step);
    await this.run.applyGradients(this.optimizer, rate, gradNorm);
    this.#entropy.update(result.entropy);
    if (training.sync_ref_model && step % training.ref_model_sync_steps === 0) {
      this.reference?.sync(training.ref_model_mixup_alpha);
    }
    const generated = rollout?.completionTokens ?? 0;
    this.#buffer = buffer;
    state.step = step;
    state.nextPrompt = nextPrompt;
    state.entropy = this.#entropy.state();
    state.numTokens += generated + (rollout?.promptTokens ?? 0);
    state.tokensGenerated += generated;
    state.tokensTrained += result.tokens;
    // A single NaN would make the mean loss of the run NaN.
    if (Number.isFinite(result.loss)) state.lossSum += result.loss;
    const scores = this.#scores(rollout);
    await this.#record(start, rollout, result.tokens, {
      // First, so that no reward can overwrite a metric of the trainer.
      ...rollout?.logged,
      loss: result.loss,
      grad_norm: gradNorm,
      learning_rate: rate,
      num_tokens: state.numTokens,
      ...rollout?.metrics,
      ...result.metrics,
      ...(this.#entropy.active ? { entropy_coef: this.#entropy.coefficient } : {}),
      ...(this.run.options.problems.source.mix === null ? {} : taskMetrics(scores)),
      ...this.run.curriculum?.metrics(),
    });
    await this.#moveLevels(scores);
    if (rollout !== null) await this.#watchRewards(rollout);
  }

  #passes<T>(work: () => Promise<T>): Promise<T> {
    return this.run.clock.time("forward_backward", () => this.run.stoppable(work));
  }

  /** Scores of the completions, if the curriculum or the metrics of several tasks need them. */
  #scores(rollout: Rollout | null): TaskScore[] {
    const { curriculum, options } = this.run;
    const wanted = curriculum !== null || options.problems.source.mix !== null;
    return rollout === null || !wanted ? [] : rolloutScores(rollout, options.rubric.weights);
  }

  /** Passes the scores to the curriculum. Problems that are made from now on have its levels. */
  async #moveLevels(scores: readonly TaskScore[]): Promise<void> {
    const { run } = this, { curriculum, state } = run, { step } = state;
    if (curriculum === null) return;
    curriculum.record(scores);
    const { changes, notes } = curriculum.endStep(step, (task) => this.#misfit(task));
    state.curriculum = curriculum.state;
    for (const change of changes) {
      await run.store.appendEvent("curriculum", step, { ...change });
      run.emit({ type: "curriculum", step, change });
    }
    for (const note of notes) await run.warn(note);
  }

  /** Why the training prompts of a task, at its current level, do not fit; null if they do. */
  #misfit(task: string): string | null {
    const { problems, promptMisfit, config } = this.run.options;
    const { max_prompt_length: limit } = config.training;
    let longest = 0;
    for (let i = 0; i < this.run.sizes.trainProblems; i++) {
      const entry = problems.trainEntry(i);
      if (entry.metadata["source_dataset"] !== task) continue;
      longest = Math.max(longest, this.run.prompts.prompt(entry).ids.length);
    }
    if (limit !== null && longest > limit) {
      return `its longest prompt has ${longest} tokens, max_prompt_length is ${limit}`;
    }
    return promptMisfit?.(longest) ?? null;
  }

  /** The rows of the next step. Generates the batches for it that do not exist yet. */
  async #stepRows() {
    const { state, sizes } = this.run;
    const rows: TrainingRow[] = [], rollouts: Rollout[] = [];
    let buffer = this.inFlight(), { nextPrompt } = state;
    for (const { generation, slice } of sizes.schedule.microBatches(state.step)) {
      if (buffer?.generation !== generation) {
        const rollout = await this.#generate(nextPrompt);
        buffer = await this.#fill(generation, rollout);
        nextPrompt += rollout.groups.length;
        rollouts.push(rollout);
      }
      rows.push(...buffer!.slice(slice));
    }
    return { buffer, rows, rollout: joinRollouts(rollouts), nextPrompt };
  }

  #generate(firstPrompt: number): Promise<Rollout> {
    const { run } = this, { config, model, problems, rubric } = run.options;
    return run.stoppable(() =>
      rollOut({
        entryAt: (n) => problems.trainEntry(this.#sampler.draw(n)),
        firstPrompt,
        prompts: run.sizes.promptsPerGeneration,
        step: run.state.step + 1,
      }, {
        model,
        prompts: run.prompts,
        rubric,
        training: config.training,
        clock: run.clock,
        shouldStop: () => run.stopRequested(),
      })
    );
  }

  /**
   * The rows of a batch for training, with log-probabilities of the current policy where they are
   * needed.
   */
  async #fill(generation: number, rollout: Rollout): Promise<RolloutBuffer> {
    const { config, model } = this.run.options, { training } = config;
    const { schedule } = this.run.sizes;
    const kept = rollout.rows.filter((row) => row.kept);
    const masked = (row: RolloutRow) => training.mask_truncated_completions && row.truncated;
    let rows: TrainingRow[] = kept.map((row) => {
      const { prompt, promptId } = rollout.groups[row.group]!;
      return {
        group: promptId,
        promptId,
        branch: row.branch,
        promptIds: prompt.ids,
        ids: masked(row) ? [] : row.ids,
        advantage: row.advantage,
        oldLogp: null,
      };
    });
    if (schedule.needsOldLogp) {
      const old = await this.#passes(() =>
        policyLogp(model, rows, {
          microBatchSize: training.per_device_train_batch_size,
          temperature: training.temperature,
        })
      );
      rows = rows.map((row, i) => ({ ...row, oldLogp: old[i]! }));
      const drift = new SamplerDrift();
      kept.forEach((row, i) => drift.add(old[i]!, 0, masked(row) ? [] : row.logprobs));
      Object.assign(rollout.metrics, drift.metrics());
    } else if (dropoutOf(config) === 0) {
      // The training pass uses the policy that has sampled, unless there is dropout.
      rows = rows.map((row, i) => ({
        ...row,
        samplerLogp: masked(kept[i]!) ? [] : kept[i]!.logprobs,
      }));
    }
    return new RolloutBuffer(generation, schedule.options.stepsPerGeneration, rows);
  }

  /** Writes the metrics and completions of a step, and emits its events. */
  async #record(
    start: number,
    rollout: Rollout | null,
    trained: number,
    metrics: Metrics,
  ): Promise<void> {
    const { run } = this, { config, rubric } = run.options, { training } = config;
    const { step } = run.state, { totalSteps } = run.sizes, epoch = run.epoch();
    const clockMetrics = run.clockMetrics(start);
    const { step_time = NaN } = clockMetrics;
    const generated = rollout?.completionTokens ?? 0;
    if (rollout !== null) clockMetrics["throughput/tokens_per_second"] = generated / step_time;
    await run.store.appendMetrics({
      step,
      epoch,
      split: "train",
      ...finiteOrNull(metrics),
      ...clockMetrics,
    });
    if (training.log_completions && rollout !== null) {
      await run.store.writeCompletions(step, rollout, rubric.names);
    }
    run.averager.add({ ...metrics, step_time, epoch });
    run.emit({
      type: "step",
      phase: "grpo",
      step,
      totalSteps,
      metrics: { ...metrics, ...clockMetrics },
      tokens: { generated, trained },
    });
    if (rollout !== null) this.#showCompletions(step, rollout);
    await run.diagnose(step, metrics);
    if (!run.intervals.logsAt(step)) return;
    const means = run.averager.means();
    run.averager.reset();
    run.store.addLog({ ...means, step });
    run.emit({ type: "log", step, totalSteps, metrics: means });
    if (rollout !== null) this.#showSample(step, rollout);
  }

  #showCompletions(step: number, rollout: Rollout): void {
    const byGroup = Map.groupBy(rollout.rows, (row) => row.group);
    this.run.emit({
      type: "completions",
      step,
      rewardNames: this.run.options.rubric.names,
      groups: rollout.groups.map(({ entry, prompt }, group) => ({
        question: entry.question,
        answer: entry.answer,
        prompt: prompt.text,
        completions: byGroup.get(group) ?? [],
      })),
    });
  }

  #showSample(step: number, rollout: Rollout): void {
    // A group with different rewards shows more than one without a signal.
    const shown = rollout.rows.find((row) => row.advantage !== 0)?.group ?? 0;
    const { entry, prompt } = rollout.groups[shown]!;
    this.run.emit({
      type: "sample",
      step,
      question: entry.question,
      answer: entry.answer,
      prompt: prompt.text,
      rewardNames: this.run.options.rubric.names,
      completions: rollout.rows.filter((row) => row.group === shown),
    });
  }

  /**
   * Reports a failing reward once. Gives up if one fails on every completion of several steps in a
   * row.
   */
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
