/**
 * One GRPO step of a run: generate, score, train, and record what happened.
 */
import { DROPOUT_PASS } from "../core/philox.ts";
import { dropoutOf } from "./model/adapter_options.ts";
import { EntropyControl } from "./loss/entropy_control.ts";
import type { AdamW } from "./step/optimizer.ts";
import type { ReferencePolicy } from "./step/reference_policy.ts";
import { FailingRewards } from "./rollout/failing_rewards.ts";
import {
  groupRequests,
  joinRollouts,
  promptGroups,
  type Rollout,
  rollOut,
  type RolloutRow,
} from "./rollout/rollout.ts";
import type { Sampler } from "./rollout/sampler.ts";
import { importanceSettings } from "./loss/importance_ratio.ts";
import { RolloutBuffer } from "./step/rollout_buffer.ts";
import { SamplerDrift } from "./metrics/rollout_metrics.ts";
import type { RunContext } from "./run/run_context.ts";
import { recordStep } from "./run/step_records.ts";
import type { PromptSampler } from "./rollout/prompt_sampler.ts";
import { rateFactor, scheduleOf } from "./step/lr_schedule.ts";
import { rolloutScores, taskMetrics, type TaskScore } from "./rollout/task_metrics.ts";
import type { GradientSum } from "./step/gradient_sum.ts";
import { withLossScale } from "./step/loss_scale.ts";
import { accumulateGradients, policyLogp, type TrainingRow } from "./step/gradient_accumulation.ts";

/** The GRPO steps of a run. */
export class GrpoSteps {
  readonly #order: PromptSampler;
  readonly #entropy: EntropyControl;
  /** The generation batch that is being trained on. */
  #buffer: RolloutBuffer | null;
  readonly #failingRewards: FailingRewards;
  readonly #sum: GradientSum;

  /** @param buffer the generation batch that a restored run was training on */
  constructor(
    private readonly run: RunContext,
    private readonly optimizer: AdamW,
    private readonly reference: ReferencePolicy | null,
    private readonly sampler: Sampler,
    buffer: RolloutBuffer | null,
  ) {
    const { training } = run.options.config;
    this.#order = run.createSampler("GRPO", run.sizes.promptsPerGeneration);
    this.#entropy = new EntropyControl(training, run.state.entropy);
    this.#buffer = buffer;
    this.#failingRewards = new FailingRewards(run.options.rubric.names);
    this.#sum = run.createGradientSum(training.gradient_accumulation_steps);
    // Buffers of the warm start and of the time estimate would stay beside what sampling keeps.
    if (sampler.kept !== null) run.options.model.releasePasses();
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
    const { buffer, rows, rollout, nextPrompt, other } = await this.#stepRows();
    // Later steps on the same batch have another policy than the one that has sampled it.
    const kept = rollout === null ? null : this.sampler.kept;
    const passes = async (lossScale: number) => ({
      result: await accumulateGradients(this.run.options.model, rows, {
        lossScale,
        microBatchSize: training.per_device_train_batch_size,
        temperature: training.temperature,
        settings: {
          ...training,
          entropy_coef: this.#entropy.applied,
          entropy_bonus: this.#entropy.active,
        },
        maxCompletionLength: training.max_completion_length,
        reference: this.reference,
        otherSampler: other ? { correction: importanceSettings(training) } : null,
        dropout: { seed: training.seed, pass: DROPOUT_PASS.grpo },
        kept: kept ?? undefined,
        sum: this.#sum,
      }),
      // Reading the norm waits for the backward pass, so its time counts for this phase.
      gradNorm: await this.optimizer.gradNorm(),
    });
    const { result, gradNorm } = await this.#passes(() => withLossScale(state, passes));
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
    this.run.addLoss(result.loss);
    const spent = this.run.spend(rollout?.spent ?? {});
    const scores = this.#scores(rollout);
    await recordStep(this.run, start, rollout, result.tokens, {
      // First, so that no reward can overwrite a metric of the trainer.
      ...rollout?.logged,
      loss: result.loss,
      grad_norm: gradNorm,
      ...(state.lossScale === null ? {} : { loss_scale: state.lossScale.scale }),
      learning_rate: rate,
      num_tokens: state.numTokens,
      ...rollout?.metrics,
      ...spent,
      ...result.metrics,
      ...(this.#entropy.active ? { entropy_coef: this.#entropy.coefficient } : {}),
      ...(this.run.options.problems.source.mix === null ? {} : taskMetrics(scores)),
      ...this.run.curriculum?.metrics(),
    });
    this.run.isWholeStep = true;
    await this.#moveLevels(scores);
    if (rollout === null) return;
    // All ranks come to the same result; each of them has to know that the others do.
    await this.run.ranks.each(async () => {
      await this.#failingRewards.check(rollout, (message) => this.run.warn(message));
      for (const message of rollout.warnings) await this.run.warn(message);
    });
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
      await run.records.appendEvent("curriculum", step, { ...change });
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
      const entry = this.run.clock.problem(() => problems.trainEntry(i));
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
    let buffer = this.inFlight(), { nextPrompt } = state, other = false;
    for (const { generation, slice } of sizes.schedule.microBatches(state.step)) {
      if (buffer?.generation !== generation) {
        const rollout = await this.#generate(nextPrompt);
        buffer = await this.#fill(generation, rollout);
        nextPrompt += rollout.groups.length;
        rollouts.push(rollout);
      }
      rows.push(...buffer!.slice(slice));
      other ||= buffer!.other;
    }
    return { buffer, rows, rollout: joinRollouts(rollouts), nextPrompt, other };
  }

  async #generate(firstPrompt: number): Promise<Rollout> {
    const { run, sampler } = this, { config, problems, rubric } = run.options;
    const { step } = run.state, { promptsPerGeneration: prompts } = run.sizes;
    const entryAt = (n: number) =>
      run.clock.problem(() => problems.trainEntry(this.#order.draw(n)));
    const shouldStop = () => run.stopRequested();
    if (sampler.maxStaleness > 0) {
      const ahead = Math.min(sampler.maxStaleness, run.sizes.totalSteps - 1 - step);
      const coming = Array.from({ length: ahead + 1 }, (_, i) => firstPrompt + i * prompts);
      await sampler.begin(
        step,
        coming.map((first) => ({
          firstPrompt: first,
          requests: () =>
            groupRequests(
              promptGroups({ entryAt }, run.prompts, first, prompts),
              config.training,
            ),
        })),
      );
    }
    return await run.stoppable(() =>
      rollOut({ entryAt, firstPrompt, prompts, step: step + 1 }, {
        sample: (requests) => sampler.sample(requests, step, shouldStop),
        prompts: run.prompts,
        rubric,
        training: config.training,
        clock: run.clock,
        shouldStop,
        ranks: run.ranks,
      })
    );
  }

  /**
   * The rows of a batch for training, with log-probabilities of the current policy where they are
   * needed.
   */
  async #fill(generation: number, rollout: Rollout): Promise<RolloutBuffer> {
    const { run } = this, { config, model } = run.options, { training } = config;
    const { schedule } = run.sizes;
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
    const isOther = rollout.other;
    const sampled = (i: number) => masked(kept[i]!) ? [] : kept[i]!.logprobs;
    // With dropout, the training pass does not compute the log-probabilities of the policy.
    if (training.use_rollout_log_probs) {
      rows = rows.map((row, i) => ({ ...row, oldLogp: sampled(i) }));
    } else if (schedule.needsOldLogp || (isOther && dropoutOf(config) > 0)) {
      const old = await this.#passes(() =>
        policyLogp(model, rows, {
          microBatchSize: training.per_device_train_batch_size,
          temperature: training.temperature,
        }, run.ranks)
      );
      rows = rows.map((row, i) => ({ ...row, oldLogp: old[i]! }));
      if (!isOther) {
        const drift = new SamplerDrift();
        kept.forEach((_, i) => drift.add(old[i]!, 0, sampled(i)));
        Object.assign(rollout.metrics, drift.metrics());
      }
    }
    // The training pass uses the policy that has sampled, unless there is dropout.
    if (isOther || (!schedule.needsOldLogp && dropoutOf(config) === 0)) {
      rows = rows.map((row, i) => ({ ...row, samplerLogp: sampled(i) }));
    }
    return new RolloutBuffer(generation, schedule.options.stepsPerGeneration, rows, isOther);
  }
}
