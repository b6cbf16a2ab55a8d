/** The records of one GRPO step: its metrics, completions and events. */
import { mean } from "../../core/statistics.ts";
import { extractAnswer } from "../../data/extract.ts";
import { publishedFormat } from "../../data/published_formats.ts";
import { TAGGED } from "../diagnosis/diagnosis.ts";
import { finiteOrNull, type Metrics } from "../metrics/metrics.ts";
import type { Rollout } from "../rollout/rollout.ts";
import type { RunContext } from "./run_context.ts";

/**
 * Records the current step.
 * @param start time at which it began
 * @param rollout what it generated; null = it only used an earlier batch
 * @param trained number of tokens trained on
 */
export async function recordStep(
  run: RunContext,
  start: number,
  rollout: Rollout | null,
  trained: number,
  metrics: Metrics,
): Promise<void> {
  const { config, rubric } = run.options, { training } = config;
  const { step } = run.state, { totalSteps } = run.sizes, epoch = run.epoch();
  const clockMetrics = run.clockMetrics(start);
  const { step_time = NaN } = clockMetrics;
  const generated = rollout?.completionTokens ?? 0;
  if (rollout !== null) clockMetrics["throughput/tokens_per_second"] = generated / step_time;
  await run.records.appendMetrics({
    step,
    epoch,
    split: "train",
    ...finiteOrNull(metrics),
    ...clockMetrics,
  });
  if (training.log_completions && rollout !== null) {
    await run.records.writeCompletions(step, rollout, rubric.names);
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
  if (rollout !== null) emitCompletions(run, step, rollout);
  await run.diagnose(step, { ...metrics, ...(rollout !== null && taggedShare(rollout)) });
  if (!run.intervals.logsAt(step)) return;
  const means = run.averager.means();
  run.averager.reset();
  run.records.addLog({ ...means, step });
  run.emit({ type: "log", step, totalSteps, metrics: means });
  if (rollout !== null) emitSample(run, step, rollout);
}

/** The share of completions with an answer in tags, for problems that ask for them. */
function taggedShare({ rows, groups }: Rollout): Metrics {
  const asked = rows.filter(({ group }) =>
    publishedFormat(groups[group]!.entry.metadata["source_dataset"]) === null
  );
  if (asked.length < rows.length) return {};
  return { [TAGGED]: mean(asked.map(({ text }) => extractAnswer(text) === null ? 0 : 1)) };
}

/** Emits all completions of a step. */
function emitCompletions(run: RunContext, step: number, rollout: Rollout): void {
  const byGroup = Map.groupBy(rollout.rows, (row) => row.group);
  run.emit({
    type: "completions",
    step,
    rewardNames: run.options.rubric.names,
    groups: rollout.groups.map(({ entry, prompt }, group) => ({
      question: entry.question,
      answer: entry.answer,
      prompt: prompt.text,
      completions: byGroup.get(group) ?? [],
    })),
  });
}

/** Emits one prompt with its completions. */
function emitSample(run: RunContext, step: number, rollout: Rollout): void {
  // A group with different rewards shows more than one without a signal.
  const shown = rollout.rows.find((row) => row.advantage !== 0)?.group ?? 0;
  const { entry, prompt } = rollout.groups[shown]!;
  run.emit({
    type: "sample",
    step,
    question: entry.question,
    answer: entry.answer,
    prompt: prompt.text,
    rewardNames: run.options.rubric.names,
    completions: rollout.rows.filter((row) => row.group === shown),
  });
}
