/**
 * The most memory by phase of a run: tensors on the device while a phase runs, and beside them what
 * the device has taken for tensors (used or not) and what the process has of the machine. The
 * device counts a peak since it was last reset; here it is reset for every phase, and the run's own
 * peak is kept.
 */
import type { Device } from "../../kernels/device.ts";
import type { ClockPhase, PhaseWatcher } from "./phase_clock.ts";

/**
 * The system is asked after the process at most so often while phases are short: an answer takes
 * 0.2 ms.
 */
const ASK_MS = 25;

export class MemoryTracker implements PhaseWatcher {
  #peak = 0;
  #lap: Record<string, number> = {};
  #asked = 0;
  readonly #seen = new Set<ClockPhase>();

  constructor(private readonly device: Device) {
    device.resetPeak();
  }

  /** Runs `work` and books the most that tensors took in it, and what is taken at its end. */
  async during<T>(phase: ClockPhase, work: () => T | Promise<T>): Promise<T> {
    this.#keepPeak();
    try {
      return await work();
    } finally {
      this.#book(`${phase}_bytes`, this.device.peakBytes);
      const { reservedBytes, name } = this.device;
      if (reservedBytes !== undefined) this.#book(`${phase}_${name}_bytes`, reservedBytes);
      if (!this.#seen.has(phase) || performance.now() - this.#asked > ASK_MS) {
        this.#seen.add(phase);
        this.#book(`${phase}_host_bytes`, this.#hostBytes());
      }
      this.#keepPeak();
    }
  }

  /** Most bytes of tensors since this tracker was made. */
  get peakBytes(): number {
    return Math.max(this.#peak, this.device.peakBytes);
  }

  /** Bytes by phase since the last call, the run's peak, and what is taken now. */
  lap(): Record<string, number> {
    const metrics: Record<string, number> = { "memory/peak_bytes": this.peakBytes, ...this.#lap };
    this.#lap = {};
    const { reservedBytes, name } = this.device;
    if (reservedBytes !== undefined) metrics[`memory/${name}_bytes`] = reservedBytes;
    metrics["memory/host_bytes"] = this.#hostBytes();
    return metrics;
  }

  #book(name: string, bytes: number): void {
    const key = `memory/${name}`;
    this.#lap[key] = Math.max(this.#lap[key] ?? 0, bytes);
  }

  #hostBytes(): number {
    this.#asked = performance.now();
    return Deno.memoryUsage().rss;
  }

  #keepPeak(): void {
    this.#peak = this.peakBytes;
    this.device.resetPeak();
  }
}
