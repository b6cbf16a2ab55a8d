/**
 * Wall-clock seconds and peak memory of each phase of a run, and of the current step. Memory is
 * tensors on the device, what the device has reserved for tensors, and the memory of the process.
 * The device counts a peak since its last reset. It is reset here for every phase, and the peak of
 * the whole run is kept.
 */
import type { Device } from "../../kernels/device.ts";

/** The phases of a run that are timed, in their order. */
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

export class PhaseClock {
  readonly #totals: SecondsByPhase;
  #lap: Partial<SecondsByPhase> = {};

  readonly #started = performance.now();

  /** @param totals, earlier: the seconds of earlier sessions */
  constructor(
    totals: Partial<SecondsByPhase> = {},
    readonly memory: MemoryTracker | null = null,
    private readonly earlier = 0,
  ) {
    this.#totals = Object.fromEntries(PHASES.map((p) => [p, totals[p] ?? 0])) as SecondsByPhase;
  }

  #running = 0;

  async time<T>(phase: ClockPhase, work: () => T | Promise<T>): Promise<T> {
    const start = performance.now();
    this.#running++;
    try {
      return await (this.memory?.during(phase, work) ?? work());
    } finally {
      this.#running--;
      this.#add(phase, start);
    }
  }

  /** Some tasks of users take long. Inside a phase the time counts for that phase. */
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

  /** Of the step that began at `start`. Comparisons of runs leave out these names. */
  stepMetrics(start: number): Record<string, number> {
    const metrics: Record<string, number> = { step_time: (performance.now() - start) / 1000 };
    for (const [phase, seconds] of Object.entries(this.lap())) metrics[`time/${phase}`] = seconds;
    return { ...metrics, ...this.memory?.lap() };
  }

  seconds(): number {
    return this.earlier + (performance.now() - this.#started) / 1000;
  }

  totals(): SecondsByPhase {
    return { ...this.#totals };
  }
}

/** Minimum milliseconds between two measurements of the process, which take 0.2 ms each. */
const MEASURE_MS = 25;

export class MemoryTracker {
  #peak = 0;
  #lap: Record<string, number> = {};
  #measuredAt = 0;
  readonly #measuredPhases = new Set<ClockPhase>();

  constructor(private readonly device: Device) {
    device.resetPeak();
  }

  /** Runs `work` and records the peak of tensors in it, and the memory at its end. */
  async during<T>(phase: ClockPhase, work: () => T | Promise<T>): Promise<T> {
    this.#keepPeak();
    try {
      return await work();
    } finally {
      this.#record(`${phase}_bytes`, this.device.peakBytes);
      const { reservedBytes, name } = this.device;
      if (reservedBytes !== undefined) this.#record(`${phase}_${name}_bytes`, reservedBytes);
      if (!this.#measuredPhases.has(phase) || performance.now() - this.#measuredAt > MEASURE_MS) {
        this.#measuredPhases.add(phase);
        this.#record(`${phase}_host_bytes`, this.#hostBytes());
      }
      this.#keepPeak();
    }
  }

  get peakBytes(): number {
    return Math.max(this.#peak, this.device.peakBytes);
  }

  /** Bytes of each phase since the last call, the peak of the run, and the current memory. */
  lap(): Record<string, number> {
    const metrics: Record<string, number> = { "memory/peak_bytes": this.peakBytes, ...this.#lap };
    this.#lap = {};
    const { reservedBytes, name } = this.device;
    if (reservedBytes !== undefined) metrics[`memory/${name}_bytes`] = reservedBytes;
    metrics["memory/host_bytes"] = this.#hostBytes();
    return metrics;
  }

  #record(name: string, bytes: number): void {
    const key = `memory/${name}`;
    this.#lap[key] = Math.max(this.#lap[key] ?? 0, bytes);
  }

  #hostBytes(): number {
    this.#measuredAt = performance.now();
    return Deno.memoryUsage().rss;
  }

  #keepPeak(): void {
    this.#peak = this.peakBytes;
    this.device.resetPeak();
  }
}
