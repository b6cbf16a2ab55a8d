/**
 * The tensors of a model by name. Frozen tensors are separate. All trainable values are in one
 * arena and all their gradients in another (see TrainableArena): decayed parameters first, each of
 * the two groups sorted by name, every parameter at a multiple of VIEW_ALIGNMENT. The tensors of an
 * adapter form a second set on top of the base's, so that several adapters can share one base.
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
} from "../../../kernels/weights/finite.ts";
import type {
  FileType,
  FloatRows,
  LoadType,
  WeightLoader,
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
import { toDevicePrecision } from "../workspace.ts";

export interface ParameterSpec {
  name: string;
  shape: readonly number[];
  /** False for norms and biases. */
  decay: boolean;
  trainable: boolean;
  /** Storage type of a frozen matrix; null or absent = float. */
  storage?: WeightType | null;
}

/** Elements that a tensor takes in the arena. */
export function arenaElements(shape: readonly number[]): number {
  return Math.ceil(elementCount(shape) / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
}

/** Rows and columns of a weight in a storage type. */
function matrixShape([n, k]: readonly number[]): [n: number, k: number] {
  return [n!, k!];
}

const byName = (a: { name: string }, b: { name: string }) =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;

export class Parameters {
  /** Sorted by name. */
  readonly all: readonly Parameter[];
  readonly trainable: readonly Parameter[];
  readonly arena: TrainableArena | null;
  readonly #byName: ReadonlyMap<string, Parameter>;
  readonly #owned: Tensor[] = [];

  /**
   * @param base tensors that are part of this set but owned by another; only one of the two may be
   *   trainable
   */
  constructor(
    readonly device: Device,
    specs: readonly ParameterSpec[],
    base: Parameters | null = null,
  ) {
    const sorted = specs.toSorted(byName);
    const trained = sorted.filter((s) => s.trainable);
    const inArenaOrder = [...trained.filter((s) => s.decay), ...trained.filter((s) => !s.decay)];

    const offsets = new Map<string, number>();
    let length = 0, decayedLength = 0;
    for (const spec of inArenaOrder) {
      offsets.set(spec.name, length);
      length += arenaElements(spec.shape);
      if (spec.decay) decayedLength = length;
    }
    const arena: TrainableArena | null = length === 0 ? null : {
      value: this.#create(length, "parameters"),
      grad: this.#create(length, "gradients"),
      length,
      decayedLength,
      offsets,
    };

    // The largest come first: when a device's memory for weights is used up, the remaining ones are
    // the cheapest to copy in.
    const frozen = new Map(
      sorted.filter((s) => !s.trainable)
        .sort((a, b) => elementCount(b.shape) - elementCount(a.shape))
        .map((spec) => [spec.name, this.#createFrozen(spec)]),
    );
    const added = sorted.map(({ name, shape, decay, storage = null }): Parameter => {
      const about = { name, shape, decay }, value = frozen.get(name);
      if (value !== undefined) return { ...about, value, grad: null, storage };
      const offset = offsets.get(name)!, n = elementCount(shape);
      const trained = { value: arena!.value.view(offset, n), grad: arena!.grad.view(offset, n) };
      return { ...about, ...trained, storage: null };
    });
    this.arena = arena ?? base?.arena ?? null;
    this.all = base === null ? added : [...base.all, ...added].sort(byName);
    this.trainable = this.all.filter((p) => p.grad !== null);
    this.#byName = new Map(this.all.map((p) => [p.name, p]));
  }

  #createFrozen({ name, shape, storage = null }: ParameterSpec): Tensor {
    return storage === null
      ? this.#create(elementCount(shape), name, "float", "weight")
      : this.#create(storedWords(storage, ...matrixShape(shape)), name, "u32", "weight");
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

  /**
   * Writes values in the tensor's type; they are rounded when it is not float.
   * @throws RgxError for another number of values, or one that is not finite
   */
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
    ofTensor(name, () => {
      refuseInfinite(data, shape);
      if (storage === "f16") refuseBeyondF16(data, shape);
    });
    this.device.write(
      value,
      storage === null
        ? toDevicePrecision(this.device, data)
        : encodeStored(storage, ...matrixShape(shape), data),
    );
  }

  /**
   * Writes rows of a float matrix from row `first` on.
   * @throws RgxError for a value that is not finite
   */
  writeRows(name: string, rows: Float32Array, first: number): void {
    const { value, shape } = this.get(name), [, k] = matrixShape(shape);
    ofTensor(name, () => refuseInfinite(rows, shape, first));
    this.device.write(value, toDevicePrecision(this.device, rows), first * k);
  }

  /**
   * Writes a file's bytes from row `first` (a multiple of 16) on, for a tensor that is stored in
   * the file's type. Blocks need a loader.
   * @throws RgxError for a value that is not finite
   */
  writeStored(
    name: string,
    bytes: Uint8Array<ArrayBuffer>,
    first: number,
    loader: WeightLoader | null,
  ): void {
    const { value, shape, storage } = this.get(name), [, k] = matrixShape(shape), type = storage!;
    const offset = storedWords(type, first, k);
    ofTensor(name, () => refuseInfiniteStored(type, k, bytes, first));
    const put = (words: Uint32Array, at: number) => this.device.write(value, words, offset + at);
    if (isBlockType(type)) {
      loader!.pack(type as FileType, bytes.length / fileBytes(type, k), k, bytes, put);
    } else put(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4), 0);
  }

  /**
   * Quantises rows and writes them to a tensor in such a type.
   * @throws RgxError for a value that is not finite
   */
  quantize(name: string, rows: FloatRows, loader: WeightLoader): void {
    const { value, shape, storage } = this.get(name), [, k] = matrixShape(shape);
    const type = storage as LoadType, offset = storedWords(type, rows.first ?? 0, k);
    const put = (words: Uint32Array, at: number) => this.device.write(value, words, offset + at);
    const n = rows.bytes.length / fileBytes(rows.type, k);
    ofTensor(name, () => loader.quantize(type, n, k, rows, put));
  }

  async read(name: string): Promise<Float32Array> {
    const { value, shape, storage } = this.get(name), data = await this.device.read(value);
    if (storage !== null) {
      return unpackStored(storage, ...matrixShape(shape), data as Uint32Array<ArrayBuffer>);
    }
    return data instanceof Float32Array ? data : Float32Array.from(data);
  }

  zeroGrad(): void {
    if (this.arena === null) return;
    this.device.run("fill", { out: this.arena.grad, n: this.arena.length, value: 0 });
  }

  /** Frees the tensors of this set; the base's stay. */
  dispose(): void {
    for (const tensor of this.#owned.splice(0)) this.device.free(tensor);
  }
}
