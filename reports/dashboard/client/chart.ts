/**
 * One chart: the curves of several runs. The keyboard moves a cursor over the steps, and a text
 * below the chart says the values there, for screen readers too. Dragging the pointer zooms all
 * charts of the page; a double click or Escape shows everything again.
 */
import { html, nothing, render } from "lit-html";
import uPlot from "uplot";
import type { Curve } from "../api.ts";
import type { Part } from "./dom.ts";
import { bytesText, metricText, percent, short } from "./text.ts";

export interface ShownRun {
  id: string;
  name: string;
  /** Position among all runs, which gives it its colour. */
  index: number;
}

const LIGHT = ["#1f5fa6", "#b85600", "#187a58", "#a8265a", "#6546a8", "#4d5964", "#87690b"];
const DARK = ["#6db3f2", "#f5a352", "#5fd0a4", "#f285b0", "#b9a2f5", "#c0c8d0", "#dcc34e"];
const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** A short piece of a run's line, as the key of its colour. */
export function swatch(index: number): Part {
  const { color, dash } = lineStyle(index);
  return html`
    <svg class="swatch" viewBox="0 0 26 10" aria-hidden="true">
      <line
        x1="0"
        y1="5"
        x2="26"
        y2="5"
        stroke=${color}
        stroke-width="3"
        stroke-dasharray=${dash.join(" ")}
      ></line>
    </svg>
  `;
}

/** Colour and dashes of a run; they repeat after 28 runs. */
export function lineStyle(index: number): { color: string; dash: number[] } {
  const colors = isDark() ? DARK : LIGHT;
  return {
    color: colors[index % colors.length]!,
    dash: [...DASHES[Math.floor(index / colors.length) % DASHES.length]!],
  };
}

function isDark(): boolean {
  return document.documentElement.dataset["theme"] === "dark";
}

/** The text about a run at a step. */
interface Reading {
  run: ShownRun;
  value: string;
  /** null: the curve is not smoothed. */
  smooth: string | null;
}

const cursors = uPlot.sync("steps");
const HEIGHT = 210, FEW = 10;

export class Chart {
  readonly element: HTMLElement = document.createElement("section");
  readonly #plot: HTMLElement;
  readonly #reading: HTMLElement;
  #chart: uPlot | null = null;
  #runs: readonly ShownRun[] = [];
  #curves: readonly (Curve | undefined)[] = [];
  #steps: readonly number[] = [];

  /** @param zoom called with the range of steps that was chosen; null: everything */
  constructor(
    readonly metric: string,
    private readonly zoom: (range: [from: number, to: number] | null) => void,
  ) {
    const key = (event: KeyboardEvent) => this.#key(event), all = () => this.zoom(null);
    this.element.className = "chart";
    render(
      html`
        <h3>${metric}</h3>
        <div class="plot" tabindex="0" role="img" @keydown=${key} @dblclick=${all}></div>
        <p class="reading"></p>
      `,
      this.element,
    );
    this.#plot = this.element.querySelector(".plot")!;
    this.#reading = this.element.querySelector(".reading")!;
  }

  /** @param curves one for each run; undefined: the run does not have this metric */
  draw(runs: readonly ShownRun[], curves: readonly (Curve | undefined)[]): void {
    this.#runs = runs;
    this.#curves = curves;
    this.redraw();
  }

  /** Draws the same again, in the colours and the size of now. */
  redraw(): void {
    const tables: uPlot.AlignedData[] = [], series: uPlot.Series[] = [{ label: "step" }];
    this.#curves.forEach((curve, r) => {
      if (curve === undefined || curve.steps.length === 0) return;
      const { color, dash } = lineStyle(this.#runs[r]!.index),
        isFew = curve.steps.length <= 3 * FEW;
      const hasSmooth = isSmoothed(curve);
      const columns: (readonly (number | null)[])[] = [curve.values];
      series.push({
        stroke: hasSmooth ? `${color}59` : color,
        width: hasSmooth ? 1 : 1.8,
        dash: hasSmooth ? [] : dash,
        points: { show: isFew && !hasSmooth, size: 5, fill: color },
        spanGaps: true,
      });
      if (hasSmooth) {
        columns.push(curve.smooth!);
        series.push({ stroke: color, width: 2, dash, points: { show: false }, spanGaps: true });
      }
      for (const edge of [curve.low, curve.high]) {
        if (edge === undefined) continue;
        columns.push(edge);
        series.push({ stroke: `${color}80`, width: 1, dash: [2, 4], spanGaps: true });
      }
      tables.push([curve.steps, ...columns] as uPlot.AlignedData);
    });
    this.#chart?.destroy();
    this.#chart = null;
    const data = tables.length === 0 ? [[]] : uPlot.join(tables);
    this.#steps = data[0] as number[];
    this.#describe();
    this.#plot.replaceChildren();
    if (tables.length === 0) return;
    this.#chart = new uPlot(this.#options(series), data as uPlot.AlignedData, this.#plot);
  }

  resize(): void {
    const width = this.#plot.clientWidth;
    if (width > 0 && this.#chart !== null && width !== this.#chart.width) {
      this.#chart.setSize({ width, height: HEIGHT });
    }
  }

  destroy(): void {
    this.#chart?.destroy();
  }

  #options(series: uPlot.Series[]): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--faint"), grid = style.getPropertyValue("--line");
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
    return {
      width: Math.max(200, this.#plot.clientWidth),
      height: HEIGHT,
      series,
      legend: { show: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => this.#range(low, high) } },
      axes: [axis, { ...axis, size: 66, values: (_, ticks) => ticks.map((v) => this.#tick(v)) }],
      cursor: {
        sync: { key: cursors.key },
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
      },
      hooks: {
        setCursor: [(chart) => this.#say(chart.cursor.idx ?? null)],
        setSelect: [(chart) => {
          if (chart.select.width < 8) return;
          const { left, width } = chart.select;
          this.zoom([chart.posToVal(left, "x"), chart.posToVal(left + width, "x")]);
          chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    };
  }

  /** Some room above and below; equal values get a scale too. */
  #range(low: number | null, high: number | null): [number, number] {
    const [from, to] = [low ?? 0, high ?? 0], size = Math.max(Math.abs(from), Math.abs(to));
    if (to - from > 1e-6 * size) {
      const room = 0.06 * (to - from);
      return [from >= 0 ? Math.max(0, from - room) : from - room, to + room];
    }
    if (isShare(this.metric)) return [0, 1];
    return size === 0 ? [-1, 1] : [from - size / 2, to + size / 2];
  }

  #tick(value: number): string {
    if (/bytes$/.test(this.metric)) return bytesText(value);
    return isShare(this.metric) ? `${Number((100 * value).toPrecision(3))} %` : short(value);
  }

  #value(value: number): string {
    return isShare(this.metric) ? percent(value) : metricText(this.metric, value);
  }

  /** The label for screen readers, and the newest values below the chart. */
  #describe(): void {
    const parts = this.#latest(Infinity);
    const range = this.#steps.length === 0
      ? "no values"
      : `steps ${this.#steps[0]} to ${this.#steps.at(-1)}`;
    this.#plot.setAttribute(
      "aria-label",
      `Curves of ${this.metric}, ${range}. ${
        parts.slice(0, 10).map(({ run, value }) => `${run.name}: ${value}`).join("; ")
      }. Arrow keys read values.`,
    );
    this.#show("newest", parts);
  }

  /** The value of each run at the last of its steps up to `step`. */
  #latest(step: number): Reading[] {
    return this.#curves.flatMap((curve, r) => {
      if (curve === undefined) return [];
      const at = curve.steps.findLastIndex((one) => one <= step);
      const value = curve.values[at], smooth = isSmoothed(curve) ? curve.smooth![at] : null;
      if (at < 0 || value === null || value === undefined) return [];
      return [{
        run: this.#runs[r]!,
        value: this.#value(value),
        smooth: smooth === null || smooth === undefined ? null : this.#value(smooth),
      }];
    });
  }

  #say(index: number | null): void {
    const step = index === null ? undefined : this.#steps[index];
    if (step === undefined) this.#show("newest", this.#latest(Infinity));
    else this.#show(`step ${step}`, this.#latest(step));
  }

  /** One line for each run: its colour, its name, its value. */
  #show(where: string, parts: readonly Reading[]): void {
    const few = parts.slice(0, 8), more = parts.length - few.length;
    const isAlone = this.#runs.length === 1;
    const keys = few.map(({ run, value, smooth }) =>
      html`<span class="key">${
        isAlone ? nothing : html`
          ${swatch(run.index)}${run.name}
        `
      }<b>${value}</b>${smooth === null ? " " : ` (smoothed ${smooth}) `}</span>`
    );
    render(
      this.#steps.length === 0
        ? "No values yet."
        : html`<span>${where}: </span>${keys}${more > 0 ? `and ${more} more` : nothing}`,
      this.#reading,
    );
  }

  #key(event: KeyboardEvent): void {
    const chart = this.#chart;
    if (chart === null) return;
    const last = this.#steps.length - 1, at = chart.cursor.idx ?? last;
    const reach = event.shiftKey ? Math.ceil(last / 20) : 1;
    const to: Record<string, number> = {
      ArrowLeft: Math.max(0, at - reach),
      ArrowRight: Math.min(last, at + reach),
      Home: 0,
      End: last,
    };
    if (event.key === "Escape") return this.zoom(null);
    const index = to[event.key];
    if (index === undefined) return;
    event.preventDefault();
    this.#reading.setAttribute("aria-live", "polite");
    chart.setCursor({ left: chart.valToPos(this.#steps[index]!, "x"), top: HEIGHT / 2 });
  }
}

/** A few values, such as those of evaluations, are shown as they are. */
function isSmoothed(curve: Curve): boolean {
  return curve.smooth !== undefined && curve.steps.length > FEW;
}

function isShare(metric: string): boolean {
  return /accuracy|_rate$|clipped_ratio$|^frac_/.test(metric) && metric !== "learning_rate" &&
    metric !== "sft/learning_rate";
}
