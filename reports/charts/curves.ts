/**
 * Training curves of one or several runs, with a panel for each metric (curve_lines.ts draws its
 * lines). For very long runs only the lowest and the highest value of every few steps are drawn.
 */
import { UsageError } from "../../core/errors.ts";
import { folderOf } from "../../core/paths.ts";
import { didYouMean } from "../../core/suggest.ts";
import { curveLines, explanation, LEGEND_SIZE, LEGEND_WIDTH, valueAxis } from "./curve_lines.ts";
import type { Figure } from "./figure.ts";
import { FONT_FAMILY } from "./font.ts";
import { parseRename, resolveRenames } from "./rename.ts";
import { readRuns, type RunMetrics } from "./run_metrics.ts";
import {
  escapeText,
  FAINT_INK,
  GRID,
  INK,
  LINE_SPACING,
  linesWidth,
  textRows,
  wrapText,
} from "./style.ts";
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
/** Those of them that are drawn even when all values are 0. */
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
  /** What the reader of the chart should know. */
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
  const drawn = await writeFigure(path, curvesFigure(runs, metrics, title), title);
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
  const { names: chosen } = resolveRenames(parsed, names);
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
      width,
      height,
      font: { family: FONT_FAMILY, size: 14, color: INK },
      paper_bgcolor: "#ffffff",
      plot_bgcolor: "#ffffff",
      margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
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
  // Plotly fills rows of the legend with entries; each takes its text, its symbol and some space.
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
