/** Bars of accuracies on a common scale from 0 on, and the heading above them. */
import type { Interval, ModelResult } from "../../bench/results/result_file.ts";
import { counted } from "../../core/counted.ts";
import type { Sheet } from "./sheet.ts";
import { FAINT_INK, GRID, LINE_SPACING, percent, type SeriesStyle, wrapText } from "./style.ts";

/** The value of a bar; null where there is no result. */
export type Value = { accuracy: number; ci95: Interval; hover: readonly string[] } | null;

export interface PanelRow {
  /** Vertical centre of the bar. */
  y: number;
  height: number;
  style: SeriesStyle;
  value: Value;
}

export interface PanelArea {
  x: number;
  top: number;
  bottom: number;
  width: number;
  /** Font size of the numbers. */
  size: number;
  /** Percentages with a grid line; the last one is the end of the scale. */
  ticks: readonly number[];
  /** Whether the percentages are written below the lines. */
  tickLabels: boolean;
  /** Whether numbers are written with "%". */
  units: boolean;
}

/** Length of a bar of 0 %, in pixels: its colour shows that there is a result. */
const ZERO_MARK = 5;
/** Percentages at which a scale may end. */
const SCALE_ENDS = [10, 20, 40, 60, 80, 100];

/** The end of a scale in %: the first that no value and no interval exceeds. */
export function scaleEnd(values: Iterable<Value>, isFull: boolean): number {
  let high = 0;
  for (const value of values) {
    if (value !== null) high = Math.max(high, value.accuracy, value.ci95[1]);
  }
  return isFull ? 100 : SCALE_ENDS.find((end) => end >= 100 * high)!;
}

/** The subtitle: the kind of the values, the end of the scale, and whether all values are 0. */
export function scaleText(values: readonly Value[], end: number): string {
  const measured = values.filter((value) => value !== null);
  const isZero = measured.length > 0 && measured.every(({ accuracy }) => accuracy === 0);
  return "Correct answers in %, with 95 % intervals" +
    (end === 100 ? "" : `; the scale ends at ${end} %`) +
    (isZero ? "; nothing was right" : "");
}

/** Number of parts between the grid lines, for scales that end at 10, 20, … */
const PARTS: Readonly<Record<number, number>> = { 10: 5, 20: 4, 40: 4, 60: 6, 80: 4, 100: 5 };

/** Grid lines of a scale. @param parts number of equal parts; default: of round numbers */
export function ticksTo(end: number, parts = PARTS[end]!): number[] {
  return Array.from({ length: parts + 1 }, (_, i) => i * end / parts);
}

/** Width of the numbers to the right of the bars, in pixels. */
export function valueWidth(size: number, units = true): number {
  return (units ? 4.7 : 3.6) * size;
}

/** Draws rows into an area, with the numbers to its right. */
export function drawPanel(sheet: Sheet, area: PanelArea, rows: readonly PanelRow[]): void {
  const { x, top, bottom, width, size } = area, end = area.ticks.at(-1)!;
  for (const tick of area.ticks) {
    const at = x + width * tick / end;
    sheet.line(at, top, at, bottom, tick === 0 ? FAINT_INK : GRID);
    if (area.tickLabels) {
      const label = [tick === end && area.units ? `${tick} %` : `${tick}`];
      sheet.text(at, bottom + size, label, { size: size - 1, anchor: "middle", color: FAINT_INK });
    }
  }
  for (const { y, height, style, value } of rows) {
    const right = x + width + valueWidth(size, area.units);
    if (value === null) {
      sheet.text(x + 6, y, ["no result"], { size: size - 1, color: FAINT_INK });
      sheet.text(right, y, ["–"], { size, anchor: "right", color: FAINT_INK });
      continue;
    }
    const { accuracy, ci95: [low, high], hover } = value;
    const unit = width * 100 / end, length = Math.max(ZERO_MARK, unit * accuracy);
    sheet.bar({ x, y, height, style, hover, length, low: unit * low, high: unit * high });
    const number = percent(accuracy).slice(0, area.units ? undefined : -2);
    sheet.text(right, y, [number], { size, anchor: "right" });
  }
}

/** Draws title and subtitle in the upper left corner. @returns the y below them */
export function drawHeading(sheet: Sheet, title: string, subtitle: string, width: number): number {
  const size = 25, small = 15, left = 24;
  const titleLines = title.trim() === "" ? [] : wrapText(title, size, width - 2 * left);
  const titleHeight = titleLines.length * size * LINE_SPACING;
  if (titleHeight > 0) sheet.text(left, 20 + titleHeight / 2, titleLines, { size });
  const lines = wrapText(subtitle, small, width - 2 * left);
  const height = lines.length * small * LINE_SPACING, y = 24 + titleHeight;
  sheet.text(left, y + height / 2, lines, { size: small, color: FAINT_INK });
  return y + height + 14;
}

/** The text that a bar shows under the pointer. */
function hoverLines(model: string, task: string, result: ModelResult): string[] {
  const [low, high] = result.ci95;
  return [
    model,
    task,
    `accuracy ${percent(result.accuracy)} [${percent(low)}, ${percent(high)}]`,
    `correct ${result.correct} of ${result.total}`,
    `mean score ${result.mean_score.toFixed(3)}`,
    `answer format ${percent(result.format_rate)}, cut off ${percent(result.truncated_rate)}`,
    `${result.mean_completion_tokens.toFixed(1)} tokens on average`,
  ];
}

export function valueOf(model: string, task: string, result: ModelResult | undefined): Value {
  if (result === undefined || result.total === 0) return null;
  const { accuracy, ci95 } = result;
  return { accuracy, ci95, hover: hoverLines(model, task, result) };
}

/** "n = 100 problems", or a range where results differ; without unanswered problems. */
export function sampleSize(results: Iterable<ModelResult>): string {
  const counts = new Set<number>(), draws = new Set<number>();
  for (const { total, samples } of results) {
    if (total === 0) continue; // shown as no result
    const k = samples?.k ?? 1;
    counts.add(Math.ceil(total / k));
    draws.add(k);
  }
  if (counts.size === 0) return "n = 0";
  const [k] = draws;
  return `n = ${problemRange(counts)}${draws.size > 1 || k === 1 ? "" : ` × ${k} samples`}`;
}

/** "100 problems", or "50 to 100 problems". @param counts at least one */
export function problemRange(counts: Iterable<number>): string {
  const low = Math.min(...counts), high = Math.max(...counts);
  return `${low === high ? "" : `${low} to `}${counted(high, "problem")}`;
}
