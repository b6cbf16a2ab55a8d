/**
 * Records what operations run in place of running it. Their jobs are put into stages: an operation's jobs follow one
 * another, and each operation begins as soon as all are done that write what it touches or read what it writes, so
 * that q, k and v are made in one stage. Two tensors count as one when they lie in one block.
 *
 * Left out: operations that read tensors on the host, and weights outside the shared memory; they cannot be recorded.
 */
import type { Tensor } from "../../tensor.ts";
import { MOST_JOBS } from "./control.ts";
import type { WasmContext, WasmJob } from "../../ops/common/wasm_op.ts";

/** Thrown by what cannot be recorded. */
export class Unrecordable extends Error {}

/** What a recorder needs of its device. */
export interface RecorderHost {
  readonly threads: number;
  /** Address of a tensor in the shared memory, or null when it lies elsewhere. */
  addressOf(tensor: Tensor): number | null;
  /** The tensor that this is a view of. */
  baseOf(tensor: Tensor): Tensor;
  allocate(bytes: number): number;
}

/** Shared scratch; the last stage that uses it. */
interface Lent {
  address: number;
  bytes: number;
  until: number;
}

export class Recorder implements WasmContext {
  readonly threads: number;
  readonly stages: WasmJob[][] = [];
  /** Bases of all tensors that are touched: last stage that writes them and last that reads them. */
  readonly tensors = new Map<Tensor, { written: number; read: number }>();
  readonly scratches: Lent[] = [];
  /** First stage that the operation under way may use, and the one after its last job. */
  #begin = 0;
  #next = 0;

  constructor(private readonly host: RecorderHost) {
    this.threads = host.threads;
  }

  /** Records an operation that touches these tensors. */
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
    for (const lent of this.scratches) if (lent.until === Infinity) lent.until = last;
  }

  parallel(job: WasmJob): void {
    if (job.units === 0) return;
    while ((this.stages[this.#next]?.length ?? 0) === MOST_JOBS) this.#next++;
    (this.stages[this.#next++] ??= []).push({ ...job, args: [...job.args] });
  }

  scratch(bytes: number): number {
    const free = this.scratches.filter((lent) => lent.bytes >= bytes && lent.until < this.#begin);
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

  /** What an operation has been lent it keeps to its end. */
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
