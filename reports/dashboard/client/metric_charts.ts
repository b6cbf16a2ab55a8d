/** The charts of the metrics, in groups that the user opens and closes. */
import { html, nothing, render } from "lit-html";
import type { Curve } from "../api.ts";
import { Chart, type ShownRun } from "./chart.ts";
import type { Part } from "./dom.ts";

/** Titles of the groups that the user opened and closed, joined by `|`. */
export interface OpenGroups {
  open: string;
  closed: string;
}

export class MetricCharts {
  readonly element: HTMLElement = document.createElement("div");
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
    // The groups are made again, because the browser opens and closes existing ones by itself.
    render(nothing, this.element);
    render(groupMetrics(fitting).map((group) => this.#group(group, wanted !== "")), this.element);
  }

  /** The metrics of open groups. */
  get open(): string[] {
    return [...this.element.querySelectorAll<HTMLDetailsElement>("details[open]")]
      .flatMap((group) =>
        (group.dataset["metrics"] ?? "").split(",").filter((name) => name !== "")
      );
  }

  /** Draws the charts of open groups. @param curves those of a metric, one for each run */
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
  ): Part {
    const opened = this.#opened, closed = this.#closed;
    const toggle = ({ target }: Event) => {
      if (isSearched) return;
      const isNowOpen = (target as HTMLDetailsElement).open;
      const [to, from] = isNowOpen ? [opened, closed] : [closed, opened];
      to.add(title);
      from.delete(title);
      this.toggled({ open: listed(opened), closed: listed(closed) }, isNowOpen);
    };
    return html`
      <details
        class="group"
        data-metrics=${metrics.join(",")}
        ?open=${isSearched || opened.has(title) || isOpen && !closed.has(title)}
        @toggle=${toggle}
      >
        <summary>
          <h2>${title} (${metrics.length})</h2>
        </summary>
        <div class="charts">${metrics.map((metric) => this.#chart(metric).element)}</div>
      </details>
    `;
  }

  #chart(metric: string): Chart {
    let chart = this.#charts.get(metric);
    if (chart === undefined) this.#charts.set(metric, chart = new Chart(metric, this.zoom));
    return chart;
  }
}

const listed = (titles: Set<string>) => [...titles].filter((title) => title !== "").join("|");

// Which metrics are shown together, and in what order.

interface MetricGroup {
  title: string;
  metrics: string[];
  /** Whether it is open at first. */
  isOpen: boolean;
}

const GROUPS: readonly (readonly [title: string, fits: RegExp, isOpen: boolean])[] = [
  ["Reward", /^(reward|reward_std|frac_reward_zero_std)$/, true],
  ["Held-out problems", /^eval_(greedy_)?(accuracy|mean_score|format_rate|truncated_rate)$/, true],
  ["Parts of the reward", /^rewards\/.*\/mean$/, true],
  ["Length", /^completions\/(mean_length|max_length|clipped_ratio)$/, true],
  ["KL, clipping, entropy", /^(kl|entropy|clip_ratio\/(region|low|high)_mean)$/, true],
  ["Loss", /^(loss|grad_norm|learning_rate)$/, true],
  ["Speed", /^(throughput\/tokens_per_second|step_time)$/, true],
  ["Memory", /^memory\/(peak_bytes|host_bytes|wasm_bytes)$/, true],
  ["Supervised warm start", /^sft\/(loss|entropy|grad_norm|learning_rate)$/, false],
  ["Time by phase", /^time\//, false],
];

/** The metrics in their groups; the last group has all others. */
function groupMetrics(names: readonly string[]): MetricGroup[] {
  const left = new Set(names), groups: MetricGroup[] = [];
  for (const [title, fits, isOpen] of GROUPS) {
    const metrics = names.filter((name) => fits.test(name));
    for (const name of metrics) left.delete(name);
    if (metrics.length > 0) groups.push({ title, metrics, isOpen });
  }
  if (left.size > 0) {
    groups.push({ title: "All others", metrics: [...left].sort(), isOpen: false });
  }
  return groups;
}
