/**
 * The accuracies of a run before and after training, and the difference: the difference is computed
 * from answers to the same problems if the run's folder has them, otherwise as for independent
 * samples.
 */
import { counted, percentDigits } from "../../core/counted.ts";
import { differenceInterval, wilson } from "../../core/intervals.ts";
import type { Point } from "../charts/run_metrics.ts";
import {
  type EvalResult,
  type RewardMean,
  shownRewards,
} from "../../training/evaluation/before_and_after.ts";
import type { PairedTest } from "../../bench/evaluation/matched_pairs.ts";
import type { Json, RunRecord, Table } from "./run_record.ts";

export interface Share extends Pick<EvalResult, "rewards" | "reward"> {
  accuracy: number;
  correct: number;
  total: number;
  ci95: readonly [number, number];
  format_rate?: number;
  /** Of the completions; 0: greedy ones are all that there are. */
  temperature?: number;
  greedy?: unknown;
  tasks?: Record<string, unknown>;
}

const isShare = (value: unknown): value is Share =>
  typeof (value as Share | null)?.accuracy === "number" && Array.isArray((value as Share).ci95);

/** The first and the last evaluation: from run.json, or for an unfinished run from its metrics. */
export function evaluations(
  { run, metrics: { series } }: RunRecord,
): [before: Share | null, after: Share | null] {
  const points = series.get("eval_accuracy") ?? [];
  const at = ({ step, value: accuracy, ci95 }: Point): Share | null => {
    const [total, format_rate] = ["total", "format_rate"].map((name) =>
      series.get(`eval_${name}`)?.find((one) => one.step === step)?.value
    );
    if (ci95 === undefined || total === undefined) return null;
    // Evaluations during training have several completions a problem; the interval counts problems.
    const share = { accuracy, correct: accuracy * total, total, ci95 };
    return format_rate === undefined ? share : { ...share, format_rate };
  };
  const { eval_before, eval_after } = run, [first, ...others] = points;
  // If run.json of a finished run has an `eval_before`, it can be compared.
  if (isShare(eval_after)) return [isShare(eval_before) ? eval_before : null, eval_after];
  const before = isShare(eval_before) ? eval_before : first ? at(first) : null;
  const last = others.length > 0 ? at(others.at(-1)!) : null;
  return [before, last?.total === before?.total ? last : null];
}

/** @param end how the run ended, if it is not complete; with a space before it */
export function verdict(
  record: RunRecord,
  before: Share | null,
  after: Share | null,
  end: string,
): string {
  if (before === null && after !== null) {
    return `Held-out accuracy ${points(after.accuracy)} % (95 % interval ${interval(after)}, ${
      counted(after.total, "problem")
    }). The model was not measured on these problems before.${end}`;
  }
  if (before === null) {
    const asked = (record.config["eval"] as Json | undefined)?.["num_examples"];
    return Number(asked) > 0
      ? `The held-out problems have not been evaluated.${end}`
      : "Nothing was held out, so what the training was worth is not known: set " +
        `eval.num_examples.${end}`;
  }
  if (after === null) {
    return `Held-out accuracy ${points(before.accuracy)} % (95 % interval ${interval(before)}, ${
      counted(before.total, "problem")
    }) at the beginning, not measured since.${end}`;
  }
  const reward = rewardChange(before, after);
  if (after.total === 0) return `No held-out problem has an answer to compare with.${reward}${end}`;
  const gain = after.accuracy - before.accuracy;
  const [low, high] = record.paired?.sampled.ci95 ?? differenceInterval(
    { successes: before.correct, total: before.total },
    { successes: after.correct, total: after.total },
  );
  const sure = low > 0
    ? "The model got better."
    : high < 0
    ? "The model got worse."
    : "That is within chance: a gain is not shown.";
  const format = formatChange(before, after, record.paired?.format);
  return `Held-out accuracy ${points(before.accuracy)} → ${points(after.accuracy)} % (${
    signed(gain)
  } points, 95 % interval ${signed(low)} to ${signed(high)}, ${
    counted(after.total, "problem")
  }). ${sure}${format}${reward}${end}`;
}

/** How the reward of the run moved on the held-out problems; "" where the accuracy says it. */
function rewardChange(before: Share, after: Share): string {
  const [a, b] = [before, after].map((share) => shownRewards(share).at(-1));
  if (a === undefined || b === undefined) return "";
  const text = ({ mean, ci95: [low, high] }: RewardMean) =>
    `${mean.toFixed(3)} (95 % interval ${low.toFixed(3)} – ${high.toFixed(3)})`;
  const name = b[0] === "weighted sum" ? "The reward" : `The reward ${b[0]}`;
  return ` ${name} on them: ${text(a[1])} → ${text(b[1])}.`;
}

/** Change in the share of answers in the requested form; "" where it is within chance. */
function formatChange(before: Share, after: Share, paired?: PairedTest): string {
  const [a, b] = [formatCount(before), formatCount(after)];
  if (a === null || b === null) return "";
  const [low, high] = paired?.ci95 ?? differenceInterval(a, b);
  if (low <= 0 && high >= 0) return "";
  const [from, to] = [a, b].map(({ successes, total }) => points(successes / total));
  return ` The answer format ${low > 0 ? "rose" : "fell"} from ${from} to ${to} %.`;
}

/** Number of sampled completions, one a problem, whose answers have the requested form. */
function formatCount({ format_rate: rate, total }: Share) {
  return rate === undefined ? null : { successes: Math.round(rate * total), total };
}

export function evaluation(
  { paired }: RunRecord,
  before: Share | null,
  after: Share | null,
): Table | null {
  if (before === null || after === null) return null;
  const isPaired = paired !== null;
  const gain = isPaired ? ["gain", "95 % of gain", "p"] : [];
  const shares = ["before %", "95 % before", "after %", "95 % after"];
  const rows = [["held-out problems", ...shares, ...gain, "n"]];
  const add = (name: string, a: unknown, b: unknown, test?: PairedTest) => {
    if (!isShare(a) || !isShare(b) || b.total === 0) return;
    rows.push([
      name,
      points(a.accuracy),
      interval(a),
      points(b.accuracy),
      interval(b),
      ...(isPaired ? pairedCells(test) : []),
      `${b.total}`,
    ]);
  };
  const how = after.temperature === 0 ? "greedy" : "sampled";
  add(`accuracy, ${how}`, before, after, paired?.sampled);
  for (const [name, share] of Object.entries(after.tasks ?? {})) {
    add(`  ${name}`, before.tasks?.[name], share);
  }
  if (how !== "greedy") add("accuracy, greedy", before.greedy, after.greedy, paired?.greedy);
  const [a, b] = [before, after].map((share) => {
    const count = formatCount(share);
    if (count === null) return null;
    const { successes, total } = count;
    return { ...share, accuracy: successes / total, ci95: wilson(successes, total) };
  });
  add(`answer format, ${how}`, a, b, paired?.format);
  const last = new Map(shownRewards(after));
  for (const [name, x] of shownRewards(before)) {
    const y = last.get(name);
    if (y === undefined) continue;
    const cells = ({ mean, ci95: [low, high] }: RewardMean) => [
      mean.toFixed(3),
      `${low.toFixed(3)} – ${high.toFixed(3)}`,
    ];
    const gain = y.mean - x.mean, change = `${gain < 0 ? "−" : "+"}${Math.abs(gain).toFixed(3)}`;
    rows.push([
      `reward ${name} (not in %)`,
      ...cells(x),
      ...cells(y),
      ...(isPaired ? [change, "", ""] : []),
      `${y.total}`,
    ]);
  }
  return { rows };
}

/** The gain in points, its interval, and the p-value of McNemar's exact test. */
function pairedCells(test: PairedTest | undefined): string[] {
  if (test === undefined) return ["", "", ""];
  const { difference, ci95: [low, high], p_value: p } = test;
  const text = p < 0.001 ? p.toExponential(0) : p.toPrecision(2);
  return [signed(difference), `${signed(low)} – ${signed(high)}`, text];
}

const points = percentDigits;

function signed(share: number): string {
  return `${share < 0 ? "−" : "+"}${points(Math.abs(share))}`;
}

function interval({ ci95: [low, high] }: Share): string {
  return `${points(low)} – ${points(high)}`;
}
