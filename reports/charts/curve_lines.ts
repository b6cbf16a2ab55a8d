/**
 * The lines of a run in a panel of curves: a thin line for the values and a thick line for their
 * running mean; single points where there are few; evaluations with their intervals. Also the scale
 * of a panel's values.
 */
import type { Point, RunMetrics } from "./run_metrics.ts";
import { escapeText, INK, lineStyle, wrapText } from "./style.ts";

/** Font size of the legend, and the width at which names of runs are wrapped. */
export const LEGEND_SIZE = 15, LEGEND_WIDTH = 420;
/** Up to this many points are drawn as single points. */
const FEW_POINTS = 25;
/** Maximum number of points of a line. */
const MAX_POINTS = 1500;
/**
 * Intervals at the same step are drawn side by side. Gap between them, and the maximum total width,
 * as shares of the step range.
 */
const BESIDE = 0.008, ALL_BESIDE = 0.03;

/** Whether the points are evaluations, which have intervals. */
const isEvaluation = (points: readonly Point[]) => points.every(({ ci95 }) => ci95 !== undefined);

/** A description of the kinds of lines and points in a figure. */
export function explanation(runs: readonly RunMetrics[], metrics: readonly string[]): string {
  const all = metrics.flatMap((metric) => runs.flatMap(({ series }) => [series.get(metric) ?? []]))
    .filter(({ length }) => length > 0);
  const isFew = ({ length }: readonly Point[]) => length <= FEW_POINTS;
  return [
    all.some((points) => !isFew(points) && !isEvaluation(points))
      ? "Thin: each step. Thick: running mean."
      : "",
    all.some((points) => isFew(points) && !isEvaluation(points)) ? "Small points: steps." : "",
    all.some(isEvaluation) ? "Points with bars: evaluations with 95 % intervals." : "",
  ].filter((text) => text !== "").join(" ");
}

/** Plotly's settings for the axis of a metric's values. */
export function valueAxis(runs: readonly RunMetrics[], metric: string): Record<string, unknown> {
  const points = runs.flatMap(({ series }) => series.get(metric) ?? []);
  const isShare = points.every(isShareOf(metric));
  let low = Infinity, high = -Infinity;
  for (const { value, ci95 } of points) {
    low = Math.min(low, ci95?.[0] ?? value);
    high = Math.max(high, ci95?.[1] ?? value);
  }
  const size = Math.max(Math.abs(low), Math.abs(high));
  // Values that differ only by rounding give no scale.
  const isFlat = high - low <= 1e-6 * size;
  const range = isShare ? [0, 1.05] : size === 0 ? [-1, 1] : [low - size / 2, high + size / 2];
  return {
    ...(isShare ? { tickformat: "~%", rangemode: "tozero" } : { exponentformat: "e" }),
    ...(isFlat ? { range } : {}),
  };
}

const isShareOf = (metric: string) => ({ value }: Point) =>
  /accuracy|(format|truncated)_rate$|clipped_ratio$|^frac_/.test(metric) && value >= 0 &&
  value <= 1;

/**
 * The thin and the thick line of a run, or its points.
 * @param r index of the run among `runs` runs
 * @param id number of the panel's axes
 * @param steps range of steps of the panel
 */
export function curveLines(
  name: string,
  [r, runs]: readonly [r: number, runs: number],
  points: readonly Point[],
  id: string,
  steps: readonly [number, number],
): Record<string, unknown>[] {
  const { color, dash, symbol } = lineStyle(r);
  const common = {
    type: "scatter",
    xaxis: `x${id}`,
    yaxis: `y${id}`,
    legendgroup: name,
    name: wrapText(name, LEGEND_SIZE, LEGEND_WIDTH).map(escapeText).join("<br>"),
  };
  const isFew = points.length <= FEW_POINTS, evaluated = isEvaluation(points);
  if (isFew || evaluated) {
    const apart = Math.min(BESIDE * (runs - 1), ALL_BESIDE) * (steps[1] - steps[0]);
    const shift = evaluated && runs > 1 ? (r / (runs - 1) - 0.5) * apart : 0;
    return [{
      ...common,
      mode: "lines+markers",
      // Points at 0 % must not be clipped.
      cliponaxis: false,
      x: points.map(({ step }) => step + shift),
      y: points.map(({ value }) => value),
      line: { color, width: 2, dash },
      marker: {
        color,
        symbol,
        size: evaluated && isFew ? 9 : 5,
        line: { color: INK, width: evaluated && isFew ? 1 : 0 },
      },
      ...(evaluated
        ? {
          error_y: {
            type: "data",
            symmetric: false,
            array: points.map(({ value, ci95 }) => ci95![1] - value),
            arrayminus: points.map(({ value, ci95 }) => value - ci95![0]),
            color,
            thickness: isFew ? 1.6 : 1,
            width: isFew ? 5 : 0,
          },
          customdata: points.map(({ step, ci95 }) => [step, ...ci95!]),
          hovertemplate: "(%{customdata[0]}, %{y}) [%{customdata[1]:.1%}, %{customdata[2]:.1%}]",
        }
        : {}),
      showlegend: true,
    }];
  }
  const stride = Math.ceil(points.length / MAX_POINTS);
  const thin = stride === 1 ? points : extremes(points, 2 * stride);
  const values = points.map(({ value }) => value), reach = Math.ceil(points.length / 40);
  return [
    {
      ...common,
      mode: "lines",
      x: thin.map(({ step }) => step),
      y: thin.map(({ value }) => value),
      line: { color, width: 1 },
      opacity: 0.35,
      hoverinfo: "skip",
      showlegend: false,
    },
    {
      ...common,
      mode: "lines",
      x: points.filter((_, i) => i % stride === 0).map(({ step }) => step),
      y: runningMean(values, reach, stride),
      line: { color, width: 2.5, dash },
      showlegend: true,
    },
  ];
}

/** The lowest and the highest of every `size` points, so that no peak disappears. */
export function extremes(points: readonly Point[], size: number): Point[] {
  const kept: Point[] = [];
  for (let i = 0; i < points.length; i += size) {
    const chunk = points.slice(i, i + size);
    const low = chunk.reduce((a, b) => b.value < a.value ? b : a);
    const high = chunk.reduce((a, b) => b.value > a.value ? b : a);
    kept.push(...(low === high ? [low] : low.step < high.step ? [low, high] : [high, low]));
  }
  return kept;
}

/** For every `stride`-th value the mean of it and up to `reach` values before and after it. */
export function runningMean(values: readonly number[], reach: number, stride = 1): number[] {
  const means: number[] = [];
  for (let i = 0; i < values.length; i += stride) {
    const near = values.slice(Math.max(0, i - reach), i + reach + 1), [first] = near;
    // Averages differences, so that the mean of equal values is exactly that value.
    means.push(first! + near.reduce((sum, value) => sum + (value - first!), 0) / near.length);
  }
  return means;
}
