/**
 * Kernels that reach their buffers by address. A descriptor binds at most `maxStorageBufferRange`
 * bytes of a buffer (128 MiB on some drivers, 4 GiB on most); an address has no such limit. naga
 * writes no such SPIR-V, so what it has written for descriptors is changed here:
 *
 * - The variables of storage buffers go. A block of push constants has their addresses, and then
 *   the numbers of their elements (u32). Each function loads at its beginning what it needs of
 *   them, since not all compilers take such loads out of loops.
 * - Pointers to buffers are of the class PhysicalStorageBuffer. Reads and writes through them say
 *   their alignment.
 * - Lengths of arrays, with which naga bounds every index, are those of the push constants. So an
 *   access beyond a range is as harmless as with descriptors.
 *
 * The specification is that of SPV_KHR_physical_storage_buffer, a part of SPIR-V 1.5.
 */
import type { Bytes } from "./memory_layout.ts";

const HEADER_WORDS = 5, BOUND = 3;
/** Values of enumerations of SPIR-V. */
const OP = {
  memoryModel: 14,
  entryPoint: 15,
  capability: 17,
  typeInt: 21,
  typeFloat: 22,
  typeVector: 23,
  typeStruct: 30,
  typePointer: 32,
  constant: 43,
  function: 54,
  functionParameter: 55,
  functionEnd: 56,
  variable: 59,
  load: 61,
  store: 62,
  accessChain: 65,
  inBoundsAccessChain: 66,
  arrayLength: 68,
  decorate: 71,
  memberDecorate: 72,
  copyObject: 83,
  label: 248,
  cooperativeMatrixLoad: 4457,
  cooperativeMatrixStore: 4458,
} as const;
const ADDRESSES_CAPABILITY = 5347, ADDRESSES_MODEL = 5348;
const CLASS = { pushConstant: 9, storageBuffer: 12, physicalStorageBuffer: 5349 } as const;
const DECORATION = { block: 2, arrayStride: 6, binding: 33, offset: 35 } as const;
const ALIGNED = 2;

/** A buffer of a kernel, in the order of the push constants. */
export interface AddressedBuffer {
  readonly binding: number;
  /** Bytes of an element. */
  readonly stride: number;
}

export interface AddressedKernel {
  readonly spirv: Bytes;
  readonly buffers: readonly AddressedBuffer[];
}

/** Bytes of the push constants for `count` buffers. */
export const pushedBytes = (count: number) => 12 * count;

/** Push constants: addresses, then numbers of elements. */
export function pushConstants(
  buffers: readonly AddressedBuffer[],
  of: (binding: number) => { address: bigint; size: number },
): Bytes {
  const bytes = new Uint8Array(new ArrayBuffer(pushedBytes(buffers.length)));
  const view = new DataView(bytes.buffer);
  buffers.forEach(({ binding, stride }, i) => {
    const { address, size } = of(binding);
    view.setBigUint64(8 * i, address, true);
    view.setUint32(8 * buffers.length + 4 * i, Math.floor(size / stride), true);
  });
  return bytes;
}

interface Instruction {
  readonly op: number;
  /** The words after the first one. */
  readonly args: readonly number[];
}

/** @throws Error for SPIR-V in which buffers are no arrays of numbers or vectors */
export function byAddress(spirv: Bytes): AddressedKernel {
  const words = new Uint32Array(spirv.buffer, spirv.byteOffset, spirv.length / 4);
  const parsed = instructions(words);
  const module = new Module(parsed);
  let bound = words[BOUND]!;
  const out: number[] = [...words.subarray(0, HEADER_WORDS)];
  const emit = (op: number, ...args: number[]) => {
    out.push((args.length + 1) << 16 | op, ...args);
  };
  const block = new PushBlock(module, () => bound++);
  let isDeclared = false, isDecorated = false;
  /** What the function has loaded; null before its first instruction. */
  let loaded: Loaded | null = null;
  emit(OP.capability, ADDRESSES_CAPABILITY);
  for (const [i, { op, args }] of parsed.entries()) {
    if (isDeclared && loaded === null && !BEFORE_INSTRUCTIONS.includes(op)) {
      loaded = block.load(emit, usedBuffers(parsed, i, module));
    }
    switch (op) {
      case OP.memoryModel:
        emit(op, ADDRESSES_MODEL, args[1]!);
        continue;
      case OP.entryPoint:
        emit(op, ...args.filter((id) => !module.buffers.has(id)), block.variable);
        continue;
      case OP.decorate:
      case OP.memberDecorate:
        if (!isDecorated) block.decorate(emit);
        isDecorated = true;
        if (!module.buffers.has(args[0]!)) emit(op, ...args);
        continue;
      case OP.typePointer:
        emit(op, args[0]!, classOf(args[1]!), args[2]!);
        continue;
      case OP.variable:
        if (!module.buffers.has(args[1]!)) emit(op, ...args);
        continue;
      case OP.function:
        if (!isDeclared) block.declare(emit);
        isDeclared = true;
        loaded = null;
        break;
      case OP.accessChain:
      case OP.inBoundsAccessChain:
        if (module.buffers.has(args[2]!)) {
          emit(op, args[0]!, args[1]!, loaded!.get(args[2]!)!.address, ...args.slice(3));
          continue;
        }
        break;
      case OP.arrayLength:
        emit(OP.copyObject, args[0]!, args[1]!, loaded!.get(args[2]!)!.length);
        continue;
      case OP.load:
        emit(op, ...args.slice(0, 3), ...aligned(args.slice(3), module.alignment(args[2]!)));
        continue;
      case OP.store:
        emit(op, ...args.slice(0, 2), ...aligned(args.slice(2), module.alignment(args[0]!)));
        continue;
      // After the pointer: the layout, and the stride of rows.
      case OP.cooperativeMatrixLoad:
        emit(op, ...args.slice(0, 5), ...aligned(args.slice(5), module.alignment(args[2]!)));
        continue;
      case OP.cooperativeMatrixStore:
        emit(op, ...args.slice(0, 4), ...aligned(args.slice(4), module.alignment(args[0]!)));
        continue;
    }
    emit(op, ...args);
  }
  out[BOUND] = bound;
  return { spirv: new Uint8Array(Uint32Array.from(out).buffer), buffers: block.buffers };
}

/** What stands before the instructions of a function. */
const BEFORE_INSTRUCTIONS: readonly number[] = [
  OP.function,
  OP.functionParameter,
  OP.label,
  OP.variable,
];

/** Ids of values by the buffers' variables. */
type Loaded = ReadonlyMap<number, { address: number; length: number }>;

/** The buffers that a function uses from instruction `begin` to its end. */
function usedBuffers(parsed: readonly Instruction[], begin: number, module: Module): number[] {
  const used = new Set<number>();
  for (let i = begin; parsed[i]!.op !== OP.functionEnd; i++) {
    const { op, args } = parsed[i]!;
    const reads = op === OP.accessChain || op === OP.inBoundsAccessChain || op === OP.arrayLength;
    if (reads && module.buffers.has(args[2]!)) used.add(args[2]!);
  }
  return [...used];
}

const classOf = (storage: number) =>
  storage === CLASS.storageBuffer ? CLASS.physicalStorageBuffer : storage;

/** Memory operands with an alignment; without one they stay. */
function aligned(operands: readonly number[], alignment: number | null): readonly number[] {
  if (alignment === null) return operands;
  const [mask = 0, ...rest] = operands;
  return [mask | ALIGNED, alignment, ...rest];
}

function instructions(words: Uint32Array): Instruction[] {
  const found: Instruction[] = [];
  for (let at = HEADER_WORDS; at < words.length;) {
    const count = words[at]! >>> 16;
    found.push({ op: words[at]! & 0xffff, args: [...words.subarray(at + 1, at + count)] });
    at += count;
  }
  return found;
}

/** What must be known of a module. */
class Module {
  /** Variables of storage buffers: their pointers' types and their bindings. */
  readonly buffers = new Map<number, { type: number; binding: number; stride: number }>();
  /** The type u32. */
  readonly u32: number;
  readonly #types = new Map<number, Instruction>();
  /** Types of the pointers to buffers, by the pointers. */
  readonly #pointers = new Map<number, number>();

  constructor(parsed: readonly Instruction[]) {
    const bindings = new Map<number, number>(), strides = new Map<number, number>();
    for (const instruction of parsed) {
      const { op, args } = instruction;
      if (op >= OP.typeInt && op <= OP.typePointer) this.#types.set(args[0]!, instruction);
      if (op === OP.decorate && args[1] === DECORATION.binding) bindings.set(args[0]!, args[2]!);
      if (op === OP.decorate && args[1] === DECORATION.arrayStride) {
        strides.set(args[0]!, args[2]!);
      }
      if (op === OP.accessChain || op === OP.inBoundsAccessChain) {
        this.#pointers.set(args[1]!, args[0]!);
      }
      if (op !== OP.variable || args[2] !== CLASS.storageBuffer) continue;
      const [type, variable] = args as [number, number];
      const array = this.#types.get(this.#pointee(type))!.args[1]!;
      const binding = bindings.get(variable), stride = strides.get(array);
      if (binding === undefined || stride === undefined) {
        throw new Error("a storage buffer of a kernel is no array");
      }
      this.buffers.set(variable, { type, binding, stride });
    }
    const u32 = parsed.find(({ op, args }) => op === OP.typeInt && args[1] === 32 && args[2] === 0);
    if (u32 === undefined) throw new Error("a kernel has no u32");
    this.u32 = u32.args[0]!;
  }

  /** Bytes to which what a pointer points to is aligned; null: it does not point to a buffer. */
  alignment(pointer: number): number | null {
    const type = this.#pointers.get(pointer);
    if (type === undefined) return null;
    if (this.#types.get(type)!.args[1] !== CLASS.storageBuffer) return null;
    return this.#alignmentOf(this.#pointee(type));
  }

  #alignmentOf(type: number): number {
    const { op, args } = this.#types.get(type)!;
    if (op === OP.typeInt || op === OP.typeFloat) return args[1]! / 8;
    // A vector of three numbers takes the place of four.
    if (op === OP.typeVector) return this.#alignmentOf(args[1]!) * (args[2] === 2 ? 2 : 4);
    throw new Error("a kernel reads more than a vector of a buffer at once");
  }

  #pointee(pointerType: number): number {
    return this.#types.get(pointerType)!.args[2]!;
  }
}

type Emit = (op: number, ...args: number[]) => void;

/** The push constants of a kernel. */
class PushBlock {
  readonly variable: number;
  readonly buffers: readonly AddressedBuffer[];
  readonly #module: Module;
  readonly #newId: () => number;
  readonly #members: readonly number[];
  readonly #ids: Record<"struct" | "pointer" | "lengthPointer", number>;
  readonly #addressPointers = new Map<number, number>();
  readonly #indices: readonly number[];

  constructor(module: Module, newId: () => number) {
    this.#module = module;
    this.#newId = newId;
    this.#members = [...module.buffers.keys()];
    this.buffers = [...module.buffers.values()];
    this.variable = newId();
    this.#ids = { struct: newId(), pointer: newId(), lengthPointer: newId() };
    for (const { type } of module.buffers.values()) {
      if (!this.#addressPointers.has(type)) this.#addressPointers.set(type, newId());
    }
    this.#indices = [...this.#members, ...this.#members].map(newId);
  }

  decorate(emit: Emit): void {
    const { struct } = this.#ids, n = this.#members.length;
    emit(OP.decorate, struct, DECORATION.block);
    for (let i = 0; i < n; i++) {
      emit(OP.memberDecorate, struct, i, DECORATION.offset, 8 * i);
      emit(OP.memberDecorate, struct, n + i, DECORATION.offset, 8 * n + 4 * i);
    }
  }

  declare(emit: Emit): void {
    const { struct, pointer, lengthPointer } = this.#ids, { u32, buffers } = this.#module;
    const addresses = [...buffers.values()].map(({ type }) => type);
    emit(OP.typeStruct, struct, ...addresses, ...addresses.map(() => u32));
    emit(OP.typePointer, pointer, CLASS.pushConstant, struct);
    emit(OP.typePointer, lengthPointer, CLASS.pushConstant, u32);
    for (const [type, id] of this.#addressPointers) {
      emit(OP.typePointer, id, CLASS.pushConstant, type);
    }
    this.#indices.forEach((id, i) => emit(OP.constant, u32, id, i));
    emit(OP.variable, pointer, this.variable, CLASS.pushConstant);
  }

  /** Loads the addresses and lengths of buffers. */
  load(emit: Emit, buffers: readonly number[]): Loaded {
    const { u32, buffers: all } = this.#module, n = this.#members.length;
    const member = (index: number, type: number, pointer: number) => {
      const at = this.#newId(), id = this.#newId();
      emit(OP.accessChain, pointer, at, this.variable, this.#indices[index]!);
      emit(OP.load, type, id, at);
      return id;
    };
    return new Map(buffers.map((buffer) => {
      const i = this.#members.indexOf(buffer), { type } = all.get(buffer)!;
      const address = member(i, type, this.#addressPointers.get(type)!);
      return [buffer, { address, length: member(n + i, u32, this.#ids.lengthPointer) }];
    }));
  }
}
