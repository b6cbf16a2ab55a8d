/** Curves of several runs laid over one another, live, with smoothing and zoom. */
import type { Overview } from "../api.ts";
import type { PageState, View } from "./view.ts";
import type { ShownRun } from "./chart.ts";
import { CurveAnswers, type CurveQuestion } from "./curve_answers.ts";
import { debounced, field, h, problemBox } from "./dom.ts";
import { MetricCharts } from "./metric_charts.ts";
import { RunChooser } from "./run_chooser.ts";

/** Number of runs that are shown when none was chosen. */
const AT_FIRST = 6;
/** Points of all runs together in a chart, and the minimum and maximum of one run. */
const POINTS = 9000, MIN_POINTS = 120, MAX_POINTS = 700;

export function curvesView({ overview, parameters, remember }: PageState): View {
  const all: ShownRun[] = overview.runs.map(({ id, name }, index) => ({ id, name, index }));
  let smoothing = Number(parameters.get("smoothing") ?? 0.6), wanted = "";
  let range: [number, number] | null = null;

  const chooser = new RunChooser(all, chosenAtFirst(overview, parameters), (ids) => {
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
  const answers = new CurveAnswers(() => charts.open, arrange);
  const problems = h("div"), note = h("p", { class: "note", role: "status" });
  const smoother = smoothingSlider(smoothing, (value) => {
    smoothing = value;
    remember({ smoothing: String(value) });
    reload();
  });
  const search = searchBox((text) => {
    wanted = text;
    arrange();
    reload();
  });
  const reset = h("button", { type: "button", onclick: () => zoom(null) }, "All steps");
  reset.disabled = true;

  function zoom(next: [number, number] | null): void {
    range = next;
    reset.disabled = next === null;
    void load(chooser.chosen);
  }

  const reload = debounced(() => void load(chooser.chosen), 120);
  const question = (): CurveQuestion => ({
    points: pointsOfRun(chooser.chosen.length),
    smoothing,
    range,
  });

  /** @param isAnew what is asked has changed, so that earlier answers are worth nothing */
  async function load(runs: readonly ShownRun[], isAnew = true): Promise<void> {
    const failure = await answers.load(runs, question, isAnew);
    if (failure !== null) draw(failure);
  }

  /** Makes a chart for each metric of the shown runs. */
  function arrange(): void {
    const names = new Set(chooser.chosen.flatMap(({ id }) => answers.of(id)?.metrics ?? []));
    charts.arrange(names, wanted);
  }

  function draw(failure: string): void {
    const runs = chooser.chosen;
    arrange();
    charts.draw(runs, (metric) => runs.map(({ id }) => answers.of(id)?.curves[metric]));
    note.textContent = progressNote(runs, answers, all.length);
    const box = problemBox([
      ...(failure === "" ? [] : [failure]),
      ...runs.flatMap(({ id }) => answers.of(id)?.problems ?? []),
    ]);
    problems.replaceChildren(...(box === null ? [] : [box]));
  }

  void load(chooser.chosen);
  const controls = h("div", { class: "controls" }, smoother, field("Metrics", search), reset);
  return {
    title: "Curves",
    element: h("div", {}, problems, chooser.element, controls, note, charts.element),
    changed({ metrics }) {
      const runs = chooser.chosen.filter(({ id }) => metrics.includes(id));
      if (runs.length > 0) void load(runs, false);
    },
    redraw() {
      chooser.draw();
      charts.redraw();
    },
    leave() {
      answers.end();
      charts.destroy();
    },
  };
}

/** The runs that the address names, or the newest. */
function chosenAtFirst({ runs }: Overview, parameters: URLSearchParams): string[] {
  const asked = parameters.get("runs")?.split(",").filter((id) =>
    runs.some((run) => run.id === id)
  );
  if (asked?.length) return asked;
  const newest = runs.toSorted((a, b) => (b.lastSign ?? "").localeCompare(a.lastSign ?? ""));
  return newest.slice(0, AT_FIRST).map(({ id }) => id);
}

/** How many points a curve may have when so many runs are shown. */
function pointsOfRun(runs: number): number {
  return Math.round(Math.max(MIN_POINTS, Math.min(MAX_POINTS, POINTS / Math.max(1, runs))));
}

/** How far the runs are read. */
function progressNote(runs: readonly ShownRun[], answers: CurveAnswers, all: number): string {
  if (runs.length === 0) return "No run is chosen.";
  const rest = runs.filter(({ id }) => answers.of(id)?.complete !== true).length;
  return rest > 0
    ? `A first look at ${runs.length} runs; all steps of ${rest} of them are being read …`
    : `${runs.length} of ${all} run${all === 1 ? "" : "s"}`;
}

/** @param changed called with what the user sets, from 0 to 0.99 */
function smoothingSlider(value: number, changed: (value: number) => void): HTMLElement {
  const output = h("output", {}, value.toFixed(2));
  const slider = h("input", { type: "range", min: 0, max: 0.99, step: 0.01, value });
  slider.addEventListener("input", () => {
    const now = Number(slider.value);
    output.textContent = now.toFixed(2);
    changed(now);
  });
  return h("label", {}, h("span", {}, "Smoothing ", output), slider);
}

/** @param changed called with what the user wrote, in small letters */
function searchBox(changed: (text: string) => void): HTMLElement {
  const search = h("input", { type: "search" });
  search.addEventListener("input", () => changed(search.value.trim().toLowerCase()));
  return search;
}
