/**
 * The lines of metrics that a run prints every few steps: columns under a heading, in one line that
 * fits the terminal. `--log-metrics` chooses other metrics.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { rewardMetrics } from "../../configs/schema/metric_names.ts";
import { UsageError } from "../../core/errors.ts";
import type { Metrics } from "../../training/metrics/metrics.ts";
import { textWidth } from "../terminal/terminal.ts";
import { dictLine, significant } from "./train_text.ts";

/** Width of the lines, also on a wider terminal: so they can be quoted. */
const WIDTH = 80;
const MIN_CELL = 5;

interface Column {
  title: string;
  /** The metric, by its name in metrics.jsonl; null: the column of the time that is left. */
  metric: string | null;
  show: (value: number) => string;
  /** A reward, whose title may be shortened. */
  isPart?: true;
}

const fixed = (digits: number) => (value: number) => value.toFixed(digits);
const share = (value: number) => `${(100 * value).toFixed(0)} %`;
const small = (value: number) =>
  value !== 0 && Math.abs(value) < 1e-3
    ? value.toExponential(0)
    : String(Number(value.toPrecision(2)));
const LEFT: Column = { title: "left", metric: null, show: String };

/** Which metrics are printed: null = the usual ones, "all", or their names. */
export type ChosenMetrics = readonly string[] | "all" | null;

/** The value of `--log-metrics`. @throws UsageError when no name is in it */
export function readChosenMetrics(text: string): ChosenMetrics {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  if (names.length === 0) {
    throw new UsageError("--log-metrics: no metric is named", {
      advice: "Such as --log-metrics reward,kl,grad_norm; all prints every metric.",
    });
  }
  return names.includes("all") ? "all" : names;
}

export class MetricLines {
  readonly #wanted: readonly Column[];
  #columns: Column[] = [];
  /** Whether the next line needs the heading above it. */
  #needsHeading = true;
  #isChecked = false;

  /** @param phase the kind of steps that the lines are about */
  constructor(
    private readonly config: RunConfig,
    private readonly phase: "warm_start" | "grpo",
    private readonly chosen: ChosenMetrics,
    /** Called with a warning about a metric that the run does not have. */
    private readonly warn: (message: string) => void,
  ) {
    this.#wanted = chosen === null
      ? usualColumns(config, phase)
      : chosen === "all"
      ? []
      : chosen.map((metric) => ({ title: metric, metric, show: significant }));
  }

  repeatHeading(): void {
    this.#needsHeading = true;
  }

  /** The lines of a logging step. @param left how long the phase still takes */
  lines(step: number, totalSteps: number, metrics: Metrics, left: string): string[] {
    const where = `  ${step}/${totalSteps}`;
    if (this.chosen === "all") return [`${where}  ${dictLine(metrics, null)}`];
    this.#check(metrics);
    const size = 2 + 2 * String(totalSteps).length + 1;
    // Supervised steps have none of the metrics that are usually chosen.
    const isAbsent = this.#wanted.every(({ metric }) => metric !== null && !(metric in metrics));
    const columns = isAbsent ? usualColumns(this.config, this.phase) : this.#wanted;
    this.#columns = fitted(columns, WIDTH - size);
    const line = (cells: readonly string[]) =>
      cells.map((cell, i) => cell.padStart(widthOf(this.#columns[i]!))).join("  ");
    const values = this.#columns.map(({ metric, show }) => {
      if (metric === null) return left;
      const value = metrics[metric];
      return value === undefined || value === null ? "–" : show(value);
    });
    const row = `${where.padStart(size)}  ${line(values)}`;
    if (!this.#needsHeading) return [row];
    this.#needsHeading = false;
    return [`${"step".padStart(size)}  ${line(this.#columns.map(({ title }) => title))}`, row];
  }

  #check(metrics: Metrics): void {
    if (this.#isChecked || this.phase === "warm_start" || !Array.isArray(this.chosen)) return;
    this.#isChecked = true;
    const unknown = this.chosen.filter((name) => !Object.hasOwn(metrics, name));
    if (unknown.length === 0) return;
    const known = Object.keys(metrics).sort().join(", ");
    this.warn(`--log-metrics: these steps have no ${unknown.join(", ")}; they have ${known}`);
  }
}

function usualColumns(config: RunConfig, phase: "warm_start" | "grpo"): Column[] {
  if (phase === "warm_start") {
    return [
      { title: "loss", metric: "loss", show: fixed(4) },
      { title: "entropy", metric: "entropy", show: fixed(3) },
      { title: "grad_norm", metric: "grad_norm", show: small },
      LEFT,
    ];
  }
  const { rewards, training, teacher } = config, names = rewardMetrics(rewards);
  const isSum = rewards.length > 1 || rewards[0]?.weight !== 1;
  const parts = names.map((name, i): Column => ({
    title: shortNames(names)[i]!,
    metric: `rewards/${name}/mean`,
    show: fixed(3),
    isPart: true,
  }));
  return [
    ...(rewards.length === 0 ? [] : [{ title: "reward", metric: "reward", show: fixed(3) }]),
    ...(isSum ? parts : []),
    ...(teacher === null
      ? []
      : [{ title: "divergence", metric: "teacher/divergence", show: fixed(4) }]),
    { title: "length", metric: "completions/mean_length", show: fixed(1) },
    { title: "entropy", metric: "entropy", show: fixed(3) },
    ...(training.beta === 0 ? [] : [{ title: "KL", metric: "kl", show: small }]),
    { title: "cut off", metric: "completions/clipped_ratio", show: share },
    LEFT,
  ];
}

/** For each name, its first word that no other name has, or else the whole name. */
export function shortNames(names: readonly string[]): string[] {
  const words = names.map((name) => name.split("_"));
  return words.map((own, i) =>
    own.find((word) => words.every((other, j) => i === j || !other.includes(word))) ?? names[i]!
  );
}

const widthOf = ({ title }: Column) => Math.max(MIN_CELL, textWidth(title));

/**
 * The columns that fit: the longest titles of rewards are shortened first, then the time and the
 * last rewards are left out.
 */
function fitted(columns: readonly Column[], room: number): Column[] {
  const fitting = columns.map((column) => ({ ...column }));
  const width = () => fitting.reduce((sum, column) => sum + 2 + widthOf(column), 0);
  while (width() > room) {
    const parts = fitting.filter(({ isPart }) => isPart);
    if (parts.length === 0) break; // chosen by the user
    const longest = parts.reduce((a, b) => b.title.length > a.title.length ? b : a);
    if (longest.title.length > MIN_CELL) {
      longest.title = longest.title.slice(0, -1);
    } else {
      const left = fitting.findIndex(({ metric }) => metric === null);
      fitting.splice(left >= 0 ? left : fitting.indexOf(parts.at(-1)!), 1);
    }
  }
  return fitting;
}
