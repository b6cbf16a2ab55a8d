/** The curves of the runs, as far as the server has told them. */
import type { CurvesOfRun } from "../api.ts";
import type { ShownRun } from "./chart.ts";
import { ask } from "./server.ts";

/** Requests that run at the same time. */
const REQUESTS = 6;

/** What is asked about each run, besides the metrics. */
export interface CurveQuestion {
  /** The most points of a curve. */
  points: number;
  /** 0: none. */
  smoothing: number;
  /** First and last step; null: all steps. */
  range: readonly [first: number, last: number] | null;
}

export class CurveAnswers {
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
