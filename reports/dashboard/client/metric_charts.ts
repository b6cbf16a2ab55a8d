/** The charts of the metrics, in groups that the user opens and closes. */
import { html, nothing, render } from "lit-html";
import type { Curve } from "../reading/metrics_file.ts";
import { METRIC_GROUPS, metricOf } from "../../charts/metric_table.ts";
import { Chart, type Look, type ShownRun } from "./chart.ts";
import type { Part } from "./dom.ts";

/** Titles of the groups that the user opened, closed, and put first, joined by `|`. */
type Groups = Record<"open" | "closed" | "order", string>;

export class MetricCharts {
  readonly element: HTMLElement = document.createElement("div");
  readonly #charts = new Map<string, Chart>();
  readonly #opened: Set<string>;
  readonly #closed: Set<string>;
  /** Titles of groups in the order that the user has made. */
  #order: string[];
  /** The metrics that have charts now. */
  #shown = "";
  /** Metrics whose charts are on the screen or near it: others are neither asked for nor drawn. */
  readonly #near = new Set<string>();
  /** Metrics that are drawn as they are now. */
  readonly #drawn = new Set<string>();
  #frame = 0;
  readonly #observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const { metric } = (target as HTMLElement).dataset;
      this.#near[isIntersecting ? "add" : "delete"](metric!);
    }
    if (entries.some(({ isIntersecting }) => isIntersecting)) this.appeared();
  }, { rootMargin: "400px" });

  /**
   * @param groups what the user opened and closed before
   * @param zoom called with the steps that the user selects in a chart, or null for all
   * @param changed called when the user opens, closes or moves a group
   * @param appeared called when charts have come near the screen
   */
  constructor(
    groups: Groups,
    private readonly zoom: (range: [number, number] | null) => void,
    private readonly changed: (groups: Groups) => void,
    private readonly appeared: () => void,
  ) {
    this.#opened = new Set(groups.open.split("|"));
    this.#closed = new Set(groups.closed.split("|"));
    this.#order = groups.order.split("|");
  }

  /** Makes a chart for each metric whose name contains `wanted`; "" = all. */
  arrange(names: Iterable<string>, wanted: string): void {
    const fitting = [...names].filter((name) => name.toLowerCase().includes(wanted));
    if (this.#shown === fitting.join()) return;
    this.#shown = fitting.join();
    // The groups are made again, because the browser opens and closes existing ones by itself.
    render(nothing, this.element);
    const groups = groupMetrics(fitting, this.#order), titles = groups.map(({ title }) => title);
    const raise = (at: number) => {
      [titles[at - 1], titles[at]] = [titles[at]!, titles[at - 1]!];
      this.#order = titles;
      this.#shown = "";
      this.#tell();
    };
    render(
      groups.map((group, at) =>
        this.#group(group, wanted !== "", at === 0 ? null : () => raise(at))
      ),
      this.element,
    );
  }

  #tell(): void {
    const [open, closed, order] = [this.#opened, this.#closed, this.#order].map(listed);
    this.changed({ open: open!, closed: closed!, order: order! });
  }

  /** The metrics whose charts can be seen. */
  get near(): string[] {
    return [...this.#near];
  }

  /**
   * Draws the charts that can be seen, one in each frame, so that the page scrolls meanwhile.
   * @param curves those of a metric, one for each run
   * @param isAnew whether what they show has changed since they were drawn
   */
  draw(
    runs: readonly ShownRun[],
    curves: (metric: string) => readonly (Curve | undefined)[],
    look: Look,
    isAnew: boolean,
  ): void {
    if (isAnew) this.#drawn.clear();
    cancelAnimationFrame(this.#frame);
    const waiting = [...this.#near].filter((metric) => !this.#drawn.has(metric));
    const next = () => {
      const metric = waiting.shift();
      if (metric === undefined) return;
      const found = curves(metric);
      if (found.some((curve) => curve !== undefined)) this.#drawn.add(metric);
      this.#charts.get(metric)?.draw(runs, found, look);
      this.#frame = requestAnimationFrame(next);
    };
    next();
  }

  destroy(): void {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    for (const chart of this.#charts.values()) chart.destroy();
  }

  /**
   * @param isSearched the user searches: all groups are open, and stay as they were afterwards
   * @param raise puts it before the group above; null: it is the first
   */
  #group(
    { title, metrics, isOpen }: ReturnType<typeof groupMetrics>[number],
    isSearched: boolean,
    raise: (() => void) | null,
  ): Part {
    const opened = this.#opened, closed = this.#closed;
    const toggle = ({ target }: Event) => {
      if (isSearched) return;
      const isNowOpen = (target as HTMLDetailsElement).open;
      const [to, from] = isNowOpen ? [opened, closed] : [closed, opened];
      to.add(title);
      from.delete(title);
      this.#tell();
    };
    return html`
      <div class="group-box">
      <details
        class="group"
        ?open=${isSearched || opened.has(title) || isOpen && !closed.has(title)}
        @toggle=${toggle}
      >
        <summary>
          <h2>${title} (${metrics.length})</h2>
        </summary>
        <div class="charts">${metrics.map((metric) => this.#chart(metric).element)}</div>
      </details>
      ${raise === null ? nothing : html`
        <button type="button" aria-label=${`${title}: move up`} @click=${raise}>↑</button>
      `}
      </div>
    `;
  }

  #chart(metric: string): Chart {
    let chart = this.#charts.get(metric);
    if (chart === undefined) {
      this.#charts.set(metric, chart = new Chart(metric, this.zoom));
      chart.element.dataset["metric"] = metric;
      this.#observer.observe(chart.element);
    }
    return chart;
  }
}

const listed = (titles: Iterable<string>) => [...titles].filter((title) => title !== "").join("|");

// Which metrics are shown together, and in what order.

interface MetricGroup {
  title: string;
  metrics: string[];
  /** Whether it is open at first. */
  isOpen: boolean;
}

/** Groups that are closed at first. */
const CLOSED = new Set(["Supervised warm start", "Time by phase", METRIC_GROUPS.at(-1)]);

/** The metrics in their groups. @param order titles that come first */
function groupMetrics(names: readonly string[], order: readonly string[]): MetricGroup[] {
  const rank = (title: string) => {
    const at = order.indexOf(title);
    return at < 0 ? order.length + METRIC_GROUPS.indexOf(title) : at;
  };
  const sorted = names.toSorted((a, b) => metricOf(a).rank - metricOf(b).rank || (a < b ? -1 : 1));
  const groups = Map.groupBy(sorted, (name) => metricOf(name).group);
  return METRIC_GROUPS.filter((title) => groups.has(title))
    .toSorted((a, b) => rank(a) - rank(b))
    .map((title) => ({ title, metrics: groups.get(title)!, isOpen: !CLOSED.has(title) }));
}
