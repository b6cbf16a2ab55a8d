/** `comparison_{task}.png`: a bar with its 95 % interval for each model on one task. */
import type { ChartData } from "./chart_data.ts";
import type { Figure } from "./figure.ts";
import {
  drawHeading,
  drawPanel,
  sampleSize,
  scaleEnd,
  scaleText,
  ticksTo,
  valueOf,
  valueWidth,
} from "./panel.ts";
import { Sheet } from "./sheet.ts";
import { FAINT_INK, LINE_SPACING, linesWidth, percent, seriesStyle, textRows } from "./style.ts";

const WIDTH = 1120, MARGIN = 24, SIZE = 16;

export function comparisonFigure(
  data: ChartData,
  task: string,
  title?: string,
  isFullScale = false,
): Figure {
  const results = data.results.get(task)!;
  const sheet = new Sheet();
  const values = data.models.map((model) => valueOf(model, task, results.get(model)));
  const end = scaleEnd(values, isFullScale);
  const top = drawHeading(
    sheet,
    title ?? `Accuracy on ${task}`,
    `${scaleText(values, end)}; ${sampleSize(results.values())}`,
    WIDTH,
  );
  const names = textRows(data.models, SIZE, 360);
  const left = MARGIN + linesWidth(names.flat(), SIZE) + 14;
  const intervals = linesWidth(["[100.0, 100.0]"], SIZE - 1);
  const width = WIDTH - MARGIN - left - valueWidth(SIZE) - intervals - 12;
  // With few models the bars are thicker.
  const thickness = data.models.length <= 4 ? 38 : 26;
  let y = top + 6;
  const rows = data.models.map((_, i) => {
    const height = Math.max(1.4 * thickness, names[i]!.length * SIZE * LINE_SPACING + 12);
    const value = values[i]!;
    const row = { y: y + height / 2, height: thickness, style: seriesStyle(i), value };
    sheet.text(left - 12, row.y, names[i]!, { size: SIZE, anchor: "right" });
    if (value !== null) {
      const [low, high] = value.ci95.map((end) => percent(end).slice(0, -2));
      sheet.text(WIDTH - MARGIN, row.y, [`[${low}, ${high}]`], {
        size: SIZE - 1,
        anchor: "right",
        color: FAINT_INK,
      });
    }
    y += height;
    return row;
  });
  const area = { x: left, top, bottom: y + 6, width, size: SIZE, tickLabels: true, units: true };
  drawPanel(sheet, { ...area, ticks: ticksTo(end) }, rows);
  return sheet.figure(WIDTH, Math.ceil(y + 46));
}
