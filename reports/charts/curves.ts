/**
 * Training curves of one or several runs, with a panel for each metric. For very long runs only the
 * lowest and the highest value of every few steps are drawn.
 */
import { UsageError } from "../../core/errors.ts";
import { folderOf } from "../../core/paths.ts";
import { didYouMean } from "../../core/suggest.ts";
import {
  escapeText,
  FAINT_INK,
  type Figure,
  GRID,
  INK,
  LINE_SPACING,
  lineStyle,
  linesWidth,
  PAPER_WIDTHS,
  textRows,
  whitePage,
  wrapText,
} from "./style.ts";
import { FONT_FAMILY } from "./font.ts";
import { problemRange } from "./panel.ts";
import { parseRename, resolveRenames } from "./rename.ts";
import { type Point, readRuns, type RunMetrics } from "./run_metrics.ts";
import { checkPicturePath, writeFigure } from "./write_figure.ts";

/** Metrics that are drawn by default, where a run has them. */
const DEFAULTS = [
  "reward",
  "eval_accuracy",
  "completions/mean_length",
  "entropy",
  "kl",
  "loss",
  "grad_norm",
  "sft/loss",
];
/** Metrics that are drawn even if all values are 0. */
const DRAWN_IF_ZERO = ["reward", "eval_accuracy"];
/** Maximum number of metrics that are drawn by default. */
const MAX_DEFAULTS = 6;
/** Width of a legend's entry without its text, in pixels. */
const SYMBOL = 45;
/** Width of a figure. Below NARROW there is one panel a row. */
const WIDTH = 1120, NARROW = 700, MARGIN = 24, SIZE = 16;

/** Which curves are drawn, and into which file. */
export interface CurvesOptions {
  /** Names as in metrics.jsonl; `sft/…` for the supervised warm start. */
  metrics?: readonly string[];
  /** Heading of the chart; default: `Training:` with the run or the number of runs. */
  title?: string;
  /** Names of the runs in the chart, as "run=name"; a run is its path or its name in the chart. */
  rename?: readonly string[];
  /** For a paper: as wide as one or two of its columns. */
  columns?: 1 | 2;
  /**
   * A path ending in .png, .svg, .pdf or .html; default `curves.png`, of one run in its folder, of
   * several in the current folder. An existing file is replaced.
   */
  output?: string;
}

/** The chart that was written. */
export interface Curves {
  /** The picture that was written. */
  path: string;
  /** Names of the metrics in the chart. */
  metrics: string[];
  /** Names of the runs in the chart. */
  runs: string[];
  /** Notes for the reader of the chart. */
  notes: string[];
}

/**
 * Draws the curves of training runs.
 * @param paths run folders or their `metrics.jsonl`
 * @throws UsageError for runs that do not exist and metrics that no run has; RgxError for damaged
 *   files
 */
export async function plotCurves(
  paths: readonly string[],
  options: CurvesOptions = {},
): Promise<Curves> {
  if (options.output !== undefined) checkPicturePath(options.output);
  const runs = await renamedRuns(paths, options.rename ?? []);
  const metrics = chooseMetrics(runs, options.metrics);
  const title = options.title ??
    `Training: ${runs.length === 1 ? runs[0]!.name : `${runs.length} runs`}`;
  // A chart of several runs belongs to none of them.
  const path = options.output ??
    (paths.length === 1 ? await defaultPath(paths[0]!) : "curves.png");
  const width = options.columns === undefined ? WIDTH : PAPER_WIDTHS[options.columns];
  const drawn = await writeFigure(path, curvesFigure(runs, metrics, title, width), title);
  const notes = runs.filter(({ series }) => !metrics.some((metric) => series.has(metric)))
    .map(({ name }) => `${name} has none of the metrics that are drawn`);
  return { path, metrics, runs: runs.map(({ name }) => name), notes: [...notes, ...drawn] };
}

/** The runs, with the names that the user gives them. */
async function renamedRuns(
  paths: readonly string[],
  renames: readonly string[],
): Promise<RunMetrics[]> {
  const runs = await readRuns(paths), names = runs.map(({ name }) => name);
  const isRun = (path: string, name: string) => `/${path}`.endsWith(`/${name}`);
  const parsed = renames.map((text) => {
    const rename = parseRename(text, [...names, ...paths]);
    const path = rename.from.replace(/\/+$/, "");
    const named = names.filter((name) =>
      name === path || paths.includes(rename.from) && isRun(path, name)
    );
    return named.length === 1 ? { ...rename, from: named[0]! } : rename;
  });
  const chosen = resolveRenames(parsed, names);
  return runs.map((run) => ({ ...run, name: chosen.get(run.name) ?? run.name }));
}

/** The path in the run's folder; `run` may be the folder or its `metrics.jsonl`. */
async function defaultPath(run: string): Promise<string> {
  const isFolder = (await Deno.stat(run)).isDirectory;
  return `${isFolder ? run.replace(/\/+$/, "") : folderOf(run)}/curves.png`;
}

/** @throws UsageError for a name that no run has, or when there is nothing to draw */
export function chooseMetrics(
  runs: readonly RunMetrics[],
  asked: readonly string[] | undefined,
): string[] {
  const known = new Set(runs.flatMap(({ series }) => [...series.keys()]));
  if (known.size === 0) {
    throw new UsageError(
      `no steps have been recorded yet: ${runs.map(({ name }) => name).join(", ")}`,
    );
  }
  if (asked === undefined) {
    const defaults = DEFAULTS.filter((name) =>
      known.has(name) && (DRAWN_IF_ZERO.includes(name) || !isConstantZero(runs, name))
    );
    return (defaults.length > 0 ? defaults : [...known]).slice(0, MAX_DEFAULTS);
  }
  if (asked.length === 0) throw new UsageError("no metrics were named");
  for (const name of asked) {
    if (!known.has(name)) {
      throw new UsageError(`no metric "${name}" in these runs${didYouMean(name, known)}`, {
        advice: `metrics: ${[...known].sort().join(", ")}`,
      });
    }
  }
  return [...new Set(asked)];
}

function isConstantZero(runs: readonly RunMetrics[], name: string): boolean {
  return runs.every(({ series }) => (series.get(name) ?? []).every(({ value }) => value === 0));
}

/** @param width width in pixels; a narrow figure has one panel a row */
export function curvesFigure(
  runs: readonly RunMetrics[],
  metrics: readonly string[],
  title: string,
  width = WIDTH,
): Figure {
  const columns = metrics.length === 1 || width < NARROW ? 1 : 2;
  const rows = Math.ceil(metrics.length / columns);
  const plotHeight = metrics.length === 1 ? 420 : 210, below = 50, left = 62, gap = 30;
  const plotWidth = (width - 2 * MARGIN - (columns - 1) * gap) / columns - left;
  const names = textRows(metrics, SIZE, left + plotWidth - 8), lineHeight = SIZE * LINE_SPACING;
  const above = 19 + lineHeight * Math.max(...names.map((lines) => lines.length));
  const head = heading(runs, metrics, title, width), common = stepRange(runs, metrics);
  const height = Math.ceil(head.bottom + rows * (above + plotHeight + below) + 18);
  const figure: Figure = {
    data: [],
    layout: {
      ...whitePage(width, height),
      hovermode: "closest",
      hoverlabel: { namelength: -1, bgcolor: "#ffffff", font: { family: FONT_FAMILY, size: 14 } },
      showlegend: runs.length > 1,
      legend: { ...head.legend, y: 1 - head.legendTop / height },
      annotations: head.annotations.map(at(width, height)),
    },
  };
  metrics.forEach((metric, m) => {
    const id = m === 0 ? "" : `${m + 1}`;
    const x = MARGIN + left + (m % columns) * (left + plotWidth + gap);
    const top = head.bottom + Math.floor(m / columns) * (above + plotHeight + below) + above;
    const axis = { gridcolor: GRID, zeroline: false, linecolor: FAINT_INK, showline: true };
    figure.layout[`xaxis${id}`] = {
      ...axis,
      domain: [x / width, (x + plotWidth) / width],
      anchor: `y${id}`,
      // The supervised steps are counted from 0 on.
      ...(metric.startsWith("sft/") ? { rangemode: "tozero" } : { range: common }),
      // Ticks are at whole steps.
      ...(common[1] - common[0] < 8 && !metric.startsWith("sft/") ? { dtick: 1 } : { nticks: 7 }),
      showgrid: false,
    };
    figure.layout[`yaxis${id}`] = {
      ...axis,
      domain: [1 - (top + plotHeight) / height, 1 - top / height],
      anchor: `x${id}`,
      nticks: 6,
      ...valueAxis(runs, metric),
    };
    const lines = names[m]!, middle = top - 10 - lines.length * lineHeight / 2;
    const notes: Note[] = [{ x: x - left + 8, y: middle, lines, size: SIZE }];
    notes.push({
      x: x + plotWidth / 2,
      y: top + plotHeight + 38,
      lines: [metric.startsWith("sft/") ? "supervised step" : "step"],
      size: 14,
      color: FAINT_INK,
      isCentred: true,
    });
    (figure.layout["annotations"] as unknown[]).push(...notes.map(at(width, height)));
    runs.forEach((run, r) => {
      const points = run.series.get(metric);
      if (points === undefined) return;
      figure.data.push(...curveLines(run.name, [r, runs.length], points, id, common));
    });
  });
  // Every run gets one entry in the legend, from the first panel that shows it.
  const named = new Set<unknown>();
  for (const trace of figure.data) {
    if (trace["showlegend"] !== true) continue;
    trace["showlegend"] = !named.has(trace["legendgroup"]);
    named.add(trace["legendgroup"]);
  }
  return figure;
}

/** The same range of steps for all panels; the warm start has its own range. */
function stepRange(runs: readonly RunMetrics[], metrics: readonly string[]): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const metric of metrics.filter((name) => !name.startsWith("sft/"))) {
    for (const { series } of runs) {
      for (const { step } of series.get(metric) ?? []) {
        low = Math.min(low, step);
        high = Math.max(high, step);
      }
    }
  }
  const room = 0.02 * Math.max(1, high - low);
  return [low - room, high + room];
}

interface Note {
  x: number;
  y: number;
  lines: readonly string[];
  size: number;
  color?: string;
  isCentred?: boolean;
}

/** Places an annotation by pixels of the picture: its left end or centre, and its middle line. */
function at(width: number, height: number) {
  return ({ x, y, lines, size, color = INK, isCentred = false }: Note) => ({
    text: lines.map(escapeText).join("<br>"),
    x: x / width,
    y: 1 - y / height,
    xref: "paper",
    yref: "paper",
    xanchor: isCentred ? "center" : "left",
    yanchor: "middle",
    align: "left",
    showarrow: false,
    font: { size, color },
  });
}

/** Title, explanation, and position of the legend. */
function heading(
  runs: readonly RunMetrics[],
  metrics: readonly string[],
  title: string,
  width: number,
) {
  const large = 25, small = LEGEND_SIZE;
  const titleLines = title.trim() === "" ? [] : wrapText(title, large, width - 2 * MARGIN);
  const titleHeight = titleLines.length * large * LINE_SPACING;
  const explained = wrapText(explanation(runs, metrics), small, width - 2 * MARGIN);
  const legendTop = 24 + titleHeight + explained.length * small * LINE_SPACING + 8;
  const names = textRows(runs.map(({ name }) => name), small, LEGEND_WIDTH);
  const entry = linesWidth(names.flat(), small) + 8;
  // Plotly fills rows of the legend with entries; an entry is as wide as its text, its symbol and a
  // gap.
  const columns = Math.max(1, Math.floor((width - 2 * MARGIN) / (entry + SYMBOL)));
  const rowHeight = Math.max(...names.map((lines) => lines.length)) * small * LINE_SPACING + 13;
  const legendHeight = runs.length > 1 ? Math.ceil(runs.length / columns) * rowHeight + 10 : 0;
  const annotations: Note[] = [
    { x: MARGIN, y: 20 + titleHeight / 2, lines: titleLines, size: large },
    {
      x: MARGIN,
      y: 24 + titleHeight + explained.length * 10,
      lines: explained,
      size: small,
      color: FAINT_INK,
    },
  ];
  return {
    annotations,
    legendTop,
    bottom: legendTop + legendHeight,
    legend: {
      orientation: "h",
      x: MARGIN / width,
      xanchor: "left",
      yanchor: "top",
      entrywidth: Math.max(entry, (width - 2 * MARGIN) / columns - SYMBOL),
      entrywidthmode: "pixels",
      // A share of the figure's height; Plotly hides the rest behind a scroll bar.
      maxheight: 1,
      font: { size: small },
    },
  };
}

/*
 * The lines of a run in a panel of curves: a thin line for the values and a thick line for their
 * running mean; single points where there are few; evaluations with their intervals. Also the scale
 * of a panel's values.
 */

/** Font size of the legend, and the width at which names of runs are wrapped. */
const LEGEND_SIZE = 15, LEGEND_WIDTH = 420;
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
    all.some(isEvaluation)
      ? `Points with bars: evaluations${sizeText(runs)} with 95 % intervals.`
      : "",
  ].filter((text) => text !== "").join(" ");
}

/** How many problems the evaluations of these runs asked. */
function sizeText(runs: readonly RunMetrics[]): string {
  const totals = runs.flatMap(({ series }) => series.get("eval_total") ?? [])
    .map(({ value }) => value);
  return totals.length === 0 ? "" : ` of ${problemRange(totals)}`;
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
