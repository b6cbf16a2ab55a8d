/** The charts of the metrics, in groups that the user opens and closes. */
import type { Curve } from "../api.ts";
import { Chart, type ShownRun } from "./chart.ts";
import { h } from "./dom.ts";
import { groupMetrics } from "./metric_groups.ts";

/** Titles of the groups that the user opened and closed, joined by `|`. */
export interface OpenGroups {
  open: string;
  closed: string;
}

export class MetricCharts {
  readonly element: HTMLElement = h("div");
  readonly #charts = new Map<string, Chart>();
  readonly #opened: Set<string>;
  readonly #closed: Set<string>;
  /** The metrics that have charts now. */
  #shown = "";

  /**
   * @param groups what the user opened and closed before
   * @param zoom called with the steps that the user selects in a chart, or null for all
   * @param toggled called when the user opens or closes a group
   */
  constructor(
    groups: OpenGroups,
    private readonly zoom: (range: [number, number] | null) => void,
    private readonly toggled: (groups: OpenGroups, isOpen: boolean) => void,
  ) {
    this.#opened = new Set(groups.open.split("|"));
    this.#closed = new Set(groups.closed.split("|"));
  }

  /** Makes a chart for each metric whose name contains `wanted`; "" = all. */
  arrange(names: Iterable<string>, wanted: string): void {
    const fitting = [...names].filter((name) => name.toLowerCase().includes(wanted));
    if (this.#shown === fitting.join()) return;
    this.#shown = fitting.join();
    this.element.replaceChildren(
      ...groupMetrics(fitting).map((group) => this.#group(group, wanted !== "")),
    );
  }

  /** The metrics of open groups. */
  get open(): string[] {
    return [...this.element.querySelectorAll<HTMLDetailsElement>("details[open]")]
      .flatMap((group) =>
        (group.dataset["metrics"] ?? "").split(",").filter((name) => name !== "")
      );
  }

  /** Draws the charts of open groups. @param curves of a metric, one for each run */
  draw(
    runs: readonly ShownRun[],
    curves: (metric: string) => readonly (Curve | undefined)[],
  ): void {
    for (const metric of this.open) this.#charts.get(metric)?.draw(runs, [...curves(metric)]);
  }

  redraw(): void {
    for (const metric of this.open) this.#charts.get(metric)?.redraw();
  }

  destroy(): void {
    for (const chart of this.#charts.values()) chart.destroy();
  }

  /** @param isSearched the user searches: all groups are open, and stay as they were afterwards */
  #group(
    { title, metrics, isOpen }: ReturnType<typeof groupMetrics>[number],
    isSearched: boolean,
  ): HTMLElement {
    const opened = this.#opened, closed = this.#closed;
    const group = h(
      "details",
      {
        class: "group",
        "data-metrics": metrics.join(","),
        open: isSearched || opened.has(title) || isOpen && !closed.has(title),
      },
      h("summary", {}, h("h2", {}, `${title} (${metrics.length})`)),
      h("div", { class: "charts" }, metrics.map((metric) => this.#chart(metric).element)),
    );
    group.addEventListener("toggle", () => {
      if (isSearched) return;
      const [to, from] = group.open ? [opened, closed] : [closed, opened];
      to.add(title);
      from.delete(title);
      this.toggled({ open: listed(opened), closed: listed(closed) }, group.open);
    });
    return group;
  }

  #chart(metric: string): Chart {
    let chart = this.#charts.get(metric);
    if (chart === undefined) this.#charts.set(metric, chart = new Chart(metric, this.zoom));
    return chart;
  }
}

const listed = (titles: Set<string>) => [...titles].filter((title) => title !== "").join("|");
