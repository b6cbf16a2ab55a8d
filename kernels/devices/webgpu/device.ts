/**
 * The GPU device: WGSL kernels on Deno's WebGPU. Operations are recorded and submitted together,
 * and only `read` waits for them. Float precision is f32. Errors on the GPU are reported later: the
 * next call of the device throws them, and `read` checks for them before it returns. Not supported:
 * several GPUs in one process, and buffers above the adapter's maximum size.
 */
import { RgxError } from "../../../core/errors.ts";
import type { AdapterInfo, Device } from "../../device.ts";
import type { ComputeDtype } from "../../ops/common/compute_dtype.ts";
import { checkRange, type DType, type HostArray, type Tensor } from "../../tensor.ts";
import type { OpName, Ops } from "../../ops/ops.ts";
import { TensorBytes } from "../tensor_bytes.ts";
import { validateOp } from "../../validation/validate.ts";
import { describeAdapter, findAdapter, requestDevice } from "./adapter.ts";
import { GROUP } from "../../ops/common/wgsl/reduce.ts";
import { checkDispatch } from "./dispatch_checks.ts";
import type { Gpu, GpuBuffer } from "./gpu.ts";
import { chooseCard, hiddenError } from "./visible.ts";
import { noAdapterError } from "./no_adapter.ts";
import { webgpuOp } from "./op_table.ts";
import { BufferPool } from "./pool.ts";
import { popError } from "./quirks.ts";
import { printTime, printTimesAtClose, type Time } from "../times.ts";
import { lostError, unitName, type WebgpuCounters } from "./device_reports.ts";
import { HostReads } from "./host_reads.ts";
import { Recorder } from "./recorder.ts";
import { type Rehearsal, rehearsing } from "./rehearsal.ts";
import type { RecordedCall } from "../../ops/common/recorded_call.ts";
import { type Block, WebgpuTensor } from "./tensor.ts";
import { Tracer } from "./trace.ts";
import type {
  ChoicePoint,
  Dispatch,
  MatrixUnits,
  WebgpuContext,
  WebgpuLimits,
  WebgpuOp,
} from "../../ops/common/webgpu_op.ts";

const USAGE = { storage: 0x80, copySource: 0x4, copyTarget: 0x8 } as const;
/** Idle buffers beyond this are destroyed at the next submit. */
const IDLE_BYTES = 2 ** 30;

export interface WebgpuDeviceOptions {
  /** Index of the GPU; null = the first that the system offers. */
  card?: number | null;
  /**
   * How kernels are timed: "stamps" uses the GPU's time stamps if it has them, else it waits for
   * each kernel; "waits" always waits. Default: "stamps" if RGX_DEBUG is at least 2 (the times are
   * printed when the device is closed), else "off".
   */
  trace?: "stamps" | "waits" | "off";
  /** Limits below those of the adapter, for tests of larger tensors. */
  limits?: Partial<WebgpuLimits>;
}

/** See {@link createWebgpuDevice}. */
export class WebgpuDevice extends TensorBytes implements Device, WebgpuContext {
  readonly float = "f32";
  readonly threads = 1;
  computeDtype: ComputeDtype = "float32";
  beforeRun: (() => void) | null = null;
  kernelChoices: Readonly<Record<string, string>> = {};
  readonly software: boolean;
  readonly matrixUnits: MatrixUnits | null;
  readonly bf16Unit: string;
  readonly card: number | null;
  readonly limits: WebgpuLimits;
  readonly #gpu: Gpu;
  readonly #pool: BufferPool;
  readonly #recorder: Recorder;
  readonly #reads: HostReads;
  readonly #tracer: Tracer | null;
  readonly #live = new Set<Block>();
  readonly largestTensor: number;
  readonly promisedTensor: number;
  #scratch: WebgpuTensor[] = [];
  #running = "";
  #closed = false;
  #failure: RgxError | null = null;
  /** While operations are only noted; see {@link rehearse}. */
  #rehearsal: Rehearsal | null = null;

  /** @param name what the GPU is reached through */
  constructor(
    readonly name: "webgpu" | "vulkan",
    gpu: Gpu,
    readonly adapter: AdapterInfo,
    tracer: Tracer | null,
    { limits = {}, card = null }: WebgpuDeviceOptions,
  ) {
    super();
    this.card = card;
    this.#gpu = gpu;
    this.#tracer = tracer;
    this.software = adapter.software;
    this.matrixUnits = gpu.matrixUnits ?? null;
    this.bf16Unit = unitName(this.matrixUnits);
    // A multiple of a vector of four, like the sizes of bindings.
    const { maxBufferSize, maxAllocationSize = maxBufferSize } = gpu.limits;
    this.largestTensor = Math.floor(maxBufferSize / 16) * 16;
    this.promisedTensor = Math.min(this.largestTensor, Math.floor(maxAllocationSize / 16) * 16);
    this.limits = {
      bindingElements: Math.floor(gpu.limits.maxStorageBufferBindingSize / 4 / 64) * 64,
      groupsPerDimension: gpu.limits.maxComputeWorkgroupsPerDimension,
      workgroupBytes: gpu.limits.maxComputeWorkgroupStorageSize,
      invocations: gpu.limits.maxComputeInvocationsPerWorkgroup,
      ...limits,
    };
    const create = (bytes: number, label: string) => this.#createBuffer(bytes, label);
    this.#pool = new BufferPool(create, IDLE_BYTES, this.largestTensor);
    this.#recorder = new Recorder(gpu, tracer, (message) => this.#fail(message));
    this.#reads = new HostReads(gpu, {
      waitsForCopy: name === "vulkan",
      submit: (tensors = []) => {
        for (const tensor of tensors) this.#clearIfStale(tensor);
        this.submit();
      },
      dispatches: () => this.#recorder.dispatches,
      mustWork: () => this.#mustWork(),
    });
    gpu.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#fail((event as GPUUncapturedErrorEvent).error.message.trim());
    });
    gpu.lost.then(({ message }) => {
      if (!this.#closed) this.#failure = lostError(this.adapter.name, message);
    });
  }

  get counters(): WebgpuCounters {
    const { dispatches, submits, pipelines } = this.#recorder;
    const { size } = pipelines;
    return { dispatches, submits, pipelines: size, ...this.#reads.counters };
  }

  /** Bytes of all buffers on the GPU, including idle ones of the pool. */
  get heldBytes(): number {
    return this.#pool.heldBytes + this.#recorder.bufferBytes;
  }

  create(dtype: DType, length: number, label: string): Tensor {
    this.#mustWork();
    if (!Number.isInteger(length) || length < 0) {
      throw new RangeError(`tensor "${label}" cannot have ${length} elements`);
    }
    const bytes = 4 * length;
    if (bytes > this.largestTensor) {
      throw new RgxError(
        `tensor "${label}" needs ${bytes} bytes, and ${this.adapter.name} has buffers of at most ` +
          `${this.largestTensor} bytes`,
        { advice: "make the batch, the sequences or the model smaller" },
      );
    }
    const { buffer, isNew } = this.#pool.take(bytes, label);
    const stale = !isNew || this.#gpu.leavesMemory === true;
    const block: Block = { buffer, freed: false, stale, filled: 0 };
    this.#live.add(block);
    this.countBytes(bytes);
    return new WebgpuTensor(this, dtype, block, 0, length, label, false);
  }

  write(tensor: Tensor, data: HostArray, offset = 0): void {
    const checked = this.#checked(tensor);
    checkRange(tensor, offset, data.length, "write");
    this.#rehearsal?.wrote(checked, data, offset);
    if ((checked.dtype === "u32") !== (data instanceof Uint32Array)) {
      throw new TypeError(
        `write of ${data.constructor.name} to ${checked.dtype} tensor "${tensor.label}"`,
      );
    }
    if (data.length === 0) return;
    const { block } = checked;
    if (checked.offset + offset === block.filled) {
      block.filled += data.length;
      if (!checked.isView && block.filled === checked.length) block.stale = false;
    } else this.#clearIfStale(checked);
    const words = data instanceof Float64Array ? Float32Array.from(data) : data;
    const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    const start = 4 * (checked.offset + offset);
    this.#recorder.write(checked.block.buffer, start, bytes as Uint8Array<ArrayBuffer>);
  }

  async read(tensor: Tensor, offset = 0, length = tensor.length - offset): Promise<HostArray> {
    const checked = this.#checked(tensor);
    checkRange(tensor, offset, length, "read");
    if (length === 0 || this.#rehearsal !== null) return checked.zeros(length);
    return await this.#reads.read(checked, offset, length);
  }

  async readLater(
    tensors: readonly { tensor: Tensor; length: number }[],
  ): Promise<() => Promise<HostArray[]>> {
    const copies = tensors.map(({ tensor, length }) => {
      const checked = this.#checked(tensor);
      checkRange(tensor, 0, length, "read");
      return { tensor: checked, length };
    });
    if (this.#rehearsal === null) return await this.#reads.later(copies);
    const zeros = copies.map(({ tensor, length }) => tensor.zeros(length));
    return () => Promise.resolve(zeros);
  }

  free(tensor: Tensor): void {
    const checked = this.#checked(tensor);
    if (checked.isView) {
      throw new RgxError(`"${tensor.label}" is a view; free the tensor it belongs to`);
    }
    checked.block.freed = true;
    this.#live.delete(checked.block);
    this.countBytes(-4 * checked.length);
    this.#pool.give(checked.block.buffer);
  }

  run<K extends OpName>(op: K, args: Ops[K]): void {
    this.#mustWork();
    this.beforeRun?.();
    validateOp(op, args, this.computeDtype);
    for (const value of Object.values(args)) {
      if (typeof value === "object" && value !== null) this.#checked(value as Tensor);
    }
    this.#running = op;
    try {
      this.runPart(webgpuOp(op), args);
    } finally {
      this.#running = "";
    }
  }

  runPart<Args>(operation: WebgpuOp<Args>, args: Args): void {
    const before = this.#scratch.length;
    try {
      operation(args, this);
    } finally {
      for (const tensor of this.#scratch.splice(before)) this.free(tensor);
    }
  }

  submit(): void {
    this.#mustWork();
    this.#recorder.submit();
    if (this.#pool.overfull) {
      this.#recorder.pipelines.forgetGroups();
      this.#pool.trim(IDLE_BYTES / 2);
    }
  }

  choose<Args>(point: ChoicePoint<Args>, args: Args): string | null {
    this.#rehearsal?.chooses(point, args, this);
    const { kernelChoices } = this;
    // With an empty table no call needs its class.
    if (!hasKeys(kernelChoices)) return null;
    const name = point.classOf(args, this);
    return name === null ? null : kernelChoices[name] ?? null;
  }

  /**
   * Calls `work` without computing: operations choose their kernels, but nothing is dispatched, and
   * what is read is zeros. Tensors are created and written, so their contents before `work` must
   * not matter after it.
   * @returns the calls in which operations had a choice
   */
  async rehearse(work: () => Promise<unknown>): Promise<RecordedCall[]> {
    return await rehearsing(async (rehearsal) => {
      this.#rehearsal = rehearsal;
      try {
        await work();
      } finally {
        this.#rehearsal = null;
      }
    });
  }

  dispatch(call: Dispatch): void {
    const { kernel, buffers, params } = call;
    const groups = call.groups ?? Math.ceil(params!["n"]! / GROUP);
    if (groups === 0 || this.#rehearsal !== null) return;
    const tensors = kernel.bufferNames.map((name) => {
      const tensor = buffers[name];
      if (tensor === undefined) throw new Error(`${kernel.name}: the buffer ${name} is missing`);
      return this.#checked(tensor);
    });
    checkDispatch(call, tensors, this);
    for (const tensor of tensors) this.#clearIfStale(tensor);
    const y = Math.ceil(groups / this.limits.groupsPerDimension);
    this.#recorder.dispatch(call, tensors, Math.ceil(groups / y), y);
  }

  scratch(dtype: DType, length: number, label: string): Tensor {
    const tensor = this.create(dtype, length, `${this.#running}: ${label}`) as WebgpuTensor;
    tensor.block.stale = false;
    this.#scratch.push(tensor);
    return tensor;
  }

  get reservedBytes(): number {
    return this.#pool.heldBytes;
  }

  close(): void {
    if (this.#closed) return;
    if (this.#failure === null) this.#recorder.submit();
    this.#closed = true;
    this.#live.clear();
    this.countBytes(-this.allocatedBytes);
    this.#tracer?.close();
    this.#reads.close();
    this.#recorder.close();
    this.#gpu.destroy();
  }

  /** Whether {@link kernelTimes} has times. */
  get timesKernels(): boolean {
    return this.#tracer !== null;
  }

  /** The time of every kernel so far, most expensive first; empty unless kernels are timed. */
  kernelTimes(): Time[] {
    if (this.#failure === null && !this.#closed) this.#recorder.submit();
    return this.#tracer?.table() ?? [];
  }

  /** Destroys the GPU's device without closing this one, like a driver reset (tests). */
  lose(): void {
    this.#gpu.destroy();
  }

  #createBuffer(size: number, label: string): GpuBuffer {
    const usage = USAGE.storage | USAGE.copySource | USAGE.copyTarget;
    this.#gpu.pushErrorScope("out-of-memory");
    const buffer = this.#gpu.createBuffer({ size, usage, label });
    popError(this.#gpu).then((error) => {
      if (error === null) return;
      this.#failure ??= new RgxError(
        `out of memory on ${this.adapter.name}: tensor "${label}" needs ${size} bytes beside the ` +
          `${this.heldBytes - size} that rgx holds` +
          (size <= this.promisedTensor
            ? ""
            : `, and its driver promises at most ${this.promisedTensor} in one piece`),
        {
          advice:
            "make the batch, the sequences or the model smaller, or end other programs that " +
            "use the card",
        },
      );
    }, () => {});
    return buffer;
  }

  #clearIfStale({ block }: WebgpuTensor): void {
    if (!block.stale) return;
    block.stale = false;
    this.#recorder.clear(block.buffer, 4 * block.filled);
  }

  #checked(tensor: Tensor): WebgpuTensor {
    this.#mustBeOpen();
    if (!(tensor instanceof WebgpuTensor) || tensor.device !== this) {
      throw new RgxError(
        `tensor "${tensor.label}" belongs to another device (${tensor.device?.name})`,
      );
    }
    if (tensor.block.freed) throw new RgxError(`tensor "${tensor.label}" was freed`);
    return tensor;
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new RgxError("the GPU device is closed");
  }

  #mustWork(): void {
    this.#mustBeOpen();
    if (this.#failure !== null) throw this.#failure;
  }

  #fail(message: string): void {
    this.#failure ??= new RgxError(`the GPU refused what it was given: ${message}`);
  }
}

/** Whether an object has a key. Unlike `Object.keys`, it makes no list: every operation asks. */
function hasKeys(object: object): boolean {
  for (const _ in object) return true;
  return false;
}

/**
 * Creates a device on the first adapter.
 * @throws RgxError (exit 2, with what to install) without an adapter whose limits suffice
 */
export async function createWebgpuDevice(options: WebgpuDeviceOptions = {}): Promise<WebgpuDevice> {
  if (!chooseCard(options.card ?? null)) throw hiddenError();
  const adapter = await findAdapter();
  if (adapter === null) throw noAdapterError();
  const stamp = "timestamp-query";
  return await deviceOn(
    "webgpu",
    describeAdapter(adapter),
    options,
    (stamps) => requestDevice(adapter, stamps && adapter.features.has(stamp) ? [stamp] : []),
  );
}

/** The device on the layer that `open` gives, with time stamps if it is asked for them. */
export async function deviceOn(
  name: WebgpuDevice["name"],
  adapter: AdapterInfo,
  options: WebgpuDeviceOptions,
  open: (stamps: boolean) => Gpu | Promise<Gpu>,
): Promise<WebgpuDevice> {
  const level = Number(Deno.env.get("RGX_DEBUG") ?? 0);
  const trace = options.trace ?? (level >= 2 ? "stamps" : "off");
  const gpu = await open(trace === "stamps");
  const each = level >= 3 ? printTime : null;
  const tracer = trace === "off" ? null : await Tracer.create(gpu, each, trace === "stamps");
  const device = new WebgpuDevice(name, gpu, adapter, tracer, options);
  if (level >= 2) {
    printTimesAtClose(device, `kernels on ${adapter.name}`, () => device.kernelTimes());
  }
  return device;
}
