/**
 * The tensors of a model by name. Frozen tensors are separate. All trainable values are in one
 * arena and all their gradients in another (see TrainableArena): decayed parameters first, each of
 * the two groups sorted by name, every parameter at a multiple of VIEW_ALIGNMENT. Where matrices
 * are trained in bfloat16, values are separate and only the gradients are in the arena. The tensors
 * of an adapter form a second set on top of the base's, so several adapters can share one base.
 */
import { RgxError } from "../../../core/errors.ts";
import { nearest } from "../../../core/suggest.ts";
import type { Device } from "../../../kernels/device.ts";
import { type DType, type Tensor, VIEW_ALIGNMENT } from "../../../kernels/tensor.ts";
import {
  ofTensor,
  refuseBeyondF16,
  refuseInfinite,
  refuseInfiniteStored,
  refuseQuantizedBeyondF16,
  refuseStoredBeyondF16,
} from "../../../kernels/weights/finite.ts";
import {
  type FileType,
  type FloatRows,
  floatRows,
  type LoadType,
  type WeightLoader,
} from "../../../kernels/devices/weight_loader.ts";
import { elementCount } from "../../formats/element_count.ts";
import {
  encodeStored,
  fileBytes,
  isBlockType,
  storedWords,
  unpackStored,
  type WeightType,
} from "../../formats/stored_weight.ts";
import type { Parameter, TrainableArena } from "../types.ts";
import { floatBytes, toDevicePrecision } from "../workspace.ts";

export interface ParameterSpec {
  name: string;
  shape: readonly number[];
  /** False for norms and biases. */
  decay: boolean;
  trainable: boolean;
  /** Default false. */
  embedding?: boolean;
  /** Storage type of a matrix, bf16 if it is trained; null or absent = float. */
  storage?: WeightType | null;
  /** Operations may write the frozen tensor; default false. */
  writable?: boolean;
}

function arenaElements(shape: readonly number[]): number {
  return Math.ceil(elementCount(shape) / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
}

type ArenaLayout = Pick<TrainableArena, "length" | "decayedLength" | "offsets">;

/** Divides trained parameters into arenas that a device can hold, in order. */
function arenaLayouts(specs: readonly ParameterSpec[], device: Device): ArenaLayout[] {
  const { promisedTensor, largestTensor = Infinity } = device;
  const most = Math.floor((promisedTensor ?? largestTensor) / floatBytes(device));
  const layouts: (ArenaLayout & { offsets: Map<string, number> })[] = [];
  for (const { name, shape, decay } of specs) {
    const size = arenaElements(shape);
    let last = layouts.at(-1);
    if (last === undefined || last.length + size > most) {
      layouts.push(last = { length: 0, decayedLength: 0, offsets: new Map() });
    }
    last.offsets.set(name, last.length);
    last.length += size;
    if (decay) last.decayedLength = last.length;
  }
  return layouts;
}

/** Rows and columns of a weight; those of experts follow one another. */
export function matrixShape(shape: readonly number[]): [n: number, k: number] {
  return [elementCount(shape.slice(0, -1)), shape.at(-1)!];
}

const byName = (a: { name: string }, b: { name: string }) =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;

export class Parameters {
  /** Sorted by name. */
  readonly all: readonly Parameter[];
  readonly trainable: readonly Parameter[];
  /** Empty when nothing is trained. */
  readonly arenas: readonly TrainableArena[];
  readonly #byName: ReadonlyMap<string, Parameter>;
  readonly #owned: Tensor[] = [];

  /** @param base tensors of this set that another owns; only one of the two may be trainable */
  constructor(
    readonly device: Device,
    specs: readonly ParameterSpec[],
    base: Parameters | null = null,
  ) {
    const sorted = specs.toSorted(byName);
    const trained = sorted.filter((s) => s.trainable);
    const inArenaOrder = [...trained.filter((s) => s.decay), ...trained.filter((s) => !s.decay)];

    const inArena = trained.every(({ storage = null }) => storage === null);
    const arenas = arenaLayouts(inArenaOrder, device).map((layout): TrainableArena => ({
      value: inArena ? this.#create(layout.length, "parameters") : null,
      grad: this.#create(layout.length, "gradients"),
      ...layout,
    }));
    const arenaOf = new Map(arenas.flatMap((a) => [...a.offsets.keys()].map((name) => [name, a])));

    // The largest come first: when a device's memory for weights is used up, the remaining ones are
    // the cheapest to copy in.
    const frozen = new Map(
      sorted.filter((s) => !s.trainable)
        .sort((a, b) => elementCount(b.shape) - elementCount(a.shape))
        .map((spec) => [spec.name, this.#createOwn(spec, spec.writable ? undefined : "weight")]),
    );
    const added = sorted.map((spec): Parameter => {
      const { name, shape, decay, embedding = false, storage = null } = spec;
      const about = { name, shape, decay, embedding }, value = frozen.get(name);
      if (value !== undefined) return { ...about, value, grad: null, storage };
      const arena = arenaOf.get(name)!, offset = arena.offsets.get(name)!, n = elementCount(shape);
      return {
        ...about,
        value: arena.value?.view(offset, n) ?? this.#createOwn({ name, shape, storage }),
        grad: arena.grad.view(offset, n),
        storage,
      };
    });
    this.arenas = arenas.length > 0 ? arenas : base?.arenas ?? [];
    this.all = base === null ? added : [...base.all, ...added].sort(byName);
    this.trainable = this.all.filter((p) => p.grad !== null);
    this.#byName = new Map(this.all.map((p) => [p.name, p]));
  }

  #createOwn(
    { name, shape, storage = null }: Pick<ParameterSpec, "name" | "shape" | "storage">,
    use?: "weight",
  ): Tensor {
    return storage === null
      ? this.#create(elementCount(shape), name, "float", use)
      : this.#create(storedWords(storage, ...matrixShape(shape)), name, "u32", use);
  }

  #create(length: number, label: string, dtype: DType = "float", use?: "weight"): Tensor {
    const tensor = this.device.create(dtype, length, label, use);
    this.#owned.push(tensor);
    return tensor;
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** @throws RgxError for an unknown name */
  get(name: string): Parameter {
    const parameter = this.#byName.get(name);
    if (parameter !== undefined) return parameter;
    const guess = nearest(name, [...this.#byName.keys()]);
    throw new RgxError(
      `the model has no tensor "${name}"`,
      guess === null ? {} : { advice: `did you mean "${guess}"?` },
    );
  }

  /** Writes values, rounded to the tensor's type. @throws RgxError for too few or too large ones */
  write(name: string, data: Float32Array | Float64Array): void {
    const { value, shape, storage } = this.get(name);
    const expected = elementCount(shape);
    if (data.length !== expected) {
      throw new RgxError(
        `tensor "${name}": found ${data.length} values, expected ${expected} for its shape ` +
          `[${shape.join(", ")}]`,
        { advice: "check that the weights belong to this config.json" },
      );
    }
    const isHalved = this.#isHalved(shape);
    ofTensor(name, () => {
      refuseInfinite(data, shape);
      if (storage === "f16") refuseBeyondF16(data, shape);
      else if (isHalved) refuseBeyondF16(data, shape, 0, "products");
    });
    if (storage === null) return this.device.write(value, toDevicePrecision(this.device, data));
    const [n, k] = matrixShape(shape), words = encodeStored(storage, n, k, data);
    if (isHalved && isBlockType(storage)) {
      const rows = floatRows(data);
      ofTensor(name, () => refuseQuantizedBeyondF16(storage, k, rows, 0)?.(words, 0));
    }
    this.device.write(value, words);
  }

  /** Writes rows of a float matrix from row `first` on. @throws RgxError as `write` */
  writeRows(name: string, rows: Float32Array, first: number): void {
    const { value, shape } = this.get(name), [, k] = matrixShape(shape);
    ofTensor(name, () => {
      refuseInfinite(rows, shape, first);
      if (this.#isHalved(shape)) refuseBeyondF16(rows, shape, first, "products");
    });
    this.device.write(value, toDevicePrecision(this.device, rows), first * k);
  }

  /**
   * Writes a file's bytes from row `first` (a multiple of 16) on, for a tensor that is stored in
   * the file's type. Blocks need a loader.
   * @throws RgxError as `write`; that blocks are finite, their scales say
   */
  writeStored(
    name: string,
    bytes: Uint8Array<ArrayBuffer>,
    first: number,
    loader: WeightLoader | null,
  ): void {
    const { value, shape, storage } = this.get(name), [, k] = matrixShape(shape), type = storage!;
    const offset = storedWords(type, first, k);
    ofTensor(name, () => {
      refuseInfiniteStored(type, k, bytes, first);
      if (this.#isHalved(shape)) refuseStoredBeyondF16(type, k, bytes, first);
    });
    const put = (words: Uint32Array, at: number) => this.device.write(value, words, offset + at);
    if (isBlockType(type)) {
      loader!.pack(type as FileType, bytes.length / fileBytes(type, k), k, bytes, put);
    } else put(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4), 0);
  }

  /** Whether products round the tensor to float16: they take matrices. */
  #isHalved(shape: readonly number[]): boolean {
    return this.device.computeDtype === "float16" && shape.length > 1;
  }

  /** Quantises rows and writes them to a tensor in such a type. @throws RgxError as `write` */
  quantize(name: string, rows: FloatRows, loader: WeightLoader): void {
    const { value, shape, storage } = this.get(name), [, k] = matrixShape(shape);
    const type = storage as LoadType, first = rows.first ?? 0, offset = storedWords(type, first, k);
    const check = this.#isHalved(shape) ? refuseQuantizedBeyondF16(type, k, rows, first) : null;
    const put = (words: Uint32Array, at: number) => {
      check?.(words, at);
      this.device.write(value, words, offset + at);
    };
    const n = rows.bytes.length / fileBytes(rows.type, k);
    ofTensor(name, () => loader.quantize(type, n, k, rows, put));
  }

  /** `count` values from element `from` on; default: all. */
  async read(name: string, from = 0, count?: number): Promise<Float32Array> {
    const { value, shape, storage } = this.get(name);
    if (storage !== null) {
      const words = await this.device.read(value) as Uint32Array<ArrayBuffer>;
      const all = unpackStored(storage, ...matrixShape(shape), words);
      return all.subarray(from, count === undefined ? undefined : from + count);
    }
    const data = await this.device.read(value, from, count);
    return data instanceof Float32Array ? data : Float32Array.from(data);
  }

  zeroGrad(): void {
    for (const { grad, length } of this.arenas) {
      this.device.run("fill", { out: grad, n: length, value: 0 });
    }
  }

  /** Frees the tensors of this set; the base's stay. */
  dispose(): void {
    for (const tensor of this.#owned.splice(0)) this.device.free(tensor);
  }
}
