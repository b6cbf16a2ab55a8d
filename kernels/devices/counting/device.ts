/**
 * A device without data: tensors have sizes, and operations take their scratch memory but compute
 * nothing. What a run allocates is counted by running its own code here. The bindings of the
 * operations are those of the CPU or of a graphics card; what is read is zeros.
 *
 * Left out: the private scratch of CPU threads, some 100 KB each, and what a driver needs for
 * itself.
 */
import type { AdapterInfo, Device } from "../../device.ts";
import type { ComputeDtype } from "../../ops/common/compute_dtype.ts";
import type { WasmContext, WasmOp } from "../../ops/common/wasm_op.ts";
import type { MatrixUnits, WebgpuContext, WebgpuOp } from "../../ops/common/webgpu_op.ts";
import type { Ops } from "../../ops/ops.ts";
import { checkView, type DType, type HostArray, type Tensor } from "../../tensor.ts";
import { TensorBytes } from "../tensor_bytes.ts";
import { wasmOps } from "../wasm/op_table.ts";
import { webgpuOp } from "../webgpu/op_table.ts";

/** The part that scratch memory of operations is counted in. */
export const SCRATCH = "operation";

/** The device that is stood in for. */
export interface CountedDevice {
  /** Bytes of a float: 4, or 8 on a reference device, whose operations have no scratch. */
  floatBytes: number;
  computeDtype: ComputeDtype;
  /** A graphics card; null = a CPU. */
  card: {
    software: boolean;
    matrixUnits: MatrixUnits | null;
    /** Maximum bytes of one tensor. */
    largestTensor?: number;
  } | null;
}

/** What a tensor is for: its label, and whether it is a weight that operations only read. */
export type PartOf = (label: string, use: "weight" | undefined) => string;

/** A tensor, for messages. */
export interface NamedSize {
  label: string;
  bytes: number;
}

class CountingTensor implements Tensor {
  constructor(
    readonly device: CountingDevice,
    readonly dtype: DType,
    readonly length: number,
    readonly label: string,
    readonly part: string,
    readonly bytes: number,
  ) {}

  view(offset: number, length: number): Tensor {
    checkView(this, offset, length);
    const { device, dtype, label, part } = this;
    return new CountingTensor(device, dtype, length, label, part, 0);
  }
}

/** A card's limits are not known before it is opened: these leave the most scratch. */
const ANY_LIMITS = {
  bindingElements: Infinity,
  groupsPerDimension: Infinity,
  workgroupBytes: Infinity,
  invocations: Infinity,
};

export class CountingDevice extends TensorBytes implements Device {
  readonly name: "reference" | "wasm" | "webgpu";
  readonly float: "f32" | "f64";
  readonly threads = 1;
  readonly computeDtype: ComputeDtype;
  readonly adapter?: AdapterInfo;
  readonly largestTensor?: number;
  readonly matrixUnits: MatrixUnits | null;
  /** The largest tensor of each part so far; scratch is not a tensor. */
  readonly largest: Map<string, NamedSize> = new Map();
  /** Bytes of each weight that operations only read. */
  readonly weights: number[] = [];
  /** Bytes of each part now, and at the last peak unless that is now. */
  readonly #parts = new Map<string, number>();
  #partsAtPeak: ReadonlyMap<string, number> | null = null;
  /** Bytes of scratch of each operation, by its shape. */
  readonly #scratch = new Map<string, number>();
  readonly #scratchOf: ScratchOf;

  constructor({ floatBytes, computeDtype, card }: CountedDevice, private readonly partOf: PartOf) {
    super();
    this.float = floatBytes === 8 ? "f64" : "f32";
    this.computeDtype = computeDtype;
    this.name = card !== null ? "webgpu" : floatBytes === 8 ? "reference" : "wasm";
    this.matrixUnits = card?.matrixUnits ?? null;
    this.#scratchOf = card !== null
      ? cardScratch(this, card)
      : floatBytes === 8
      ? () => 0
      : cpuScratch(this);
    if (card === null) return;
    this.adapter = { name: "a card", vendor: 0, device: 0, software: card.software };
    if (card.largestTensor !== undefined) this.largestTensor = card.largestTensor;
  }

  create(dtype: DType, length: number, label: string, use?: "weight"): Tensor {
    const bytes = length * (dtype === "float" && this.float === "f64" ? 8 : 4);
    const part = this.partOf(label, use), known = this.largest.get(part)?.bytes ?? 0;
    if (bytes > known) this.largest.set(part, { label, bytes });
    if (use === "weight") this.weights.push(bytes);
    this.#add(part, bytes);
    return new CountingTensor(this, dtype, length, label, part, bytes);
  }

  #add(part: string, bytes: number): void {
    const peak = this.peakBytes;
    if (bytes < 0 && this.allocatedBytes === peak) this.#partsAtPeak ??= new Map(this.#parts);
    this.#parts.set(part, (this.#parts.get(part) ?? 0) + bytes);
    this.countBytes(bytes);
    if (this.peakBytes > peak) this.#partsAtPeak = null;
  }

  write(): void {}

  // deno-lint-ignore require-await -- the interface of all devices
  async read(
    { dtype, length: all }: Tensor,
    offset = 0,
    length = all - offset,
  ): Promise<HostArray> {
    if (dtype === "u32") return new Uint32Array(length);
    return this.float === "f64" ? new Float64Array(length) : new Float32Array(length);
  }

  free(tensor: Tensor): void {
    const { part, bytes } = tensor as CountingTensor;
    this.#add(part, -bytes);
  }

  run<K extends keyof Ops>(op: K, args: Ops[K]): void {
    const key = shapeOf(op, args), bytes = this.#scratch.get(key) ?? this.#scratchOf(op, args);
    this.#scratch.set(key, bytes);
    if (bytes === 0) return;
    this.#add(SCRATCH, bytes);
    this.#add(SCRATCH, -bytes);
  }

  submit(): void {}

  override resetPeak(): void {
    super.resetPeak();
    this.#partsAtPeak = null;
  }

  /** Bytes of each part at the peak. */
  get partsAtPeak(): ReadonlyMap<string, number> {
    return this.#partsAtPeak ?? this.#parts;
  }

  close(): void {}
}

/** Finds the most bytes of scratch that an operation has at a time. */
type ScratchOf = <K extends keyof Ops>(op: K, args: Ops[K]) => number;

/** What an operation allocates depends on these: its scalars, and the lengths of its tensors. */
function shapeOf(op: string, args: object): string {
  let key = op;
  for (const [name, value] of Object.entries(args)) {
    key += ` ${name} ${typeof value === "object" ? (value as Tensor | null)?.length : value}`;
  }
  return key;
}

/** Runs the bindings of the CPU, whose kernels do nothing. */
function cpuScratch(device: CountingDevice): ScratchOf {
  const taken: number[] = [];
  let now = 0, most = 0;
  const release = (mark: number) => {
    for (const bytes of taken.splice(mark)) now -= bytes;
  };
  const context: WasmContext = {
    threads: device.threads,
    computeDtype: device.computeDtype,
    steady: false,
    pointer: () => 0,
    u32: ({ length }) => new Uint32Array(length),
    f32: ({ length }) => new Float32Array(length),
    scratch: (bytes) => {
      taken.push(bytes);
      now += bytes;
      most = Math.max(most, now);
      return 0;
    },
    mark: () => taken.length,
    release,
    parallel: () => {},
  };
  return <K extends keyof Ops>(op: K, args: Ops[K]) => {
    most = 0;
    const operation: WasmOp<Ops[K]> = wasmOps[op];
    operation(args, context);
    release(0);
    return most;
  };
}

/** Runs the bindings of a graphics card with each kernel that they may choose. */
function cardScratch(
  device: CountingDevice,
  { software, matrixUnits }: NonNullable<CountedDevice["card"]>,
): ScratchOf {
  let now = 0, most = 0, choice = 0, choices = 1;
  const runPart = <Args>(operation: WebgpuOp<Args>, args: Args) => {
    const before = now;
    operation(args, context);
    now = before;
  };
  const context: WebgpuContext = {
    limits: ANY_LIMITS,
    software,
    matrixUnits,
    computeDtype: device.computeDtype,
    choose: (point, args) => {
      // Without units for matrices, no kernel takes more than that of the operation's rule.
      if (matrixUnits === null || point.classOf(args, context) === null) return null;
      const names = point.candidates(args, context);
      choices = Math.max(choices, names.length);
      return names[Math.min(choice, names.length - 1)] ?? null;
    },
    dispatch: () => {},
    scratch: (dtype, length, label) => {
      now += 4 * length;
      most = Math.max(most, now);
      return new CountingTensor(device, dtype, length, label, SCRATCH, 4 * length);
    },
    runPart,
  };
  return (op, args) => {
    most = 0;
    choices = 1;
    for (choice = 0; choice < choices; choice++) runPart(webgpuOp(op), args);
    return most;
  };
}
