/** Curves of several runs laid over one another, live, with smoothing and zoom. */
import type { CurvesOfRun, Overview } from "../api.ts";
import { debounced, field, h, type PageState, problemBox, type View } from "./dom.ts";
import { type ShownRun, swatch } from "./chart.ts";
import { MetricCharts } from "./metric_charts.ts";
import { ask } from "./server.ts";

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

// The curves of the runs, as far as the server has told them.

/** Requests that run at the same time. */
const REQUESTS = 6;

/** What is asked about each run, besides the metrics. */
interface CurveQuestion {
  /** The most points of a curve. */
  points: number;
  /** 0: none. */
  smoothing: number;
  /** First and last step; null: all steps. */
  range: readonly [first: number, last: number] | null;
}

class CurveAnswers {
  readonly #known = new Map<string, CurvesOfRun>();
  /** Counts the questions. Answers to an earlier one are worth nothing. */
  #round = 0;
  #isEnded = false;

  /**
   * @param openMetrics the metrics whose charts are open
   * @param foundMetrics called when a run's first answer says which metrics it has
   */
  constructor(
    private readonly openMetrics: () => readonly string[],
    private readonly foundMetrics: () => void,
  ) {}

  /** The newest answer of a run. */
  of(run: string): CurvesOfRun | undefined {
    return this.#known.get(run);
  }

  /**
   * Asks for the curves of these runs in all open charts.
   * @param isAnew whether what is asked has changed
   * @returns what went wrong, "" for nothing; null when another question came in between
   */
  async load(
    runs: readonly ShownRun[],
    question: () => CurveQuestion,
    isAnew: boolean,
  ): Promise<string | null> {
    if (isAnew) this.#round++;
    const round = this.#round, waiting = [...runs];
    const isOutdated = () => round !== this.#round || this.#isEnded;
    let failure = "";
    const worker = async () => {
      for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
        try {
          const answer = await this.#ask(run.id, question());
          if (isOutdated()) return;
          if (this.#keep(answer)) waiting.unshift(run);
        } catch (error) {
          failure = (error as Error).message;
        }
      }
    };
    await Promise.all(Array.from({ length: REQUESTS }, worker));
    return isOutdated() ? null : failure;
  }

  /** Answers that are still on their way are worth nothing. */
  end(): void {
    this.#isEnded = true;
  }

  #ask(run: string, { points, smoothing, range }: CurveQuestion): Promise<CurvesOfRun> {
    const [from, to] = range ?? [null, null];
    const metrics = this.openMetrics().join(",");
    return ask<CurvesOfRun>("curves", { run, metrics, points, smoothing, from, to });
  }

  /** @returns whether the run must be asked again: charts were opened for it */
  #keep(answer: CurvesOfRun): boolean {
    const isFirst = !this.#known.has(answer.run);
    this.#known.set(answer.run, answer);
    // The first answer says which metrics there are, the next one has their curves.
    if (!isFirst || answer.metrics.length === 0) return false;
    this.foundMetrics();
    return this.openMetrics().some((name) => answer.metrics.includes(name) && !answer.curves[name]);
  }
}

// Chooses the runs whose curves are shown: a box for each, with the colour of its lines.

/** With more runs than this the list is closed at first. */
const OPEN_UP_TO = 12;

class RunChooser {
  readonly element: HTMLElement;
  readonly #all: readonly ShownRun[];
  readonly #chosen: Set<string>;
  readonly #changed: (ids: readonly string[]) => void;
  readonly #choices = h("div", { class: "choices" });

  /**
   * @param chosen the ids that are chosen at first
   * @param changed called with the ids after a choice of the user
   */
  constructor(
    all: readonly ShownRun[],
    chosen: Iterable<string>,
    changed: (ids: readonly string[]) => void,
  ) {
    this.#all = all;
    this.#chosen = new Set(chosen);
    this.#changed = changed;
    const button = (text: string, onclick: () => void) =>
      h("button", { type: "button", onclick }, text);
    this.element = h(
      "details",
      { class: "chooser", open: all.length <= OPEN_UP_TO },
      h("summary", {}, "Runs"),
      h(
        "fieldset",
        {},
        h("legend", { class: "hidden" }, "Runs to show"),
        this.#choices,
        h(
          "p",
          {},
          button("All", () => this.#choose(all, [])),
          " ",
          button("None", () => this.#choose([], all)),
        ),
      ),
    );
    this.draw();
  }

  /** The chosen runs, in the order of all. */
  get chosen(): readonly ShownRun[] {
    return this.#all.filter(({ id }) => this.#chosen.has(id));
  }

  /** Draws the boxes, in the colours of the theme. */
  draw(): void {
    this.#choices.replaceChildren(...this.#all.map((run) => {
      const box = h("input", { type: "checkbox", "data-run": run.id });
      box.checked = this.#chosen.has(run.id);
      box.addEventListener(
        "change",
        () => this.#choose(box.checked ? [run] : [], box.checked ? [] : [run]),
      );
      return h("label", {}, box, swatch(run.index), run.name);
    }));
  }

  #choose(added: readonly ShownRun[], removed: readonly ShownRun[]): void {
    for (const { id } of added) this.#chosen.add(id);
    for (const { id } of removed) this.#chosen.delete(id);
    for (const box of this.#choices.querySelectorAll<HTMLInputElement>("input")) {
      box.checked = this.#chosen.has(box.dataset["run"]!);
    }
    this.#changed([...this.#chosen]);
  }
}
