/**
 * One chart: the curves of several runs. The keyboard moves a cursor over the steps, and a text
 * below the chart says the values there, for screen readers too. Dragging the pointer zooms all
 * charts of the page; a double click or Escape shows everything again.
 */
import { html, nothing, render } from "lit-html";
import uPlot from "uplot";
import { metricOf, type Unit } from "../../charts/metric_table.ts";
import type { Curve } from "../reading/metrics_file.ts";
import { breakable, type Part, save } from "./dom.ts";
import { metricText, short, timeText } from "./text.ts";

export interface ShownRun {
  id: string;
  name: string;
  /** Position among all runs, which gives it its colour. */
  index: number;
  /** Its values have an axis of their own, at the right, and are those of this metric. */
  right?: string;
}

/** How all charts of a page are drawn. */
export interface Look {
  /** What the positions of the curves are: steps, seconds or completions. */
  x: "step" | "time" | "samples";
  isLog: boolean;
  /** The part of the positions that is shown; null: all. */
  range: readonly [from: number, to: number] | null;
}

const COLORS = 6, DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

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

/** A colour of design.css, in the theme of now. */
function themeColor(name: string): string {
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
  const [light, dark] = value.match(/#\w+/g)!;
  return document.documentElement.dataset["theme"] === "dark" ? dark! : light!;
}

/** Colour and dashes of a run; they repeat after 24 runs. */
function lineStyle(index: number): { color: string; dash: number[] } {
  return {
    color: themeColor(`series-${index % COLORS + 1}`),
    dash: [...DASHES[Math.floor(index / COLORS) % DASHES.length]!],
  };
}

/** The text about a run at a step. */
interface Reading {
  run: ShownRun;
  value: string;
  /** null: the curve is not smoothed. */
  smooth: string | null;
}

const cursors = uPlot.sync("steps");
const FEW = 10;
/** With more runs than this, only the smoothed lines are drawn. */
export const MANY = 12;
/** Runs whose values stand below a chart. */
const MAX_KEYS = 8;
const X_NAMES = { step: "step", time: "time", samples: "completions" };
/** Distances of the marks of steps: whole numbers. */
const WHOLE = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((size) => [size, 2 * size, 5 * size]);
/** Of a logarithmic axis, only powers of ten have a line. */
const powers = (_: uPlot, splits: number[]) =>
  splits.map((value) => Number.isInteger(Number(Math.log10(value).toFixed(9))) ? value : null);
const UNITS: Readonly<Partial<Record<Unit, string>>> = { share: "%", s: "seconds" };

export class Chart {
  readonly element: HTMLElement = document.createElement("section");
  readonly #plot: HTMLElement;
  readonly #reading: HTMLElement;
  #chart: uPlot | null = null;
  #runs: readonly ShownRun[] = [];
  #curves: readonly (Curve | undefined)[] = [];
  #steps: readonly number[] = [];
  #look: Look = { x: "step", isLog: false, range: null };

  /**
   * @param zoom called with the range of steps that was chosen; null: everything
   * @param height of the plot in pixels
   * @param title what stands above it; default: the metric, with its meaning
   */
  constructor(
    readonly metric: string,
    private readonly zoom: (range: [from: number, to: number] | null) => void,
    private readonly height = 230,
    title = metric,
    meaning = metricOf(metric).meaning,
  ) {
    const key = (event: KeyboardEvent) => this.#key(event), all = () => this.zoom(null);
    this.element.className = "chart";
    render(
      html`
        <div class="chart-head">
          <h3 title=${meaning}>${breakable(title)}</h3>
          <span class="small-buttons">
            <button type="button" aria-label=${`${title} as PNG`} @click=${() => this.#png()}>
              PNG
            </button>
            <button type="button" aria-label=${`${title} as CSV`} @click=${() => this.#csv()}>
              CSV
            </button>
          </span>
          <p class="meaning" title=${meaning}>${meaning}</p>
        </div>
        <div class="plot" tabindex="0" role="img" aria-label=${`Curves of ${metric}`} @keydown=${key}
          @dblclick=${all}></div>
        <p class="reading"></p>
      `,
      this.element,
    );
    this.#plot = this.element.querySelector(".plot")!;
    this.#reading = this.element.querySelector(".reading")!;
    this.#plot.style.minHeight = `${height}px`;
  }

  /** @param curves one for each run; undefined: the run does not have this metric */
  draw(
    runs: readonly ShownRun[],
    curves: readonly (Curve | undefined)[],
    look: Look = this.#look,
  ): void {
    [this.#runs, this.#curves, this.#look] = [runs, curves, look];
    this.redraw();
  }

  /** Draws the same again, in the colours and the size of now. */
  redraw(): void {
    const tables: uPlot.AlignedData[] = [], series: uPlot.Series[] = [{ label: "step" }];
    const bands: uPlot.Band[] = [];
    const drawable = (values: readonly (number | null)[]) =>
      this.#look.isLog ? values.map((one) => one !== null && one > 0 ? one : null) : values;
    this.#curves.forEach((curve, r) => {
      if (curve === undefined || curve.steps.length === 0) return;
      const run = this.#runs[r]!, { color, dash } = lineStyle(run.index);
      const isFew = curve.steps.length <= 3 * FEW, hasSmooth = isSmoothed(curve);
      const isMeasured = !hasSmooth || this.#runs.length <= MANY;
      const common = { scale: run.right === undefined ? "y" : "right", spanGaps: true };
      const columns: (readonly (number | null)[])[] = [];
      if (isMeasured) {
        columns.push(drawable(curve.values));
        series.push({
          ...common,
          stroke: hasSmooth ? `${color}59` : color,
          width: hasSmooth ? 1 : 2,
          dash: hasSmooth ? [] : dash,
          points: { show: isFew && !hasSmooth, size: 6, fill: color },
        });
      }
      if (hasSmooth) {
        columns.push(drawable(curve.smooth!));
        series.push({ ...common, stroke: color, width: 2, dash, points: { show: false } });
      }
      if (curve.low !== undefined && curve.high !== undefined) {
        columns.push(drawable(curve.low), drawable(curve.high));
        for (let edge = 0; edge < 2; edge++) {
          series.push({ ...common, stroke: `${color}66`, width: 1, points: { show: false } });
        }
        bands.push({ series: [series.length - 1, series.length - 2], fill: `${color}26` });
      }
      tables.push([curve.steps, ...columns] as uPlot.AlignedData);
    });
    this.#chart?.destroy();
    this.#chart = null;
    const data = tables.length === 0 ? [[]] : uPlot.join(tables);
    this.#steps = data[0] as number[];
    if (this.#steps.length > 0) {
      const options = { ...this.#options(), series, bands };
      this.#chart = new uPlot(options as uPlot.Options, data as uPlot.AlignedData, this.#plot);
    }
    this.#describe();
  }

  destroy(): void {
    this.#chart?.destroy();
    this.#chart = null;
  }

  #options(): Omit<uPlot.Options, "series"> {
    const grid = { stroke: themeColor("line"), width: 1 }, font = "12px system-ui, sans-serif";
    const axis = { stroke: themeColor("faint"), grid, ticks: grid, font, labelFont: font };
    const right = this.#runs.find((run) => run.right !== undefined)?.right;
    const { range } = this.#look;
    const values = (metric: string): uPlot.Axis => ({
      ...axis,
      size: 62,
      label: labelOf(metric),
      labelSize: 18,
      values: (_, ticks) => ticks.map((value) => value === null ? "" : tickText(metric, value)),
      ...(this.#look.isLog && { grid: { ...grid, filter: powers }, ticks: { show: false } }),
    });
    const scale = (metric: string): uPlot.Scale =>
      this.#look.isLog ? { distr: 3 } : {
        range: (_, low, high) => rangeOf(metric, low, high),
      };
    return {
      width: Math.max(200, this.#plot.clientWidth),
      height: this.height,
      legend: { show: false },
      scales: {
        x: { time: false, ...(range !== null && { range: [...range] as [number, number] }) },
        y: scale(this.metric),
        ...(right !== undefined && { right: scale(right) }),
      },
      axes: [
        {
          ...axis,
          size: 34,
          ...(this.#look.x !== "time" && { incrs: WHOLE }),
          label: this.metric.startsWith("sft/")
            ? "supervised step"
            : `${X_NAMES[this.#look.x]}${this.#look.x === "time" ? " (h:min:s)" : ""}`,
          labelSize: 18,
          values: (_, ticks) => ticks.map((one) => this.#tick(one)),
        },
        values(this.metric),
        ...(right === undefined
          ? []
          : [{ ...values(right), side: 1, scale: "right", grid: { show: false } }]),
      ],
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

  /** A position as text. */
  #place(x: number): string {
    return this.#look.x === "time" ? timeText(x) : short(x);
  }

  /** A position below the axis: short, so that neighbours do not touch. */
  #tick(x: number): string {
    if (this.#look.x !== "time") return short(x);
    const [hours, minutes, seconds] = [x / 3600, x / 60 % 60, x % 60].map(Math.floor);
    const two = (value: number) => String(value).padStart(2, "0");
    return hours! > 0
      ? `${hours}:${two(minutes!)}:${two(seconds!)}`
      : `${minutes}:${two(seconds!)}`;
  }

  /** The label for screen readers, and the newest values below the chart. */
  #describe(): void {
    const parts = this.#latest(Infinity).slice(0, 10);
    const range = this.#steps.length === 0
      ? "no values"
      : `${X_NAMES[this.#look.x]} ${this.#place(this.#steps[0]!)} to ${
        this.#place(this.#steps.at(-1)!)
      }`;
    this.#plot.setAttribute(
      "aria-label",
      `Curves of ${this.metric}, ${range}. ${
        parts.map(({ run, value }) => `${run.name}: ${value}`).join("; ")
      }. Arrow keys read values.`,
    );
    this.#say(null);
  }

  /** The value of each run at the last of its steps up to `step`. */
  #latest(step: number): Reading[] {
    return this.#curves.flatMap((curve, r) => {
      if (curve === undefined) return [];
      const run = this.#runs[r]!, metric = run.right ?? this.metric;
      const at = curve.steps.findLastIndex((one) => one <= step);
      const value = curve.values[at], smooth = isSmoothed(curve) ? curve.smooth![at] : null;
      if (at < 0 || value === null || value === undefined) return [];
      return [{
        run,
        value: metricText(metric, value),
        smooth: smooth === null || smooth === undefined ? null : metricText(metric, smooth),
      }];
    });
  }

  /** The values at a position, the newest at null: for each run its colour, its name, its value. */
  #say(index: number | null): void {
    const step = index === null ? undefined : this.#steps[index];
    const where = step === undefined ? "newest" : `${X_NAMES[this.#look.x]} ${this.#place(step)}`;
    const parts = this.#latest(step ?? Infinity), more = parts.length - MAX_KEYS;
    const nameOf = ({ index, name }: ShownRun) =>
      this.#runs.length === 1 ? nothing : html`
        ${swatch(index)}${name}
      `;
    const keys = parts.slice(0, MAX_KEYS).map(({ run, value, smooth }) => {
      const smoothed = smooth === null ? " " : ` (smoothed ${smooth}) `;
      return html`<span class="key">${nameOf(run)}<b>${value}</b>${smoothed}</span>`;
    });
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
    chart.setCursor({ left: chart.valToPos(this.#steps[index]!, "x"), top: this.height / 2 });
  }

  /** The chart as it is on the screen, with its title and the names of the runs. */
  #png(): void {
    const plot = this.#plot.querySelector("canvas");
    if (plot === null) return;
    const picture = document.createElement("canvas"), pen = picture.getContext("2d")!;
    const line = 22 * devicePixelRatio, names = this.#runs.map(({ name }) => name);
    [picture.width, picture.height] = [plot.width, plot.height + line * (names.length + 1.5)];
    pen.fillStyle = themeColor("back");
    pen.fillRect(0, 0, picture.width, picture.height);
    pen.font = `${0.65 * line}px system-ui, sans-serif`;
    [this.metric, ...names].forEach((text, i) => {
      pen.fillStyle = i === 0 ? themeColor("ink") : lineStyle(this.#runs[i - 1]!.index).color;
      pen.fillText(text, line / 2, line * (i + 0.9));
    });
    pen.drawImage(plot, 0, line * (names.length + 1.5));
    picture.toBlob((blob) => blob && save(`${this.#fileName()}.png`, blob));
  }

  #csv(): void {
    const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const rows = this.#runs.flatMap(({ name }, r) => {
      const { steps = [], values = [] } = this.#curves[r] ?? {};
      return steps.map((step, i) => `${cell(name)},${step},${values[i] ?? ""}`);
    });
    const text = [`run,${X_NAMES[this.#look.x]},${cell(this.metric)}`, ...rows].join("\n") + "\n";
    save(`${this.#fileName()}.csv`, new Blob([text], { type: "text/csv" }));
  }

  #fileName(): string {
    return this.metric.replaceAll(/\W+/g, "_");
  }
}

/** A few values, such as those of evaluations, are shown as they are. */
function isSmoothed(curve: Curve): boolean {
  return curve.smooth !== undefined && curve.steps.length > FEW;
}

/** The name of an axis with its unit. */
function labelOf(metric: string): string {
  const { unit } = metricOf(metric), name = metric.replace(/^.*\/(?=.*\/)/, "");
  return unit === "" || unit === "bytes" ? name : `${name} (${UNITS[unit] ?? unit})`;
}

function tickText(metric: string, value: number): string {
  const { unit } = metricOf(metric);
  if (unit === "share") return `${Number((100 * value).toPrecision(3))} %`;
  return unit === "bytes" ? metricText(metric, value) : short(value);
}

/** Some room above and below; equal values get a scale too. */
function rangeOf(metric: string, low: number | null, high: number | null): [number, number] {
  const [from, to] = [low ?? 0, high ?? 0], size = Math.max(Math.abs(from), Math.abs(to));
  if (to - from > 1e-6 * size) {
    const room = 0.06 * (to - from);
    return [from >= 0 ? Math.max(0, from - room) : from - room, to + room];
  }
  if (metricOf(metric).unit === "share") return [0, 1];
  return size === 0 ? [0, 1] : [from - size / 2, to + size / 2];
}
