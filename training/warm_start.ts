/**
 * The supervised warm start of a run: its steps with their schedule, records and checkpoints.
 */
import { supervisedBatch } from "../configs/batch_sizes.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { IntervalStrategy } from "./run/interval_strategy.ts";
import { yieldToEvents } from "./step/yield_to_events.ts";
import { finiteOrNull, type Metrics } from "./metrics/metrics.ts";
import type { AdamW } from "./step/optimizer.ts";
import { compareStep } from "./run/compare_ranks.ts";
import { addLoss } from "./checkpoint/run_state.ts";
import { problemOrder } from "./rollout/prompt_sampler.ts";
import type { RunParts } from "./run/run_parts.ts";
import { rateAt } from "./step/lr_schedule.ts";
import { createGradientSum } from "./step/run_optimizer.ts";
import { supervisedStep } from "./step/supervised_step.ts";

/** @throws UsageError when the run is supervised training alone and the configuration has none */
export function requireWarmStart({ sft }: RunConfig): void {
  if (sft !== null && sft.max_steps > 0) return;
  throw new UsageError("sft: the configuration has no supervised training", {
    advice: "Add a section such as\n" +
      "  sft: { max_steps: 100, per_device_train_batch_size: 16, learning_rate: 1.0e-5 }\n" +
      "or say it on the command line: sft.max_steps=100 sft.learning_rate=1e-5",
  });
}

/**
 * Continues at `state.warmStartStep`.
 * @throws Interrupted when a stop was requested, before the weights change
 */
export async function warmStart(
  { options, sizes, state, prompts, clock, report, stop, updates }: RunParts,
  optimizer: AdamW,
  save: () => Promise<void>,
): Promise<void> {
  const { config, model, problems } = options, { training } = config, { ranks } = stop;
  const { warmStartSteps: total, trainProblems } = sizes;
  const sft = config.sft!, batch = supervisedBatch(sft);
  const sampler = problemOrder(training, trainProblems, batch, "warm start");
  const sum = createGradientSum(options, ranks, sft.gradient_accumulation_steps);
  const intervals = new IntervalStrategy(training, total, sampler.chunksPerEpoch);
  report.phase("warm_start");
  while (state.warmStartStep < total) {
    await stop.check();
    await compareStep(model, ranks, state, updates.lastNorm);
    const start = performance.now();
    const { indices } = sampler.at(state.warmStartStep);
    const entries = indices.map((index) => clock.problem(() => problems.trainEntry(index)));
    const passes = async (lossScale: number) => ({
      result: await supervisedStep(model, prompts, entries, {
        seed: training.seed,
        firstPromptId: state.warmStartStep * batch,
        microBatchSize: sft.per_device_train_batch_size,
        sum,
        lossScale,
      }),
      gradNorm: await optimizer.gradNorm(),
    });
    const { result, gradNorm } = await updates.gradients(passes);
    const rate = rateAt(sft, total, state.warmStartStep);
    await updates.apply(optimizer, rate, gradNorm);
    state.warmStartStep++;
    state.warmStartTokens += result.tokens + result.promptTokens;
    state.tokensTrained += result.tokens;
    addLoss(state, result.loss, training);
    const metrics: Metrics = {
      loss: result.loss,
      grad_norm: gradNorm,
      learning_rate: rate,
      entropy: result.entropy,
      num_tokens: state.warmStartTokens,
    };
    const step = state.warmStartStep, epoch = step / sampler.chunksPerEpoch;
    const clockMetrics = clock.stepMetrics(start);
    await report.records.appendMetrics({
      step,
      epoch,
      split: "sft",
      ...finiteOrNull(metrics),
      ...clockMetrics,
    });
    updates.isWholeStep = true;
    report.emit({
      type: "step",
      phase: "warm_start",
      step,
      totalSteps: total,
      metrics: { ...metrics, ...clockMetrics },
      tokens: { generated: 0, trained: result.tokens },
    });
    if (options.phases === "sft") {
      const { step_time = null } = clockMetrics;
      report.log(step, total, { ...metrics, step_time, epoch }, intervals.logsAt(step));
    }
    await report.diagnoseSupervised(step, result.loss);
    const saves = training.save_strategy !== "no" && step % intervals.saveSteps === 0;
    if (saves && step < total) await save();
    await yieldToEvents();
  }
}
