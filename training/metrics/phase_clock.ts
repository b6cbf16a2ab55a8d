/**
 * Wall-clock seconds of each phase of a run, and of the current step.
 */

export const PHASES = [
  "problems",
  "generate",
  "score",
  "forward_backward",
  "optimizer",
  "eval",
  "checkpoint",
] as const;
/** A phase of a run whose time is measured. */
export type ClockPhase = typeof PHASES[number];
/** Seconds of each phase of a run: sampling, scoring, training and others. */
export type SecondsByPhase = Record<ClockPhase, number>;

/** Wraps the work of each phase, for example to profile it. */
export interface PhaseWatcher {
  during<T>(phase: ClockPhase, work: () => T | Promise<T>): Promise<T>;
}

export class PhaseClock {
  readonly #totals: SecondsByPhase;
  #lap: Partial<SecondsByPhase> = {};

  /** @param totals the totals of earlier sessions */
  constructor(
    totals: Partial<SecondsByPhase> = {},
    private readonly watcher: PhaseWatcher | null = null,
  ) {
    this.#totals = Object.fromEntries(PHASES.map((p) => [p, totals[p] ?? 0])) as SecondsByPhase;
  }

  /** Phases that are running. */
  #running = 0;

  /** Runs `work` and adds its time to the phase. */
  async time<T>(phase: ClockPhase, work: () => T | Promise<T>): Promise<T> {
    const start = performance.now();
    this.#running++;
    try {
      return await (this.watcher?.during(phase, work) ?? work());
    } finally {
      this.#running--;
      this.#add(phase, start);
    }
  }

  /**
   * Makes a training problem, which takes long for a task of a user's file. Within a phase its time
   * is that phase's.
   */
  problem<T>(make: () => T): T {
    const start = performance.now();
    try {
      return make();
    } finally {
      if (this.#running === 0) this.#add("problems", start);
    }
  }

  #add(phase: ClockPhase, start: number): void {
    const seconds = (performance.now() - start) / 1000;
    this.#totals[phase] += seconds;
    this.#lap[phase] = (this.#lap[phase] ?? 0) + seconds;
  }

  /** Seconds of each phase since the last call, that is, of one step. */
  lap(): Partial<SecondsByPhase> {
    const lap = this.#lap;
    this.#lap = {};
    return lap;
  }

  totals(): SecondsByPhase {
    return { ...this.#totals };
  }
}
