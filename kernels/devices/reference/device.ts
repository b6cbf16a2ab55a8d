/**
 * The reference device: plain TypeScript on typed arrays, written for clarity and not for speed. It
 * defines the right results: sums are computed in float64 and rounded once, to the precision of the
 * tensor. Operations have finished when `run` returns. Every misuse of a tensor is an error with
 * the tensor's label.
 */
import { RgxError } from "../../../core/errors.ts";
import type { Device } from "../../device.ts";
import type { ComputeDtype } from "../../ops/common/compute_dtype.ts";
import { checkRange, type DType, type HostArray, type Tensor } from "../../tensor.ts";
import type { OpName, Ops } from "../../ops/ops.ts";
import { TensorBytes } from "../tensor_bytes.ts";
import { validateOp } from "../../validation/validate.ts";
import { REFERENCE_OPS } from "./operations.ts";
import {
  type ReferenceArray,
  ReferenceTensor,
  type Storage,
} from "../../ops/common/reference_tensor.ts";

/** @param options.float "f64" for gradient checks; default "f32", as on all other devices. */
export function createReferenceDevice(options: { float?: "f32" | "f64" } = {}): Device {
  return new ReferenceDevice(options.float ?? "f32");
}

class ReferenceDevice extends TensorBytes implements Device {
  readonly name = "reference";
  readonly threads = 1;
  computeDtype: ComputeDtype = "float32";
  beforeRun: (() => void) | null = null;
  readonly #live = new Set<Storage>();
  #closed = false;

  constructor(readonly float: "f32" | "f64") {
    super();
  }

  create(dtype: DType, length: number, label: string): Tensor {
    if (this.#closed) throw new RgxError(`tensor "${label}" is created on a closed device`);
    if (!Number.isSafeInteger(length) || length < 0) {
      throw new RgxError(`tensor "${label}": length ${length} is not a non-negative integer`);
    }
    const type = dtype === "u32" ? Uint32Array : this.float === "f64" ? Float64Array : Float32Array;
    const bytes = length * type.BYTES_PER_ELEMENT;
    let data: ReferenceArray;
    try {
      data = new type(length);
    } catch (cause) {
      throw new RgxError(`out of memory: tensor "${label}" needs ${bytes} bytes`, {
        advice: "make the batch, the sequences or the model smaller",
        cause,
      });
    }
    const storage: Storage = { freed: false, bytes };
    this.#live.add(storage);
    this.countBytes(bytes);
    return new ReferenceTensor(this, dtype, label, storage, 0, data, false);
  }

  write(tensor: Tensor, data: HostArray, offset = 0): void {
    const target = this.#checked(tensor, "write").data;
    checkRange(tensor, offset, data.length, "write");
    if ((target instanceof Uint32Array) !== (data instanceof Uint32Array)) {
      throw new RgxError(
        `write: "${tensor.label}" is ${tensor.dtype}, the data are ${data.constructor.name}`,
      );
    }
    target.set(data, offset);
  }

  // deno-lint-ignore require-await -- async, so that misuse rejects and does not throw
  async read(tensor: Tensor, offset = 0, length = tensor.length - offset): Promise<HostArray> {
    const source = this.#checked(tensor, "read").data;
    checkRange(tensor, offset, length, "read");
    return source.slice(offset, offset + length) as HostArray;
  }

  free(tensor: Tensor): void {
    const { storage, isView } = this.#checked(tensor, "free");
    if (isView) throw new RgxError(`free: "${tensor.label}" is a view; free its tensor instead`);
    if (storage.freed) throw new RgxError(`free: "${tensor.label}" is freed twice`);
    storage.freed = true;
    this.#live.delete(storage);
    this.countBytes(-storage.bytes);
  }

  run<K extends OpName>(op: K, args: Ops[K]): void {
    this.beforeRun?.();
    validateOp(op, args, this.computeDtype);
    for (const value of Object.values(args)) {
      if (typeof value === "object" && value !== null) this.#checked(value as Tensor, op);
    }
    REFERENCE_OPS[op](args, this.computeDtype);
  }

  submit(): void {
    // Nothing is ever enqueued: `run` has finished all work.
  }

  close(): void {
    for (const storage of this.#live) storage.freed = true;
    this.#live.clear();
    this.countBytes(-this.allocatedBytes);
    this.#closed = true;
  }

  #checked(tensor: Tensor, what: string): ReferenceTensor {
    if (tensor instanceof ReferenceTensor && tensor.device === this) return tensor;
    throw new RgxError(
      `${what}: tensor "${tensor.label}" belongs to another device (${tensor.device?.name})`,
    );
  }
}
