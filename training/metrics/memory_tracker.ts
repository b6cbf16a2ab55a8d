/**
 * The peak memory of each phase of a run: tensors on the device, what the device has reserved for
 * tensors, and the memory of the process. The device counts a peak since its last reset. It is
 * reset here for every phase, and the peak of the whole run is kept.
 */
import type { Device } from "../../kernels/device.ts";
import type { ClockPhase, PhaseWatcher } from "./phase_clock.ts";

/** Minimum milliseconds between two measurements of the process, which take 0.2 ms each. */
const MEASURE_MS = 25;

export class MemoryTracker implements PhaseWatcher {
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

  /** Peak bytes of tensors since this tracker was created. */
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
