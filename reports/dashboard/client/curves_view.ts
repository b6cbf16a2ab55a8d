/** Curves of several runs laid over one another, live, with smoothing and zoom. */
import { html, render } from "lit-html";
import type { CurvesOfRun, Overview, RunInfo } from "../api.ts";
import { choice, debounced, given, type PageState, problemBox, valueOf, type View } from "./dom.ts";
import { type Look, type ShownRun, swatch } from "./chart.ts";
import { shownCurves } from "./shown_curves.ts";
import { MetricCharts } from "./metric_charts.ts";
import { ask } from "./server.ts";

/** Number of runs that are shown when none was chosen. */
const AT_FIRST = 6;
/** Points of all runs together in a chart, and the minimum and maximum of one run. */
const POINTS = 9000, MIN_POINTS = 120, MAX_POINTS = 700;

export function curvesView({ overview, parameters, remember }: PageState): View {
  const all: ShownRun[] = overview.runs.map(({ id, name }, index) => ({ id, name, index }));
  const infos = new Map(overview.runs.map((run): [string, RunInfo] => [run.id, run]));
  let smoothing = Number(parameters.get("smoothing") ?? 0.6), wanted = "";
  const state: Record<string, string> = given(parameters, ["x", "scale", "lines"]);
  let range: [number, number] | null = null;

  const chooser = new RunChooser(all, chosenAtFirst(overview, parameters), (ids) => {
    remember({ runs: ids.join(",") });
    reload();
  });
  const charts = new MetricCharts(
    given(parameters, ["open", "closed", "order"]),
    zoom,
    (groups, isOpen) => {
      remember({ ...groups });
      if (isOpen) reload();
    },
  );
  const answers = new CurveAnswers(() => charts.open, arrange);
  const content = document.createElement("div");
  let failure = "";

  function smooth(event: Event): void {
    smoothing = Number(valueOf(event));
    remember({ smoothing: String(smoothing) });
    drawPage();
    reload();
  }

  function find(event: Event): void {
    wanted = valueOf(event).trim().toLowerCase();
    arrange();
    reload();
  }

  const set = (name: string) => (value: string) => {
    state[name] = value;
    remember({ [name]: value });
    range = null;
    void load(chooser.chosen);
  };
  const look = (): Look => ({
    x: (state["x"] || "step") as Look["x"],
    isLog: state["scale"] === "log",
    range,
  });

  function zoom(next: [number, number] | null): void {
    range = next;
    drawPage();
    void load(chooser.chosen);
  }

  function drawPage(): void {
    const runs = chooser.chosen;
    const problems = runs.flatMap(({ id }) => answers.of(id)?.problems ?? []);
    render(
      html`
        ${problemBox(failure === "" ? problems : [failure, ...problems])} ${chooser.element}
        <div class="controls">
          <label>
            <span>Smoothing <output>${smoothing.toFixed(2)}</output></span>
            <input
              type="range"
              min="0"
              max="0.99"
              step="0.01"
              value=${smoothing}
              @input=${smooth}
            >
          </label>
          ${choice(
            "By",
            [["", "step"], ["time", "time"], ["samples", "completions"]],
            state["x"]!,
            set("x"),
          )}
          ${choice(
            "Scale",
            [["", "linear"], ["log", "logarithmic"]],
            state["scale"]!,
            set("scale"),
          )}
          ${choice(
            "Lines",
            [["", "runs"], ["seeds", "mean and spread of seeds"]],
            state["lines"]!,
            set("lines"),
          )}
          <label>Metrics<input type="search" @input=${find}></label>
          <button type="button" ?disabled=${range === null} @click=${() => zoom(null)}>
            All steps
          </button>
          <span class="note" role="status">${progressNote(runs, answers, all.length)}</span>
        </div>
        ${charts.element}
      `,
      content,
    );
  }

  const reload = debounced(() => void load(chooser.chosen), 120);
  const question = (): CurveQuestion => ({
    points: pointsOfRun(chooser.chosen.length),
    smoothing,
    range: look().x === "step" ? range : null,
  });

  /** @param isAnew whether the question has changed, so that earlier answers no longer count */
  async function load(runs: readonly ShownRun[], isAnew = true): Promise<void> {
    const failed = await answers.load(runs, question, isAnew);
    if (failed === null) return;
    failure = failed;
    draw();
  }

  /** Makes a chart for each metric of the shown runs. */
  function arrange(): void {
    const names = new Set(chooser.chosen.flatMap(({ id }) => answers.of(id)?.metrics ?? []));
    charts.arrange(names, wanted);
  }

  function draw(): void {
    const runs = chooser.chosen;
    arrange();
    const shown = shownCurves(
      runs,
      infos,
      (id) => answers.of(id),
      look(),
      state["lines"] === "seeds",
    );
    charts.draw(shown.runs, shown.curves, look());
    drawPage();
  }

  drawPage();
  void load(chooser.chosen);
  return {
    title: "Curves",
    content,
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

/** Maximum number of points of a curve when this number of runs is shown. */
function pointsOfRun(runs: number): number {
  return Math.round(Math.max(MIN_POINTS, Math.min(MAX_POINTS, POINTS / Math.max(1, runs))));
}

/** The share of the runs' files that was read. */
function progressNote(runs: readonly ShownRun[], answers: CurveAnswers, all: number): string {
  if (runs.length === 0) return "No run is chosen.";
  const rest = runs.filter(({ id }) => answers.of(id)?.complete !== true).length;
  return rest > 0
    ? `A first look at ${runs.length} runs; all steps of ${rest} of them are being read …`
    : `${runs.length} of ${all} run${all === 1 ? "" : "s"}`;
}

// The curves of the runs that the server has sent so far.

/** Requests that run at the same time. */
const REQUESTS = 6;

/** The question about each run, besides the metrics. */
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
  /** The number of the current question. Answers to earlier questions do not count. */
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

  /** Answers that have not arrived yet will not count. */
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
  readonly element: HTMLElement = document.createElement("details");
  readonly #all: readonly ShownRun[];
  readonly #chosen: Set<string>;
  readonly #changed: (ids: readonly string[]) => void;

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
    this.element.className = "chooser";
    this.element.toggleAttribute("open", all.length <= OPEN_UP_TO);
    this.draw();
  }

  /** The chosen runs, in the order of all. */
  get chosen(): readonly ShownRun[] {
    return this.#all.filter(({ id }) => this.#chosen.has(id));
  }

  /** Draws the boxes, in the colours of the theme. */
  draw(): void {
    const boxes = this.#all.map((run) => {
      const isChosen = this.#chosen.has(run.id);
      const toggle = () => this.#choose([run], !isChosen);
      return html`
        <label>
          <input type="checkbox" data-run=${run.id} .checked=${isChosen} @change=${toggle}>
          ${swatch(run.index)}${run.name}
        </label>
      `;
    });
    render(
      html`
        <summary>Runs</summary>
        <fieldset>
          <legend class="hidden">Runs to show</legend>
          <div class="choices">
            ${boxes}
            <span class="small-buttons">
              <button type="button" @click=${() => this.#choose(this.#all, true)}>All</button>
              <button type="button" @click=${() => this.#choose(this.#all, false)}>None</button>
            </span>
          </div>
        </fieldset>
      `,
      this.element,
    );
  }

  #choose(runs: readonly ShownRun[], isChosen: boolean): void {
    for (const { id } of runs) {
      if (isChosen) this.#chosen.add(id);
      else this.#chosen.delete(id);
    }
    this.draw();
    this.#changed([...this.#chosen]);
  }
}
