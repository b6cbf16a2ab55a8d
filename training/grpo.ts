/**
 * GRPO (Shao et al. 2024, "DeepSeekMath"): one step of it.
 *
 *     sample      completions of each prompt, from the policy        rollout/sampler.ts
 *     score       each completion, by the rewards                    rollout/score.ts
 *     advantages  of each completion over the others of its prompt   rollout/credit.ts
 *     loss        clipped ratios, with KL and entropy terms          step/gradient_accumulation.ts
 *     step        of the optimizer                                   step/optimizer.ts
 *
 * A batch may serve several steps (`steps_per_generation`, `num_iterations`), or a step may take
 * several batches. Sampling is keyed by (seed, prompt, branch, position), so it can be repeated.
 */
import { DROPOUT_PASS } from "../core/philox.ts";
import { EntropyControl } from "./loss/entropy_control.ts";
import { dropoutOf } from "./model/adapter_options.ts";
import { promptsToDraw, withAdvantages } from "./rollout/credit.ts";
import { joinRollouts, type Rollout, type RolloutOptions } from "./rollout/rollout.ts";
import { type GroupSource, type Sampler, sampleRows } from "./rollout/sampler.ts";
import { scoreRows } from "./rollout/score.ts";
import type { RunParts } from "./run/run_report.ts";
import type { StepRecords } from "./run/step_records.ts";
import { accumulateGradients, policyLogp, type TrainingRow } from "./step/gradient_accumulation.ts";
import type { GradientSum } from "./step/gradient_sum.ts";
import { rateAt } from "./step/lr_schedule.ts";
import type { AdamW } from "./step/optimizer.ts";
import type { ReferencePolicy } from "./step/reference_policy.ts";
import { bufferOf, type RolloutBuffer } from "./step/rollout_buffer.ts";

/** What a step trains on. */
interface Batch {
  rows: readonly TrainingRow[];
  /** What was rolled out for this step; null = it only uses an earlier batch. */
  rollout: Rollout | null;
  /** Another engine or an older policy has sampled some of the rows. */
  other: boolean;
  buffer: RolloutBuffer | null;
}

/** What the steps take of a run. */
export interface GrpoParts extends Omit<RunParts, "prompts" | "clock" | "report"> {
  rollouts: RolloutOptions;
  groups: GroupSource;
  sampler: Sampler;
  reference: ReferencePolicy | null;
  gradients: GradientSum;
  optimizer: AdamW;
  records: StepRecords;
}

/** The GRPO steps of a run. */
export class Grpo {
  readonly #entropy: EntropyControl;

  /** @param buffer the batch that a restored run was training on */
  constructor(private readonly parts: GrpoParts, private buffer: RolloutBuffer | null) {
    this.#entropy = new EntropyControl(parts.rollouts.training, parts.state.entropy);
  }

  /** Does the next step. @throws Interrupted before anything changes; RewardFailure after it */
  async step(): Promise<void> {
    const { state, sizes, updates, optimizer, reference, records, rollouts } = this.parts;
    const { training } = rollouts;
    const start = performance.now(), batch = await this.#batch(), { rollout } = batch;
    const { result, gradNorm } = await updates.gradients((scale) => this.#loss(batch, scale));
    const learningRate = rateAt(training, sizes.totalSteps, state.step);
    await updates.apply(optimizer, learningRate, gradNorm);
    state.step++;
    state.nextPrompt += rollout?.groups.length ?? 0;
    this.buffer = batch.buffer;
    state.entropy = this.#entropy.update(result.entropy);
    if (training.sync_ref_model && state.step % training.ref_model_sync_steps === 0) {
      reference?.sync(training.ref_model_mixup_alpha);
    }
    const entropyCoef = this.#entropy.logged;
    await records.stepped({ start, rollout, result, gradNorm, learningRate, entropyCoef });
  }

  /** The batch that the next step continues with, or null if it starts with a new one. */
  inFlight(): RolloutBuffer | null {
    const { sizes, state } = this.parts;
    return sizes.schedule.inFlight(state.step) === null ? null : this.buffer;
  }

  /** The rows of the next step, from batches that are rolled out if they do not exist yet. */
  async #batch(): Promise<Batch> {
    const { state, sizes, stop } = this.parts;
    const rows: TrainingRow[] = [], rollouts: Rollout[] = [];
    let buffer = this.inFlight(), { nextPrompt } = state, other = false;
    for (const { generation, slice } of sizes.schedule.microBatches(state.step)) {
      if (buffer?.generation !== generation) {
        const first = nextPrompt, rollout = await stop.during(() => this.#rollOut(first));
        buffer = await this.#buffer(generation, rollout);
        nextPrompt += rollout.groups.length;
        rollouts.push(rollout);
      }
      rows.push(...buffer.slice(slice));
      other ||= buffer.other;
    }
    return { rows, rollout: joinRollouts(rollouts), other, buffer };
  }

  /** Sample, score, advantages. @param first number of the first prompt in the run */
  async #rollOut(first: number): Promise<Rollout> {
    const { groups, sampler, rollouts: options, state: { step } } = this.parts;
    await sampler.begin?.(step, groups.coming(first, step, sampler.maxStaleness));
    const rounds: Rollout[] = [];
    for (let next = first, count; (count = promptsToDraw(rounds, options)) > 0; next += count) {
      const drawn = groups.at(next, count);
      const sampled = await sampleRows(drawn, step, sampler, options);
      rounds.push(await scoreRows(drawn, sampled, step + 1, options));
    }
    return withAdvantages(joinRollouts(rounds)!, options);
  }

  #buffer(generation: number, rollout: Rollout): Promise<RolloutBuffer> {
    const { options: { config, model }, sizes: { schedule }, updates, rollouts } = this.parts;
    const { training, ranks } = rollouts;
    const settings = { ...training, microBatchSize: training.per_device_train_batch_size };
    return bufferOf(generation, rollout, {
      training,
      schedule,
      hasDropout: dropoutOf(config) > 0,
      policyLogp: (rows) => updates.passes(() => policyLogp(model, rows, settings, ranks)),
    });
  }

  /** The gradient of the loss, times `lossScale`, and its norm. */
  async #loss({ rows, rollout, other }: Batch, lossScale: number) {
    const { options: { model, config: { training } }, reference, sampler, optimizer } = this.parts;
    const correction = training.vllm_importance_sampling_correction ? training : null;
    const result = await accumulateGradients(model, rows, {
      lossScale,
      microBatchSize: training.per_device_train_batch_size,
      temperature: training.temperature,
      settings: { ...training, ...this.#entropy.terms },
      maxCompletionLength: training.max_completion_length,
      reference,
      teacher: this.parts.options.teacher ?? null,
      otherSampler: other ? { correction } : null,
      dropout: { seed: training.seed, pass: DROPOUT_PASS.grpo },
      // Later steps on the same batch have another policy than the one that has sampled it.
      kept: rollout === null ? null : sampler.kept,
      sum: this.parts.gradients,
    });
    // Reading the norm waits for the backward pass, so its time counts for this phase.
    return { result, gradNorm: await optimizer.gradNorm() };
  }
}
