/** Curves of several runs laid over one another, live, with smoothing and zoom. */
import { html, render } from "lit-html";
import { counted } from "../../../core/counted.ts";
import type { CurvesOfRun, Overview } from "../data_routes.ts";
import type { Curve } from "../reading/metrics_file.ts";
import type { RunInfo } from "../reading/run_state.ts";
import {
  ask,
  debounced,
  Fields,
  given,
  type PageState,
  type Part,
  problemBox,
  valueOf,
  type View,
} from "./dom.ts";
import { type Look, MANY, type ShownRun, swatch } from "./chart.ts";
import { MetricCharts } from "./metric_charts.ts";

/** Number of runs that are shown when none was chosen. */
const AT_FIRST = 6;
/** With more runs than this the list of runs is closed at first. */
const OPEN_UP_TO = 12;
/** Points of all runs together in a chart, and the minimum and maximum of one run. */
const POINTS = 12_000, MIN_POINTS = 160, MAX_POINTS = 1000;
const POSITIONS = [["", "step"], ["time", "time"], ["samples", "completions"]] as const;
const SCALES = [["", "linear"], ["log", "logarithmic"]] as const;
const LINES = [["", "runs"], ["seeds", "mean and spread of seeds"]] as const;

export function curvesView(state: PageState): View {
  const { overview, parameters, remember } = state;
  const all: ShownRun[] = overview.runs.map(({ id, name }, index) => ({ id, name, index }));
  const infos = new Map(overview.runs.map((run): [string, RunInfo] => [run.id, run]));
  const chosenIds = new Set(chosenAtFirst(overview, parameters));
  const chosen = () => all.filter(({ id }) => chosenIds.has(id));
  let smoothing = Number(parameters.get("smoothing") ?? 0.6), wanted = "", failure = "";
  let range: [number, number] | null = null, hasLeft = false;
  const fields = new Fields(state, ["x", "scale", "lines"], () => {
    range = null;
    void load(chosen());
  });
  const charts = new MetricCharts(
    given(parameters, ["open", "closed", "order"]),
    zoom,
    (groups) => {
      remember({ ...groups });
      arrange();
    },
    () => void load(chosen(), "lacking"),
  );
  const answers = new CurveAnswers(() => charts.near);
  const content = document.createElement("div");

  function choose(runs: readonly ShownRun[], isChosen: boolean): void {
    for (const { id } of runs) isChosen ? chosenIds.add(id) : chosenIds.delete(id);
    remember({ runs: [...chosenIds].join(",") });
    drawPage();
    reload();
  }

  function smooth(event: Event): void {
    smoothing = Number(valueOf(event));
    remember({ smoothing: String(smoothing) });
    drawPage();
    reload();
  }

  function find(event: Event): void {
    wanted = valueOf(event).trim().toLowerCase();
    arrange();
  }

  const look = (): Look => ({
    x: (fields.values.x || "step") as Look["x"],
    isLog: fields.values.scale === "log",
    range,
  });

  function zoom(next: [number, number] | null): void {
    range = next;
    drawPage();
    void load(chosen());
  }

  /** A box for each run, with the colour of its lines. */
  function chooser(): Part {
    return html`
      <details class="chooser" ?open=${all.length <= OPEN_UP_TO}>
        <summary>Runs</summary>
        <fieldset>
          <legend class="hidden">Runs to show</legend>
          <div class="choices">
            ${all.map((run) => {
              const isChosen = chosenIds.has(run.id), toggle = () => choose([run], !isChosen);
              return html`
                <label>
                  <input type="checkbox" data-run=${run.id} .checked=${isChosen} @change=${toggle}>
                  ${swatch(run.index)}${run.name}
                </label>
              `;
            })}
            <span class="small-buttons">
              <button type="button" @click=${() => choose(all, true)}>All</button>
              <button type="button" @click=${() => choose(all, false)}>None</button>
            </span>
          </div>
        </fieldset>
      </details>
    `;
  }

  function drawPage(): void {
    const runs = chosen();
    const problems = runs.flatMap(({ id }) => answers.of(id)?.problems ?? []);
    render(
      html`
        ${problemBox(failure === "" ? problems : [failure, ...problems])} ${chooser()}
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
          ${fields.choice("x", "By", POSITIONS)} ${fields.choice("scale", "Scale", SCALES)}
          ${fields.choice("lines", "Lines", LINES)}
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

  const reload = debounced(() => void load(chosen()), 120);
  const question = (): CurveQuestion => ({
    points: pointsOfRun(chosenIds.size),
    shared: chosenIds.size > MANY ? 1 : null,
    smoothing,
    range: look().x === "step" ? range : null,
  });

  async function load(runs: readonly ShownRun[], what: Asked = "all"): Promise<void> {
    if (hasLeft) return;
    const failed = await answers.load(runs, question, what);
    if (failed === null) return;
    failure = failed;
    draw(what !== "lacking");
    // Charts may have appeared while these answers were on their way.
    if (what !== "lacking") void load(chosen(), "lacking");
  }

  /** Makes a chart for each metric of the shown runs. */
  function arrange(): void {
    const names = new Set(chosen().flatMap(({ id }) => answers.of(id)?.metrics ?? []));
    charts.arrange(names, wanted);
  }

  function draw(isAnew: boolean): void {
    arrange();
    const answerOf = (id: string) => answers.of(id), isBySeeds = fields.values.lines === "seeds";
    const shown = shownCurves(chosen(), infos, answerOf, look(), isBySeeds);
    charts.draw(shown.runs, shown.curves, look(), isAnew);
    drawPage();
  }

  drawPage();
  void load(chosen());
  return {
    title: "Curves",
    content,
    changed(changes) {
      const runs = chosen().filter(({ id }) => changes.runs.includes(id));
      if (runs.length > 0) void load(runs, "new");
    },
    redraw: () => draw(true),
    leave() {
      hasLeft = true;
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
    : `${runs.length} of ${counted(all, "run")}`;
}

// The curves of the runs that the server has sent so far.

/** Requests that run at the same time. */
const REQUESTS = 6;

/** The question about each run, besides the metrics. */
interface CurveQuestion {
  /** The most points of a curve. */
  points: number;
  /** 1: thinned curves have the same steps; null: they keep their own. */
  shared: 1 | null;
  /** 0: none. */
  smoothing: number;
  /** First and last step; null: all steps. */
  range: readonly [first: number, last: number] | null;
}

/**
 * What is asked for: curves for another question; those of runs whose files have grown; those that
 * have not been asked for yet.
 */
type Asked = "all" | "new" | "lacking";

class CurveAnswers {
  readonly #known = new Map<string, CurvesOfRun>();
  /** The number of the current question. Answers to earlier questions do not count. */
  #round = 0;

  /** @param near the metrics whose charts can be seen */
  constructor(private readonly near: () => readonly string[]) {}

  /** The newest answer of a run. */
  of(run: string): CurvesOfRun | undefined {
    return this.#known.get(run);
  }

  /**
   * Asks for the curves of these runs in all charts that can be seen; others are forgotten where
   * they are no longer right.
   * @returns what went wrong, "" for nothing; null when another question came in between
   */
  async load(
    runs: readonly ShownRun[],
    question: () => CurveQuestion,
    what: Asked,
  ): Promise<string | null> {
    if (what === "all") this.#round++;
    const round = this.#round, waiting = runs.map(({ id }) => id);
    let failure = "";
    const worker = async () => {
      for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
        const known = this.#known.get(run), isMore = what === "lacking" && known !== undefined;
        const metrics = this.near().filter((name) => !isMore || lacks(known, name));
        if (isMore && metrics.length === 0) continue;
        try {
          const { range, ...asked } = question(), [from, to] = range ?? [null, null];
          const parameters = { run, metrics: metrics.join(","), from, to, ...asked };
          const answer = await ask<CurvesOfRun>("curves", parameters);
          if (round !== this.#round) return;
          const before = isMore ? this.#known.get(run)?.curves : {};
          this.#known.set(run, { ...answer, curves: { ...before, ...answer.curves } });
        } catch (error) {
          failure = (error as Error).message;
        }
      }
    };
    await Promise.all(Array.from({ length: REQUESTS }, worker));
    return round === this.#round ? failure : null;
  }

  /** Answers that have not arrived yet will not count. */
  end(): void {
    this.#round++;
  }
}

const lacks = ({ metrics, curves }: CurvesOfRun, name: string) =>
  metrics.includes(name) && curves[name] === undefined;

// Curves by steps, time or completions, of runs or of all seeds of a configuration.

/** The lines of the charts, and the curve of each for a metric. */
interface ShownCurves {
  runs: ShownRun[];
  curves: (metric: string) => (Curve | undefined)[];
}

/**
 * @param answerOf what the server has sent of a run
 * @param bySeeds runs that differ only in seeds become one line
 */
function shownCurves(
  chosen: readonly ShownRun[],
  infos: ReadonlyMap<string, RunInfo>,
  answerOf: (id: string) => CurvesOfRun | undefined,
  { x }: Look,
  bySeeds: boolean,
): ShownCurves {
  const placed = ({ id }: ShownRun, metric: string): Curve | undefined => {
    const answer = answerOf(id), curve = answer?.curves[metric];
    if (curve === undefined || x === "step") return curve;
    const samples = infos.get(id)?.samplesPerStep ?? 1, { clock } = answer!;
    const place = (step: number) => x === "samples" ? step * samples : valueAt(clock, step) ?? 0;
    return { ...curve, steps: curve.steps.map(place) };
  };
  if (!bySeeds) {
    return { runs: [...chosen], curves: (metric) => chosen.map((run) => placed(run, metric)) };
  }
  const families = [...Map.groupBy(chosen, ({ id }) => infos.get(id)?.family ?? id).values()];
  return {
    runs: families.map((family) => {
      const [first] = family as [ShownRun], count = family.length;
      return count === 1 ? first : { ...first, name: `${first.name} (mean of ${count} seeds)` };
    }),
    curves: (metric) =>
      families.map((family) => {
        const curves = family.map((run) => placed(run, metric)).filter((one) => one !== undefined);
        return curves.length < 2 ? curves[0] : meanCurve(curves);
      }),
  };
}

/**
 * The mean of several curves, with one standard deviation to each side, as far as all of them go: a
 * curve that ends would make the mean jump.
 */
function meanCurve(curves: readonly Curve[]): Curve {
  const mean: Curve = { steps: [], values: [], low: [], high: [] };
  for (const step of [...new Set(curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b)) {
    const values = curves.map((curve) => valueAt(curve, step)).filter((one) => one !== null);
    if (values.length < curves.length) continue;
    const middle = values.reduce((sum, one) => sum + one, 0) / values.length;
    const squares = values.reduce((sum, one) => sum + (one - middle) ** 2, 0);
    const spread = Math.sqrt(squares / (values.length - 1));
    mean.steps.push(step);
    mean.values.push(middle);
    mean.low!.push(middle - spread);
    mean.high!.push(middle + spread);
  }
  return mean;
}

/** The smoothed value at a step, between the two nearest ones; null outside of the curve. */
function valueAt({ steps, values, smooth }: Curve, step: number): number | null {
  const of = smooth ?? values, after = steps.findIndex((one) => one >= step);
  if (after < 0) return null;
  const high = of[after] ?? null;
  if (steps[after] === step) return high;
  const low = of[after - 1] ?? null;
  if (low === null || high === null) return null;
  const [from, to] = [steps[after - 1]!, steps[after]!];
  return low + (high - low) * (step - from) / (to - from);
}
