/**
 * The most memory by phase of a run: tensors on the device while a phase runs, and beside them what the
 * device has taken for tensors (used or not) and what the process has of the machine. The device counts a peak
 * since it was last reset; here it is reset for every phase, and the run's own peak is kept.
 */
import type { Device } from "../kernels/device.ts";
import type { ClockPhase, PhaseWatcher } from "./phase_clock.ts";

export class MemoryTracker implements PhaseWatcher {
  #peak = 0;
  #lap: Partial<Record<ClockPhase, number>> = {};

  constructor(private readonly device: Device) {
    device.resetPeak();
  }

  /** Runs `work` and books the most that tensors took in it. */
  async during<T>(phase: ClockPhase, work: () => T | Promise<T>): Promise<T> {
    this.#keepPeak();
    try {
      return await work();
    } finally {
      const most = this.device.peakBytes;
      this.#lap[phase] = Math.max(this.#lap[phase] ?? 0, most);
      this.#keepPeak();
    }
  }

  /** Most bytes of tensors since this tracker was made. */
  get peakBytes(): number {
    return Math.max(this.#peak, this.device.peakBytes);
  }

  /** Bytes by phase since the last call, the run's peak, and what is taken now. */
  lap(): Record<string, number> {
    const metrics: Record<string, number> = { "memory/peak_bytes": this.peakBytes };
    for (const [phase, bytes] of Object.entries(this.#lap)) {
      metrics[`memory/${phase}_bytes`] = bytes;
    }
    this.#lap = {};
    const { reservedBytes } = this.device;
    if (reservedBytes !== undefined) metrics[`memory/${this.device.name}_bytes`] = reservedBytes;
    metrics["memory/host_bytes"] = Deno.memoryUsage().rss;
    return metrics;
  }

  #keepPeak(): void {
    this.#peak = this.peakBytes;
    this.device.resetPeak();
  }
}
