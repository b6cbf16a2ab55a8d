/** Accuracies as bars with their 95 % intervals, drawn as a picture that has a text of its own. */
import { lineStyle } from "./chart.ts";
import { svg } from "./dom.ts";
import { accuracyText, percent } from "./text.ts";

export interface Bar {
  label: string;
  /** Position of the model, which gives the bar its colour. */
  index: number;
  accuracy: number;
  ci95: readonly [number, number];
  /** Number of answers; 0: nothing was measured. */
  total?: number;
}

/** About the width of a column, so that letters keep their size. */
const MAX_WIDTH = 390, ROW = 46, TOP = 4, RIGHT = 72, BOTTOM = 26;

export function barChart(title: string, bars: readonly Bar[]): SVGElement {
  const width = Math.max(240, Math.min(MAX_WIDTH, innerWidth - 48)), plot = width - RIGHT;
  const height = TOP + bars.length * ROW + BOTTOM;
  const text = bars.map(({ label, ...value }) => `${label}: ${accuracyText(value)}`).join("; ");
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    svg("line", {
      class: "grid",
      x1: share * plot + 1,
      x2: share * plot + 1,
      y1: TOP,
      y2: height - BOTTOM,
    }),
    svg("text", {
      class: "axis",
      x: share * plot + 1,
      y: height - 8,
      "text-anchor": share === 0 ? "start" : "middle",
    }, `${100 * share} %`),
  ]);
  const rows = bars.flatMap(({ label, index, accuracy, ci95: [low, high], total }, i) => {
    const y = TOP + i * ROW, middle = y + 30;
    const whisker = (x1: number, x2: number, y1: number, y2: number) =>
      svg("line", { x1, x2, y1, y2 });
    const name = svg("text", { x: 2, y: y + 15 }, label);
    if (total === 0) return [name, svg("text", { class: "axis", x: 2, y: y + 34 }, "no answers")];
    return [
      name,
      svg("rect", {
        x: 1,
        y: y + 20,
        width: Math.max(1, accuracy * plot),
        height: 20,
        rx: 2,
        fill: lineStyle(index).color,
      }),
      whisker(low * plot + 1, high * plot + 1, middle, middle),
      whisker(low * plot + 1, low * plot + 1, middle - 5, middle + 5),
      whisker(high * plot + 1, high * plot + 1, middle - 5, middle + 5),
      svg("text", { x: Math.max(accuracy, high) * plot + 8, y: middle + 5 }, percent(accuracy)),
    ];
  });
  return svg(
    "svg",
    {
      class: "bars",
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${title}. ${text}`,
    },
    ...grid,
    ...rows,
  );
}
