/**
 * Records the jobs of operations without running them, and sorts them into stages. The jobs of one
 * operation are in consecutive stages. An operation begins after the last stage of all operations
 * that write one of its tensors or read one of its outputs; so q, k and v are computed in one
 * stage. Views of one memory block count as the same tensor.
 *
 * Operations that read tensors on the host, or use weights outside the shared memory, cannot be
 * recorded.
 */
import type { ComputeDtype } from "../../ops/common/compute_dtype.ts";
import type { Tensor } from "../../tensor.ts";
import { MAX_JOBS } from "./control.ts";
import type { PlacedJob } from "./program.ts";
import type { WasmContext, WasmJob } from "../../ops/common/wasm_op.ts";

/** Thrown when an operation cannot be recorded. */
export class Unrecordable extends Error {}

/** The device, as the recorder uses it. */
export interface RecorderHost {
  readonly threads: number;
  readonly computeDtype: ComputeDtype;
  readonly steady: boolean;
  /** Address of a tensor, or null when it is outside the shared memory. */
  addressOf(tensor: Tensor): number | null;
  /** The tensor that this is a view of. */
  baseOf(tensor: Tensor): Tensor;
  allocate(bytes: number): number;
  /** As {@link ThreadPool.place}. */
  place(job: WasmJob, addressOf: (tensor: Tensor) => number): PlacedJob;
}

/** A block of scratch; `until` is the last stage that uses it. */
interface ScratchBlock {
  address: number;
  bytes: number;
  until: number;
}

export class Recorder implements WasmContext {
  readonly threads: number;
  readonly computeDtype: ComputeDtype;
  readonly steady: boolean;
  readonly stages: PlacedJob[][] = [];
  /** The last stages that write and read each tensor. The key is the base tensor of views. */
  readonly tensors = new Map<Tensor, { written: number; read: number }>();
  readonly scratches: ScratchBlock[] = [];
  /** First stage of the current operation, and the stage of its next job. */
  #begin = 0;
  #next = 0;

  constructor(private readonly host: RecorderHost) {
    this.threads = host.threads;
    this.computeDtype = host.computeDtype;
    this.steady = host.steady;
  }

  /** Records an operation. @param touched its tensors, each with whether it is written */
  operation(touched: Iterable<readonly [Tensor, boolean]>, implementation: () => void): void {
    const uses = [...touched].map(([tensor, writes]) => {
      const base = this.host.baseOf(tensor);
      const use = this.tensors.get(base) ?? { written: -1, read: -1 };
      this.tensors.set(base, use);
      return { use, writes };
    });
    let after = -1;
    for (const { use: { written, read }, writes } of uses) {
      after = Math.max(after, written, writes ? read : -1);
    }
    this.#begin = this.#next = after + 1;
    implementation();
    const last = this.#next - 1;
    for (const { use, writes } of uses) {
      if (writes) use.written = Math.max(use.written, last);
      else use.read = Math.max(use.read, last);
    }
    for (const block of this.scratches) if (block.until === Infinity) block.until = last;
  }

  parallel(job: WasmJob): void {
    if (job.units === 0) return;
    while ((this.stages[this.#next]?.length ?? 0) === MAX_JOBS) this.#next++;
    const placed = this.host.place(job, (tensor) => this.pointer(tensor));
    (this.stages[this.#next++] ??= []).push(placed);
  }

  scratch(bytes: number): number {
    const free = this.scratches.filter((block) =>
      block.bytes >= bytes && block.until < this.#begin
    );
    const best = free.sort((a, b) => a.bytes - b.bytes)[0];
    if (best !== undefined) {
      best.until = Infinity;
      return best.address;
    }
    const address = this.host.allocate(bytes);
    this.scratches.push({ address, bytes, until: Infinity });
    return address;
  }

  mark(): number {
    return 0;
  }

  /** Does nothing: an operation keeps its scratch until its end. */
  release(): void {}

  pointer(tensor: Tensor): number {
    const address = this.host.addressOf(tensor);
    if (address === null) throw new Unrecordable(`${tensor.label} lies outside the shared memory`);
    return address;
  }

  u32(tensor: Tensor): never {
    throw new Unrecordable(`${tensor.label} is read on the host`);
  }

  f32(tensor: Tensor): never {
    return this.u32(tensor);
  }
}
