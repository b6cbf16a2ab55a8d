/**
 * The supervised warm start of a run (SFT): the cross-entropy of worked answers, with the same
 * forward and backward passes as GRPO. Prompt tokens are not trained on. The loss is the mean over
 * the tokens of a whole step, however many micro-batches it has. `rgx dpo` has the same loop, with
 * another step (`preference_step.ts`).
 */
import { supervisedBatch } from "../configs/batch_sizes.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { IntervalStrategy } from "./run/interval_strategy.ts";
import { occasionalPause, pauseBetweenSteps } from "./step/yield_to_events.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { AdamW } from "./step/optimizer.ts";
import { compareStep } from "./run/compare_ranks.ts";
import { addLoss } from "./checkpoint/run_state.ts";
import { ProblemOrder } from "./rollout/prompt_sampler.ts";
import { preferenceStep } from "./preference_step.ts";
import type { ReferencePolicy } from "./step/reference_policy.ts";
import type { RunParts } from "./run/run_report.ts";
import { rateAt } from "./step/lr_schedule.ts";
import { createGradientSum } from "./step/run_optimizer.ts";
import { DROPOUT_PASS } from "../core/philox.ts";
import type { Group } from "../models/network/types.ts";
import type { CausalLM } from "../models/causal_lm.ts";
import type { GradientSum } from "./step/gradient_sum.ts";
import { idsOf, lossMask, sampledTokens } from "../bench/dialogue/segments.ts";
import type { WorkedExample } from "../bench/evaluation/prompt_encoder.ts";

/** @throws UsageError when the run is supervised training alone and the configuration has none */
export function requireWarmStart({ sft }: RunConfig): void {
  if (sft !== null && sft.max_steps > 0) return;
  throw new UsageError("sft: the configuration has no supervised training", {
    advice: "Add a section such as\n" +
      "  sft: { max_steps: 100, per_device_train_batch_size: 16, learning_rate: 1.0e-5 }\n" +
      "or say it on the command line: sft.max_steps=100 sft.learning_rate=1e-5",
  });
}

export interface Preferences {
  /** null = there is none. */
  reference: ReferencePolicy | null;
  evaluate: () => Promise<void>;
}

/** @throws Interrupted after a stop request, before the weights change */
export async function warmStart(
  { options, sizes, state, prompts, clock, report, stop, updates }: RunParts,
  optimizer: AdamW,
  save: () => Promise<void>,
  preferences: Preferences = { reference: null, evaluate: () => Promise.resolve() },
): Promise<void> {
  const { config, model, problems } = options, { training, dpo } = config, { ranks } = stop;
  const { warmStartSteps: total, trainProblems } = sizes;
  const sft = config.sft!, batch = supervisedBatch(sft);
  const sampler = new ProblemOrder(training, trainProblems, batch, "warm start");
  const sum = createGradientSum(options, ranks, sft.gradient_accumulation_steps);
  const intervals = new IntervalStrategy(training, total, sampler.chunksPerEpoch);
  report.phase("warm_start");
  const pause = pauseBetweenSteps();
  while (state.warmStartStep < total) {
    await stop.check();
    await compareStep(model, ranks, state, updates.lastNorm);
    const start = performance.now();
    const entries = sampler.at(state.warmStartStep).map((index) =>
      clock.problem(() => problems.trainEntry(index))
    );
    const passes = async (lossScale: number) => {
      const how = {
        seed: training.seed,
        firstPromptId: state.warmStartStep * batch,
        microBatchSize: sft.per_device_train_batch_size,
        sum,
        lossScale,
      };
      const examples = () => entries.map((one) => prompts.worked(one, sft.assistant_only_loss));
      const pairs = () => prompts.pairs(entries, dpo!.max_length);
      const result = dpo === null
        ? await supervisedStep(model, examples(), how)
        : await preferenceStep(model, pairs(), {
          ...how,
          settings: dpo,
          reference: preferences.reference,
        });
      return { result, gradNorm: await optimizer.gradNorm() };
    };
    const { result, gradNorm } = await updates.gradients(passes);
    const rate = rateAt(sft, total, state.warmStartStep);
    await updates.apply(optimizer, rate, gradNorm);
    state.warmStartStep++;
    state.warmStartTokens += result.tokens + result.contextTokens;
    state.tokensTrained += result.tokens;
    addLoss(state, result.loss, training);
    const metrics: Metrics = {
      loss: result.loss,
      grad_norm: gradNorm,
      learning_rate: rate,
      entropy: result.entropy,
      ...result.metrics,
      num_tokens: state.warmStartTokens,
    };
    const step = state.warmStartStep, epoch = step / sampler.chunksPerEpoch;
    const clockMetrics = clock.stepMetrics(start);
    const tokens = { generated: 0, trained: result.tokens };
    const split = dpo === null ? "sft" : "train";
    const about = { phase: "warm_start", split, step, epoch, totalSteps: total, tokens } as const;
    await report.step(about, metrics, clockMetrics);
    updates.isWholeStep = true;
    if (options.phases === "sft") {
      const { step_time = null } = clockMetrics;
      report.log(step, total, { ...metrics, step_time, epoch }, intervals.logsAt(step));
    }
    if (dpo === null) await report.diagnose(step, result.loss);
    const saves = training.save_strategy !== "no" && step % intervals.saveSteps === 0;
    if (saves && step < total) await save();
    if (dpo !== null && step < total && intervals.evaluatesAt(step)) await preferences.evaluate();
    await pause();
  }
}

interface SupervisedResult {
  metrics?: Metrics;
  /** Mean negative log-likelihood per token. */
  loss: number;
  /** Mean entropy per token. */
  entropy: number;
  /** Tokens trained on: what the model writes, with the end tokens. */
  tokens: number;
  /** All others. */
  contextTokens: number;
}

/**
 * Zeroes the model's gradients, then computes those of all examples.
 * @param options `firstPromptId`: number of the first one in the whole warm start. With the seed
 *   it is the key of the dropout masks. `microBatchSize`: examples of a forward pass. `sum` adds up
 *   the micro-batches, which it deals to ranks. The gradients are those of the loss times
 *   `lossScale` (loss_scale.ts).
 */
export async function supervisedStep(
  model: CausalLM,
  examples: readonly WorkedExample[],
  options: {
    seed: number;
    firstPromptId: number;
    microBatchSize: number;
    sum: GradientSum;
    lossScale?: number;
  },
): Promise<SupervisedResult> {
  const groups: Group[] = examples.map((example, i) => ({
    promptId: options.firstPromptId + i,
    promptIds: example.promptIds,
    branches: [idsOf(example)],
  }));
  const masks = examples.map(lossMask);
  const tokens = examples.reduce((sum, example) => sum + sampledTokens(example), 0);
  const scale = 1 / Math.max(tokens, 1), { microBatchSize, lossScale = 1 } = options;
  const pause = occasionalPause(), microBatches = Math.ceil(groups.length / microBatchSize);
  // Of the loss that balances experts, which is a mean over micro-batches.
  const share = 1 / microBatches;
  const parts = await options.sum.over(
    microBatches,
    async (index) => {
      const first = index * microBatchSize, batch = groups.slice(first, first + microBatchSize);
      const mask = batch.flatMap(({ branches }, i) =>
        masks[first + i] ?? branches[0]!.map(() => 1)
      );
      const { logp, entropy, balance = 0 } = await model.forward(batch, {
        temperature: 1,
        train: true,
        dropout: { seed: options.seed, pass: DROPOUT_PASS.supervised },
      });
      const part = { loss: balance * share, entropy: 0 };
      for (let t = 0; t < logp.length; t++) {
        if (mask[t] === 0) continue;
        part.loss -= logp[t]! * scale;
        part.entropy += entropy[t]! * scale;
      }
      const dlogp = Float64Array.from(mask, (counts) => -scale * lossScale * counts);
      model.backward(dlogp, undefined, share * lossScale);
      await pause();
      return part;
    },
  );
  const total = (value: (part: typeof parts[number]) => number) =>
    parts.reduce((sum, part) => sum + value(part), 0);
  return {
    loss: total(({ loss }) => loss),
    entropy: total(({ entropy }) => entropy),
    tokens,
    contextTokens: groups.reduce(
      (sum, { promptIds, branches }) => sum + promptIds.length + branches[0]!.length,
      -tokens,
    ),
  };
}
