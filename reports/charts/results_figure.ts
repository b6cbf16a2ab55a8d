/**
 * The bars of models on one task, or on several tasks with their averages. One task has a line for
 * each model. Few bars of several tasks are drawn in groups, one for each task, with a legend. Many
 * bars are drawn in panels, one for each task, with the models' names beside each row of panels, so
 * that a reader need not match colours.
 *
 * The average is over the tasks that all models have, since averages over different tasks cannot be
 * compared.
 */
import { averageAccuracy } from "../../bench/evaluation/intervals.ts";
import type { ChartData } from "./chart_data.ts";
import {
  BAND,
  DISTINCT_STYLES,
  FAINT_INK,
  type Figure,
  LINE_SPACING,
  linesWidth,
  PAPER_WIDTHS,
  type PaperColumns,
  percent,
  seriesStyle,
  textRows,
} from "./style.ts";
import {
  drawHeading,
  drawPanel,
  type PanelRow,
  sampleSize,
  scaleEnd,
  scaleText,
  ticksTo,
  type Value,
  valueOf,
  valueWidth,
} from "./panel.ts";
import { Sheet } from "./sheet.ts";

const MARGIN = 24;
/** With more bars than this, panels are drawn. */
const BARS_IN_GROUPS = 40;

/**
 * A group of bars: a task, or the average over tasks, with a value for each model. If there is only
 * one task, a group is a model.
 */
interface Group {
  label: string;
  values: Value[];
  isAverage: boolean;
}

/** @param columns width of the figure in columns of a paper; default: as wide as a screen */
export function resultsFigure(
  data: ChartData,
  title?: string,
  isFullScale = false,
  columns?: PaperColumns,
): Figure {
  const { tasks, models } = data, isOne = tasks.length === 1, groups = groupsOf(data);
  const shown = title ?? resultsTitle(tasks);
  const results = tasks.flatMap((task) => [...data.results.get(task)!.values()]);
  const values = groups.flatMap((group) => group.values), end = scaleEnd(values, isFullScale);
  const helpers = [...new Set(results.flatMap(({ dialogues }) => dialogues?.with ?? []))];
  const subtitle = `${scaleText(values, end)}; ${sampleSize(results)}${isOne ? "" : " a task"}` +
    (helpers.length === 0 ? "" : `; in dialogues with ${helpers.join(", ")}`);
  const bars = groups.length * models.length;
  const width = columns === undefined ? 1120 : PAPER_WIDTHS[columns];
  if (isOne) {
    const lines = models.map((label, i) => ({
      label,
      values: [groups[0]!.values[i]!],
      isAverage: false,
    }));
    return groupedFigure(null, lines, shown, subtitle, end, width);
  }
  return columns !== undefined || models.length <= DISTINCT_STYLES && bars <= BARS_IN_GROUPS
    ? groupedFigure(models, groups, shown, subtitle, end, width)
    : panelsFigure(models, groups, shown, subtitle, end);
}

export function resultsTitle(tasks: readonly string[]): string {
  return `Accuracy on ${tasks.length === 1 ? tasks[0] : `${tasks.length} tasks`}`;
}

function groupsOf({ tasks, models, results }: ChartData): Group[] {
  const groups: Group[] = tasks.map((task) => ({
    label: task,
    values: models.map((model) => valueOf(model, task, results.get(task)!.get(model))),
    isAverage: false,
  }));
  // A model without any result, for example one that was not reachable, removes no task.
  const isMeasured = models.map((_, i) => groups.some(({ values }) => values[i] !== null));
  const shared = groups.filter(({ values }) =>
    values.every((value, i) => value !== null || !isMeasured[i])
  );
  // The average over a single task says nothing new.
  if (shared.length < 2) return groups;
  const label = shared.length === tasks.length
    ? `average of ${tasks.length} tasks`
    : `average of the ${shared.length} tasks that all models have`;
  const values = models.map((model, i) => {
    if (!isMeasured[i]) return null;
    const { accuracy, ci95 } = averageAccuracy(shared.map((group) => group.values[i]!));
    const [low, high] = ci95;
    const text = `accuracy ${percent(accuracy)} [${percent(low)}, ${percent(high)}]`;
    return { accuracy, ci95, hover: [model, label, text] };
  });
  return [...groups, { label, values, isAverage: true }];
}

/** @param models of the legend; null: each group is a line of one model, with its interval */
function groupedFigure(
  models: readonly string[] | null,
  groups: readonly Group[],
  title: string,
  subtitle: string,
  end: number,
  width: number,
): Figure {
  const size = 16, sheet = new Sheet(), perGroup = groups[0]!.values.length;
  const head = drawHeading(sheet, title, subtitle, width);
  let y = models === null ? head : drawLegend(sheet, models, width, size, head);
  // Few bars are thicker.
  const thickness = models === null
    ? groups.length <= 4 ? 40 : 28
    : groups.length * perGroup <= 16
    ? 26
    : 20;
  const gap = (models === null ? 0.4 : 0.8) * thickness;
  const widest = Math.min(models === null ? 360 : 250, 0.32 * width);
  const labels = textRows(groups.map(({ label }) => label), size, widest);
  const left = MARGIN + linesWidth(labels.flat(), size) + 14;
  const right = models === null ? linesWidth(["[100.0, 100.0]"], size - 1) + 12 : 0;
  const top = y, rows: PanelRow[] = [];
  groups.forEach(({ values, isAverage }, g) => {
    const text = labels[g]!.length * size * LINE_SPACING;
    const height = Math.max(perGroup * thickness, text) + gap;
    if (isAverage) sheet.area(MARGIN / 2, y, width - MARGIN / 2, y + height, BAND);
    sheet.text(left - 12, y + height / 2, labels[g]!, { size, anchor: "right" });
    const first = y + height / 2 - (perGroup - 1) * thickness / 2;
    values.forEach((value, i) => {
      const style = seriesStyle(models === null ? g : i), middle = first + i * thickness;
      rows.push({ y: middle, height: 0.88 * thickness, style, value });
      if (models !== null || value === null) return;
      const [low, high] = value.ci95.map((end) => percent(end).slice(0, -2));
      const faint = { size: size - 1, anchor: "right", color: FAINT_INK } as const;
      sheet.text(width - MARGIN, middle, [`[${low}, ${high}]`], faint);
    });
    y += height;
  });
  const plot = width - MARGIN - left - valueWidth(size) - right;
  const ticks = plot < 240 ? ticksTo(end, 2) : ticksTo(end);
  const area = { x: left, top, bottom: y, width: plot, size, ticks };
  drawPanel(sheet, { ...area, tickLabels: true, units: true }, rows);
  return sheet.figure(width, Math.ceil(y + 42));
}

/** Draws swatches and names, in as many rows as they need. @returns the y below them */
function drawLegend(
  sheet: Sheet,
  models: readonly string[],
  width: number,
  size: number,
  top: number,
): number {
  const swatch = 15, gap = 30, before = 1.6 * swatch + 9;
  const names = textRows(models, size, Math.min(420, width - 3 * MARGIN));
  let x = MARGIN, y = top, height = 0;
  names.forEach((lines, i) => {
    const needed = before + linesWidth(lines, size);
    if (x > MARGIN && x + needed > width - MARGIN) {
      x = MARGIN;
      y += height + 4;
      height = 0;
    }
    const nameHeight = lines.length * size * LINE_SPACING, first = y + size * LINE_SPACING / 2;
    sheet.swatch(x, first, swatch, seriesStyle(i));
    sheet.text(x + before, y + nameHeight / 2, lines, { size });
    x += needed + gap;
    height = Math.max(height, nameHeight);
  });
  return y + height + 14;
}

function panelsFigure(
  models: readonly string[],
  groups: readonly Group[],
  title: string,
  subtitle: string,
  end: number,
): Figure {
  const size = 14, bar = 118, gap = 24, below = 16, tickHeight = 26;
  const names = textRows(models, size, 250);
  const heights = names.map((lines) => Math.max(22, lines.length * size * LINE_SPACING + 4));
  const bodyHeight = heights.reduce((sum, height) => sum + height, 0);
  const namesWidth = linesWidth(names.flat(), size) + 12;
  const panelWidth = bar + valueWidth(size, false);
  const labels = textRows(groups.map(({ label }) => label), size, panelWidth);
  const columns = columnsOf(
    groups.length,
    2 * MARGIN + namesWidth,
    panelWidth + gap,
    bodyHeight + below + 1.5 * size * LINE_SPACING,
  );
  const width = Math.ceil(2 * MARGIN + namesWidth + columns * (panelWidth + gap) - gap);
  const sheet = new Sheet();
  let top = drawHeading(sheet, title, subtitle, width);
  for (let first = 0; first < groups.length; first += columns) {
    const inRow = groups.slice(first, first + columns);
    const maxLines = Math.max(...inRow.map((_, c) => labels[first + c]!.length));
    const labelHeight = maxLines * size * LINE_SPACING + 8, start = top + labelHeight;
    const bottom = start + bodyHeight;
    inRow.forEach(({ values, isAverage }, c) => {
      const g = first + c, x = MARGIN + namesWidth + c * (panelWidth + gap);
      let y = start;
      const rows = values.map((value, i) => {
        const middle = y + heights[i]! / 2;
        if (c === 0) sheet.text(x - 10, middle, names[i]!, { size, anchor: "right" });
        y += heights[i]!;
        return { y: middle, height: 17, style: seriesStyle(i), value };
      });
      if (isAverage) sheet.area(x - 9, top, x + panelWidth + 9, bottom + tickHeight, BAND);
      const height = labels[g]!.length * size * LINE_SPACING;
      sheet.text(x, start - 4 - height / 2, labels[g]!, { size });
      const area = { x, top: start, bottom, width: bar, size, ticks: ticksTo(end, 2) };
      drawPanel(sheet, { ...area, tickLabels: true, units: false }, rows);
    });
    top = bottom + tickHeight + below;
  }
  return sheet.figure(width, Math.ceil(top + 4));
}

/** The number of columns that gives a picture about the shape of a slide, with few gaps. */
function columnsOf(panels: number, beside: number, width: number, height: number): number {
  const misfit = (columns: number) => {
    const above = 100, rows = Math.ceil(panels / columns);
    const shape = Math.abs(Math.log((beside + columns * width) / (above + rows * height) / 1.7));
    // A nearly empty last row counts against a number of columns.
    return shape + 1.5 * (rows * columns - panels) / (rows * columns);
  };
  let best = 1;
  for (let columns = 2; columns <= Math.min(8, panels); columns++) {
    if (misfit(columns) < misfit(best)) best = columns;
  }
  return best;
}
