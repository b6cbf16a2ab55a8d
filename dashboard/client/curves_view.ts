/** Curves of several runs laid over one another, live, with smoothing and zoom. */
import type { CurvesOfRun } from "../api.ts";
import type { PageState, View } from "./view.ts";
import type { ShownRun } from "./chart.ts";
import { debounced, field, h, problemBox } from "./dom.ts";
import { MetricCharts } from "./metric_charts.ts";
import { RunChooser } from "./run_chooser.ts";
import { ask } from "./server.ts";

/** Number of runs that are shown when none was chosen. */
const AT_FIRST = 6;
/** Points of all runs together in a chart, and the minimum and maximum of one run. */
const POINTS = 9000, MIN_POINTS = 120, MAX_POINTS = 700;
/** Requests that run at the same time. */
const REQUESTS = 6;

export function curvesView({ overview, parameters, remember }: PageState): View {
  const all: ShownRun[] = overview.runs.map(({ id, name }, index) => ({ id, name, index }));
  const asked = parameters.get("runs")?.split(",").filter((id) => all.some((run) => run.id === id));
  const newest = overview.runs.toSorted((a, b) =>
    (b.lastSign ?? "").localeCompare(a.lastSign ?? "")
  );
  const first = asked?.length ? asked : newest.slice(0, AT_FIRST).map(({ id }) => id);
  const chooser = new RunChooser(all, first, (ids) => {
    remember({ runs: ids.join(",") });
    reload();
  });
  const charts = new MetricCharts(
    { open: parameters.get("open") ?? "", closed: parameters.get("closed") ?? "" },
    zoom,
    (groups, isOpen) => {
      remember({ ...groups });
      if (isOpen) reload();
    },
  );
  let smoothing = Number(parameters.get("smoothing") ?? 0.6), wanted = "";
  let range: [number, number] | null = null, round = 0, isGone = false;
  const answers = new Map<string, CurvesOfRun>();
  const problems = h("div"), note = h("p", { class: "note", role: "status" });
  const output = h("output", {}, smoothing.toFixed(2));
  const slider = h("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: smoothing });
  slider.addEventListener("input", () => {
    smoothing = Number(slider.value);
    output.textContent = smoothing.toFixed(2);
    remember({ smoothing: slider.value });
    reload();
  });
  const search = h("input", { type: "search" });
  search.addEventListener("input", () => {
    wanted = search.value.trim().toLowerCase();
    arrange();
    reload();
  });
  const reset = h("button", { type: "button", onclick: () => zoom(null) }, "All steps");
  reset.disabled = true;

  function zoom(next: [number, number] | null): void {
    range = next;
    reset.disabled = next === null;
    void load(shown());
  }

  const shown = () => chooser.chosen;
  const reload = debounced(() => void load(shown()), 120);

  /**
   * Asks for the curves of these runs in all open charts.
   * @param isAnew what is asked has changed, so that answers to earlier questions are worth nothing
   */
  async function load(runs: readonly ShownRun[], isAnew = true): Promise<void> {
    if (isAnew) round++;
    const number = round, waiting = [...runs];
    const points = Math.round(
      Math.max(MIN_POINTS, Math.min(MAX_POINTS, POINTS / Math.max(1, shown().length))),
    );
    let failure = "";
    const worker = async () => {
      for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
        try {
          const answer = await ask<CurvesOfRun>("curves", {
            run: run.id,
            metrics: charts.open.join(","),
            points,
            smoothing,
            from: range?.[0] ?? null,
            to: range?.[1] ?? null,
          });
          if (number !== round || isGone) return;
          const known = answers.get(run.id);
          answers.set(run.id, answer);
          // The first answer says which metrics there are, the next one has their curves.
          if (known === undefined && answer.metrics.length > 0) {
            arrange();
            if (charts.open.some((name) => answer.metrics.includes(name) && !answer.curves[name])) {
              waiting.unshift(run);
            }
          }
        } catch (error) {
          failure = (error as Error).message;
        }
      }
    };
    await Promise.all(Array.from({ length: REQUESTS }, worker));
    if (number === round && !isGone) draw(failure);
  }

  /** Makes a chart for each metric of the shown runs. */
  function arrange(): void {
    const names = new Set<string>();
    for (const { id } of shown()) {
      for (const name of answers.get(id)?.metrics ?? []) names.add(name);
    }
    charts.arrange(names, wanted);
  }

  function draw(failure = ""): void {
    const runs = shown();
    arrange();
    charts.draw(runs, (metric) => runs.map(({ id }) => answers.get(id)?.curves[metric]));
    const rest = runs.filter(({ id }) => answers.get(id)?.complete !== true).length;
    note.textContent = runs.length === 0
      ? "No run is chosen."
      : rest > 0
      ? `A first look at ${runs.length} runs; all steps of ${rest} of them are being read …`
      : `${runs.length} of ${all.length} runs`;
    const box = problemBox([
      ...(failure === "" ? [] : [failure]),
      ...runs.flatMap(({ id }) => answers.get(id)?.problems ?? []),
    ]);
    problems.replaceChildren(...(box === null ? [] : [box]));
  }

  void load(shown());
  return {
    title: "Curves",
    element: h(
      "div",
      {},
      problems,
      chooser.element,
      h(
        "div",
        { class: "controls" },
        h("label", {}, h("span", {}, "Smoothing ", output), slider),
        field("Metrics", search),
        reset,
      ),
      note,
      charts.element,
    ),
    changed({ metrics }) {
      const runs = shown().filter(({ id }) => metrics.includes(id));
      if (runs.length > 0) void load(runs, false);
    },
    redraw() {
      chooser.draw();
      charts.redraw();
    },
    leave() {
      isGone = true;
      charts.destroy();
    },
  };
}
