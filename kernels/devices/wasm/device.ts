/**
 * The CPU device. Tensors are in one shared WebAssembly memory, kernels are compiled from C, and
 * one thread per core shares the work. Operations have finished when `run` returns. Float precision
 * is f32.
 *
 * Pointers have 32 bits, so the memory has at most 4 GiB. Weights that operations only read use at
 * most half of it. Further weights are in ordinary host memory, and each operation that reads one
 * copies it in.
 */
import { bytesText } from "../../../core/bytes.ts";
import { RgxError, UsageError } from "../../../core/errors.ts";
import { requirePermissions } from "../../../core/machine/permissions.ts";
import type { Device, Recording } from "../../device.ts";
import { checkRange, checkView, type DType, type HostArray, type Tensor } from "../../tensor.ts";
import type { Ops } from "../../ops/ops.ts";
import type { ComputeDtype } from "../../ops/common/compute_dtype.ts";
import { type NativeChoice, nativeChoice } from "../../native/choice.ts";
import wasmBytes from "../../native/wasm.wasm" with { type: "bytes" };
import { profileByEnvironment } from "../profile.ts";
import { TensorBytes } from "../tensor_bytes.ts";
import { validateOp } from "../../validation/validate.ts";
import { MAX_WEIGHT_ROOM, WasmMemory } from "./memory.ts";
import { wasmOps } from "./op_table.ts";
import type { Recorder } from "./recorder.ts";
import { Recordings } from "./recording.ts";
import { ThreadPool } from "./thread_pool.ts";
import { defaultThreads, MAX_THREADS } from "./threads.ts";
import type { WasmContext, WasmJob, WasmOp } from "../../ops/common/wasm_op.ts";

export interface WasmDeviceOptions {
  /** Number of threads, including the calling one; default {@link defaultThreads}. */
  threads?: number;
  /** Compiled kernels that replace the built-in ones (tests). No native kernel is used then. */
  module?: WebAssembly.Module;
  /** Whether native kernels may be used; by default where they can be (RGX_NATIVE). */
  native?: boolean;
  /** Maximum bytes of weights in the shared memory; default MAX_WEIGHT_ROOM. */
  weightRoom?: number;
}

class WasmTensor implements Tensor {
  constructor(
    readonly device: WasmDevice,
    readonly memory: WasmMemory,
    readonly dtype: DType,
    readonly address: number,
    readonly length: number,
    readonly label: string,
    /** The tensor that this is a view of; null when it is no view. */
    readonly base: WasmTensor | null,
    /** The elements, if they are outside the shared memory; `address` is then 0. */
    readonly host: Float32Array | Uint32Array | null = null,
  ) {}

  /** `storage` and `offset` give the place of the elements to the overlap check of `validateOp`. */
  get storage(): object {
    return this.host === null ? this.memory : this.host.buffer;
  }

  get offset(): number {
    return this.host === null ? this.address / 4 : this.host.byteOffset / 4;
  }

  view(offset: number, length: number): Tensor {
    checkView(this, offset, length);
    const { device, memory, dtype, label, host } = this, base = this.base ?? this;
    const address = host === null ? this.address + 4 * offset : 0;
    const part = host?.subarray(offset, offset + length) ?? null;
    return new WasmTensor(device, memory, dtype, address, length, label, base, part);
  }
}

/** See {@link createWasmDevice}. */
export class WasmDevice extends TensorBytes implements Device, WasmContext {
  readonly name = "wasm";
  readonly float = "f32";
  readonly threads: number;
  readonly tiles: string;
  readonly bf16Unit: string;
  computeDtype: ComputeDtype = "float32";
  steady = false;
  beforeRun: (() => void) | null = null;
  readonly #memory = new WasmMemory();
  readonly #pool: ThreadPool;
  readonly #live = new Set<WasmTensor>();
  readonly #weights = new Set<WasmTensor>();
  /** Bytes of weights inside and outside the shared memory. */
  #weightsInside = 0;
  #weightsOutside = 0;
  #closed = false;
  /** Addresses of the scratch blocks of the running operation. */
  readonly #scratch: number[] = [];
  /** Weights from outside that the running operation has copied in: address and scratch index. */
  readonly #copiedIn = new Map<WasmTensor, { address: number; scratch: number }>();
  #threadScratch = { address: 0, bytes: 0 };
  #recorder: Recorder | null = null;
  readonly #recordings: Recordings;

  constructor(
    module: WebAssembly.Module,
    threads: number,
    native: NativeChoice,
    public weightRoom = MAX_WEIGHT_ROOM,
  ) {
    super();
    this.threads = threads;
    this.tiles = native.text;
    this.bf16Unit = native.bf16Text;
    this.#pool = new ThreadPool({ module, native: native.code }, this.#memory, threads);
    this.#recordings = new Recordings(this.#memory, this.#pool);
  }

  create(dtype: DType, length: number, label: string, use?: "weight"): Tensor {
    this.#mustBeOpen();
    this.#mustNotRecord();
    if (!Number.isInteger(length) || length < 0) {
      throw new RangeError(`tensor "${label}" cannot have ${length} elements`);
    }
    const bytes = 4 * length;
    if (use === "weight" && this.#weightsInside + bytes > this.weightRoom) {
      return this.#createOutside(dtype, length, label);
    }
    const fresh = this.#memory.fresh;
    const address = this.#memory.allocate(bytes, label);
    const used = Math.min(fresh, address + bytes) - address;
    if (used > 0) {
      const units = Math.ceil(used / 64);
      this.parallel({ kernel: "zero", units, grain: 65536, args: { target: address } });
    }
    const tensor = new WasmTensor(this, this.#memory, dtype, address, length, label, null);
    if (use === "weight") {
      this.#weights.add(tensor);
      this.#weightsInside += bytes;
    }
    this.#add(tensor);
    return tensor;
  }

  #createOutside(dtype: DType, length: number, label: string): Tensor {
    let host: Float32Array | Uint32Array;
    try {
      host = dtype === "u32" ? new Uint32Array(length) : new Float32Array(length);
    } catch (cause) {
      const size = bytesText(4 * length);
      throw new RgxError(`out of memory: ${size} for "${label}" do not fit`, { cause });
    }
    const tensor = new WasmTensor(this, this.#memory, dtype, 0, length, label, null, host);
    this.#weightsOutside += 4 * length;
    this.#add(tensor);
    return tensor;
  }

  #add(tensor: WasmTensor): void {
    this.#live.add(tensor);
    this.countBytes(4 * tensor.length);
  }

  write(tensor: Tensor, data: HostArray, offset = 0): void {
    const { address, dtype, host } = this.#checked(tensor);
    this.#mustNotRecord();
    checkRange(tensor, offset, data.length, "write");
    if ((dtype === "u32") !== (data instanceof Uint32Array)) {
      throw new TypeError(`write of ${data.constructor.name} to ${dtype} tensor "${tensor.label}"`);
    }
    if (host !== null) {
      host.set(data, offset);
      return;
    }
    const start = address + 4 * offset;
    if (data instanceof Uint32Array) this.#memory.u32(start, data.length).set(data);
    else this.#memory.f32(start, data.length).set(data);
  }

  // deno-lint-ignore require-await -- an async function turns errors into rejections
  async read(tensor: Tensor, offset = 0, length = tensor.length - offset): Promise<HostArray> {
    const { address, dtype, host } = this.#checked(tensor);
    this.#mustNotRecord();
    checkRange(tensor, offset, length, "read");
    if (host !== null) return host.slice(offset, offset + length);
    const start = address + 4 * offset;
    return dtype === "u32"
      ? new Uint32Array(this.#memory.u32(start, length))
      : new Float32Array(this.#memory.f32(start, length));
  }

  direct(tensor: Tensor): Float32Array {
    this.#mustNotRecord();
    return this.f32(tensor);
  }

  free(tensor: Tensor): void {
    const checked = this.#checked(tensor);
    this.#mustNotRecord();
    if (checked.base !== null) {
      throw new Error(`"${tensor.label}" is a view; free the tensor it belongs to`);
    }
    this.#live.delete(checked);
    this.#recordings.dropWith(checked);
    const bytes = 4 * checked.length;
    this.countBytes(-bytes);
    if (checked.host !== null) {
      this.#weightsOutside -= bytes;
      return;
    }
    this.#memory.free(checked.address);
    if (this.#weights.delete(checked)) this.#weightsInside -= bytes;
  }

  run<K extends keyof Ops>(op: K, args: Ops[K]): void {
    this.#mustBeOpen();
    const recorder = this.#recorder;
    if (recorder === null) this.beforeRun?.();
    const call = validateOp(op, args, this.computeDtype);
    const implementation: WasmOp<Ops[K]> = wasmOps[op];
    if (recorder !== null) {
      recorder.operation(call.touched(), () => implementation(args, recorder));
      return;
    }
    try {
      implementation(args, this);
    } finally {
      this.release(0);
    }
  }

  record(work: () => void): Recording | null {
    this.#mustBeOpen();
    this.#mustNotRecord();
    const host = {
      threads: this.threads,
      computeDtype: this.computeDtype,
      steady: this.steady,
      addressOf: (tensor: Tensor) => {
        const { host, address } = this.#checked(tensor);
        return host === null ? address : null;
      },
      baseOf: (tensor: Tensor) => this.#checked(tensor).base ?? tensor,
    };
    return this.#recordings.make(host, () => this.#beforeRun(), (recorder) => {
      this.#recorder = recorder;
      try {
        work();
      } finally {
        this.#recorder = null;
      }
    });
  }

  /** The checks before a recording runs. */
  #beforeRun(): void {
    this.#mustBeOpen();
    this.#mustNotRecord();
    this.beforeRun?.();
  }

  submit(): void {}

  get reservedBytes(): number {
    return this.#memory.memory.buffer.byteLength + this.#weightsOutside;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pool.close();
    this.#live.clear();
    this.#weights.clear();
    this.#recordings.clear();
    this.countBytes(-this.allocatedBytes);
  }

  /** Starts the threads and waits until they run; only measurements and tests need it. */
  ready(): Promise<void> {
    return this.#pool.ready();
  }

  /**
   * The address of a tensor's elements. A weight outside the shared memory is first copied to
   * scratch, where it stays until this scratch is released.
   */
  pointer(tensor: Tensor): number {
    const checked = this.#checked(tensor), { address, host, length } = checked;
    if (host === null) return address;
    const copied = this.#copiedIn.get(checked);
    if (copied !== undefined) return copied.address;
    const copy = this.scratch(4 * length);
    if (host instanceof Uint32Array) this.#memory.u32(copy, length).set(host);
    else this.#memory.f32(copy, length).set(host);
    this.#copiedIn.set(checked, { address: copy, scratch: this.#scratch.length - 1 });
    return copy;
  }

  u32(tensor: Tensor): Uint32Array {
    const { address, host, length } = this.#checked(tensor);
    return host instanceof Uint32Array ? host : this.#memory.u32(address, length);
  }

  f32(tensor: Tensor): Float32Array {
    const { address, host, length } = this.#checked(tensor);
    return host instanceof Float32Array ? host : this.#memory.f32(address, length);
  }

  scratch(bytes: number): number {
    const address = this.#memory.allocate(bytes, "scratch of an operation");
    this.#scratch.push(address);
    return address;
  }

  mark(): number {
    return this.#scratch.length;
  }

  release(mark: number): void {
    while (this.#scratch.length > mark) this.#memory.free(this.#scratch.pop()!);
    for (const [tensor, { scratch }] of this.#copiedIn) {
      if (scratch >= mark) this.#copiedIn.delete(tensor);
    }
  }

  parallel(job: WasmJob): void {
    this.#pool.run(this.#pool.place(job, this.#addressOf), this.#threadScratchAt);
  }

  readonly #addressOf = (tensor: Tensor): number => this.pointer(tensor);

  readonly #threadScratchAt = (bytesPerThread: number): number => {
    const bytes = bytesPerThread * this.threads;
    if (this.#threadScratch.bytes < bytes) {
      if (this.#threadScratch.bytes > 0) this.#memory.free(this.#threadScratch.address);
      this.#threadScratch = { address: 0, bytes: 0 };
      this.#threadScratch = { address: this.#memory.allocate(bytes, "thread scratch"), bytes };
    }
    return this.#threadScratch.address;
  };

  #checked(tensor: Tensor): WasmTensor {
    this.#mustBeOpen();
    if (!(tensor instanceof WasmTensor) || tensor.device !== this) {
      throw new TypeError(`tensor "${tensor.label}" belongs to another device`);
    }
    if (!this.#live.has(tensor.base ?? tensor)) {
      throw new Error(`tensor "${tensor.label}" was freed`);
    }
    return tensor;
  }

  #mustNotRecord(): void {
    if (this.#recorder !== null) {
      throw new Error(
        "while operations are recorded tensors are neither made, written, read nor freed",
      );
    }
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new Error("the CPU device is closed");
  }
}

const NO_NATIVE: NativeChoice = { code: null, text: "WASM tiles", bf16Text: "WASM" };

let compiled: Promise<WebAssembly.Module> | undefined;

/** The module of the built-in kernels. */
export function builtInKernels(): Promise<WebAssembly.Module> {
  return compiled ??= WebAssembly.compile(wasmBytes as Uint8Array<ArrayBuffer>);
}

/**
 * Creates a CPU device. Threads start with the first large job, so an unused device costs little.
 * @throws RgxError when no memory can be reserved; UsageError for an invalid RGX_NUM_THREADS
 */
export async function createWasmDevice(options: WasmDeviceOptions = {}): Promise<WasmDevice> {
  const threads = options.threads ?? defaultThreads();
  if (!Number.isInteger(threads) || threads < 1 || threads > MAX_THREADS) {
    throw new UsageError(
      `the CPU device cannot run with ${threads} threads, only with 1 to ${MAX_THREADS}`,
    );
  }
  // The other threads load their files themselves.
  const root = new URL("../../../", import.meta.url);
  if (threads > 1 && root.protocol === "file:") {
    requirePermissions(`a CPU device of ${threads} threads`, { name: "read", path: root });
  }
  const builtIn = await builtInKernels();
  const native = options.native === false || options.module !== undefined
    ? NO_NATIVE
    : await nativeChoice((code) => new WasmDevice(builtIn, 1, { code, text: "", bf16Text: "" }));
  const device = new WasmDevice(options.module ?? builtIn, threads, native, options.weightRoom);
  profileByEnvironment(device);
  return device;
}
