/**
 * A figure whose coordinates are pixels from the upper left corner, for charts that compute their
 * own layout. Every text is measured before it is placed, so that nothing is cut and pictures are
 * the same with and without a browser. Bars and intervals are drawn by Plotly, so that they show
 * details under the pointer in HTML.
 */
import { escapeText, type Figure, INK, type SeriesStyle, whitePage, wrapText } from "./style.ts";
import { FONT_FAMILY } from "./font.ts";

/**
 * A bar from x to the right with its centre at y; `low` and `high` bound the interval, from x on.
 */
export interface Bar {
  x: number;
  y: number;
  length: number;
  height: number;
  low: number;
  high: number;
  style: SeriesStyle;
  /** Lines of text that are shown under the pointer. */
  hover: readonly string[];
}

export interface TextOptions {
  size?: number;
  /** Which side of the text is at x. */
  anchor?: "left" | "middle" | "right";
  color?: string;
}

/** Width at which the text under the pointer is wrapped. */
const HOVER_WIDTH = 500;

interface Text extends Required<TextOptions> {
  x: number;
  y: number;
  text: string;
}

export class Sheet {
  #bars: Bar[] = [];
  #texts: Text[] = [];
  #shapes: Record<string, unknown>[] = [];

  bar(bar: Bar): void {
    this.#bars.push(bar);
  }

  /** Draws lines of text whose vertical centre is at y. */
  text(x: number, y: number, lines: readonly string[], options: TextOptions = {}): void {
    const { size = 14, anchor = "left", color = INK } = options;
    // Plotly centres the box of a line, which has more space above the letters than below.
    const middle = y + 0.08 * size;
    this.#texts.push({
      x,
      y: middle,
      text: lines.map(escapeText).join("<br>"),
      size,
      anchor,
      color,
    });
  }

  line(x0: number, y0: number, x1: number, y1: number, color: string): void {
    const line = { color, width: 1 };
    this.#shapes.push({ type: "line", x0, y0, x1, y1, line, layer: "below" });
  }

  area(x0: number, y0: number, x1: number, y1: number, fillcolor: string): void {
    const line = { width: 0 };
    this.#shapes.push({ type: "rect", x0, y0, x1, y1, fillcolor, line, layer: "below" });
  }

  /** Draws a small bar for the legend. */
  swatch(x: number, y: number, size: number, style: SeriesStyle): void {
    const height = size, length = size * 1.6;
    this.#bars.push({ x, y, length, height, low: length, high: length, style, hover: [] });
  }

  figure(width: number, height: number): Figure {
    const axis = {
      visible: false,
      fixedrange: true,
      autorange: false,
      showgrid: false,
      zeroline: false,
    };
    return {
      data: [...this.#barTraces(), ...this.#textTraces()],
      layout: {
        ...whitePage(width, height),
        showlegend: false,
        barmode: "overlay",
        hovermode: "closest",
        hoverlabel: { align: "left", bgcolor: "#ffffff", font: { family: FONT_FAMILY, size: 14 } },
        xaxis: { ...axis, range: [0, width] },
        yaxis: { ...axis, range: [height, 0] },
        shapes: this.#shapes,
      },
    };
  }

  /** Swatches have no interval, so they are a separate trace. */
  #barTraces(): Record<string, unknown>[] {
    const withInterval = this.#bars.filter(({ low, high }) => low !== high);
    const plain = this.#bars.filter(({ low, high }) => low === high);
    return [withInterval, plain].filter((bars) => bars.length > 0).map((bars) => ({
      type: "bar",
      orientation: "h",
      base: bars.map(({ x }) => x),
      x: bars.map(({ length }) => length),
      y: bars.map(({ y }) => y),
      width: bars.map(({ height }) => height),
      marker: {
        color: bars.map(({ style }) => style.color),
        line: { color: INK, width: 1 },
        pattern: {
          shape: bars.map(({ style }) => style.pattern),
          fillmode: "overlay",
          fgcolor: INK,
          fgopacity: 0.55,
          // Diagonal patterns repeat after √2 sizes; tiles of fractional pixels leave seams in a
          // PNG.
          size: bars.map(({ style }) => style.pattern === "." ? 7 : 10 / Math.SQRT2),
          solidity: 0.2,
        },
      },
      ...(bars === withInterval
        ? {
          error_x: {
            type: "data",
            symmetric: false,
            array: bars.map(({ high, length }) => high - length),
            arrayminus: bars.map(({ low, length }) => length - low),
            color: INK,
            thickness: 1.6,
            width: Math.min(5, 0.3 * Math.min(...bars.map(({ height }) => height))),
          },
          customdata: bars.map(({ hover }) =>
            hover.flatMap((line) => wrapText(line, 14, HOVER_WIDTH)).map(escapeText).join("<br>")
          ),
          hovertemplate: "%{customdata}<extra></extra>",
        }
        : { hoverinfo: "skip" }),
    }));
  }

  #textTraces(): Record<string, unknown>[] {
    if (this.#texts.length === 0) return [];
    const side = { left: "middle right", middle: "middle center", right: "middle left" };
    return [{
      type: "scatter",
      mode: "text",
      x: this.#texts.map(({ x }) => x),
      y: this.#texts.map(({ y }) => y),
      text: this.#texts.map(({ text }) => text),
      textposition: this.#texts.map(({ anchor }) => side[anchor]),
      textfont: {
        size: this.#texts.map(({ size }) => size),
        color: this.#texts.map(({ color }) => color),
      },
      cliponaxis: false,
      hoverinfo: "skip",
    }];
  }
}
