/**
 * Measures the time of every kernel. With RGX_DEBUG=2 each dispatch is a separate pass, with a time
 * stamp of the GPU before and after it. WebGPU does not report the period of a tick, so one counts
 * as a nanosecond; this is true for NVIDIA and Mesa's lavapipe. Vulkan reports the period. Without
 * time stamps, each dispatch is submitted separately and waited for, which adds some tenths of a
 * millisecond to its time. Bytes count each tensor once, which is a lower bound of the memory
 * traffic.
 */
import type { Gpu, GpuBuffer, GpuEncoder, GpuPassDescriptor, GpuQuerySet } from "./gpu.ts";
import { mapsAtOnce } from "./quirks.ts";
import { type Time, Times } from "../times.ts";

/**
 * Dispatches between two reads of the time stamps: two stamps each, at most 4096 in a query set.
 */
const CAPACITY = 1024;

type TracedDispatch = Pick<Time, "name" | "flops" | "bytes">;

export class Tracer {
  /** The time stamps; null when the adapter has none. */
  readonly #stamps: GpuQuerySet | null;
  readonly #resolved: GpuBuffer;
  readonly #staging: GpuBuffer;
  /** Nanoseconds of a tick. */
  readonly #tick: number;
  #started = 0;
  #waiting: TracedDispatch[] = [];

  private constructor(
    device: Gpu,
    hasStamps: boolean,
    private readonly times: Times,
  ) {
    const size = 16 * CAPACITY;
    this.#stamps = hasStamps
      ? device.createQuerySet({ type: "timestamp", count: 2 * CAPACITY })
      : null;
    this.#resolved = device.createBuffer({
      size,
      usage: (this.#stamps === null ? GPUBufferUsage.COPY_DST : GPUBufferUsage.QUERY_RESOLVE) |
        GPUBufferUsage.COPY_SRC,
    });
    this.#staging = device.createBuffer({
      size,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    this.#tick = device.timestampPeriod ?? 1;
  }

  /** Creates a tracer; null when mappings must be awaited (`mapsAtOnce`), so there are no times. */
  static async create(
    device: Gpu,
    each: ((call: Time) => void) | null = null,
    useStamps = true,
  ): Promise<Tracer | null> {
    if (!mapsAtOnce()) return null;
    const hasStamps = useStamps && device.features.has("timestamp-query");
    const tracer = new Tracer(device, hasStamps, new Times(each));
    await tracer.#staging.mapAsync(GPUMapMode.READ);
    tracer.#staging.unmap();
    return tracer;
  }

  get full(): boolean {
    return this.#waiting.length === (this.#stamps === null ? 1 : CAPACITY);
  }

  /** The descriptor of the pass for the next dispatch. */
  pass(dispatch: TracedDispatch): GpuPassDescriptor {
    const at = 2 * this.#waiting.length;
    this.#waiting.push(dispatch);
    if (this.#stamps === null) return {};
    return {
      timestampWrites: {
        querySet: this.#stamps,
        beginningOfPassWriteIndex: at,
        endOfPassWriteIndex: at + 1,
      },
    };
  }

  /** Records the copy of the time stamps, before the submit. */
  resolve(encoder: GpuEncoder): void {
    const count = 2 * this.#waiting.length;
    if (count === 0) return;
    if (this.#stamps === null) {
      // Mapping the target of this copy waits for the dispatch.
      encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, 8 * count);
      this.#started = performance.now();
      return;
    }
    encoder.resolveQuerySet(this.#stamps, 0, count, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, 8 * count);
  }

  /** Reads the time stamps, after the submit; waits for the device. */
  collect(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#staging.mapAsync(GPUMapMode.READ).catch(() => {});
    let ticks: BigUint64Array;
    try {
      ticks = new BigUint64Array(this.#staging.getMappedRange(0, 16 * waiting.length).slice(0));
    } catch {
      return; // the device is lost, which is reported elsewhere
    }
    this.#staging.unmap();
    const waited = performance.now() - this.#started;
    waiting.forEach((dispatch, i) => {
      const milliseconds = this.#stamps === null
        ? waited
        : Number(ticks[2 * i + 1]! - ticks[2 * i]!) * this.#tick / 1e6;
      this.times.add({ ...dispatch, milliseconds });
    });
  }

  /** The totals of each kernel, most expensive first. */
  table(): Time[] {
    return this.times.table();
  }

  close(): void {
    this.#stamps?.destroy();
    this.#resolved.destroy();
    this.#staging.destroy();
  }
}
