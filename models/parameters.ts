/**
 * The tensors of a model by name. Frozen ones are tensors of their own; all trainable values lie in one
 * arena and all their gradients in another (see TrainableArena), decayed parameters first, each group in
 * order of name, every parameter at a multiple of VIEW_ALIGNMENT.
 */
import { RgxError } from "../core/errors.ts";
import { nearest } from "../core/suggest.ts";
import { type Device, type Tensor, VIEW_ALIGNMENT } from "../kernels/device.ts";
import { elementCount } from "./safetensors.ts";
import type { Parameter, TrainableArena } from "./types.ts";
import { toDevicePrecision } from "./workspace.ts";

export interface ParameterSpec {
  name: string;
  shape: readonly number[];
  /** False for norm weights. */
  decay: boolean;
  trainable: boolean;
}

/** Elements that a tensor takes in the arena. */
export function arenaElements(shape: readonly number[]): number {
  return Math.ceil(elementCount(shape) / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
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

  constructor(readonly device: Device, specs: readonly ParameterSpec[]) {
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
    this.arena = length === 0 ? null : {
      value: this.#create(length, "parameters"),
      grad: this.#create(length, "gradients"),
      length,
      decayedLength,
      offsets,
    };

    this.all = sorted.map(({ name, shape, decay }) => {
      const offset = offsets.get(name), n = elementCount(shape);
      return offset === undefined || this.arena === null
        ? { name, shape, decay, value: this.#create(n, name), grad: null }
        : {
          name,
          shape,
          decay,
          value: this.arena.value.view(offset, n),
          grad: this.arena.grad.view(offset, n),
        };
    });
    this.trainable = this.all.filter((p) => p.grad !== null);
    this.#byName = new Map(this.all.map((p) => [p.name, p]));
  }

  #create(length: number, label: string): Tensor {
    const tensor = this.device.create("float", length, label);
    this.#owned.push(tensor);
    return tensor;
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** @throws RgxError for an unknown name. */
  get(name: string): Parameter {
    const parameter = this.#byName.get(name);
    if (parameter !== undefined) return parameter;
    const guess = nearest(name, [...this.#byName.keys()]);
    throw new RgxError(
      `the model has no tensor "${name}"`,
      guess === null ? {} : { advice: `did you mean "${guess}"?` },
    );
  }

  write(name: string, data: Float32Array | Float64Array): void {
    const { value, shape } = this.get(name);
    const expected = elementCount(shape);
    if (data.length !== expected) {
      throw new RgxError(
        `tensor "${name}": found ${data.length} values, expected ${expected} for its shape ` +
          `[${shape.join(", ")}]`,
        { advice: "check that the weights belong to this config.json" },
      );
    }
    this.device.write(value, toDevicePrecision(this.device, data));
  }

  async read(name: string): Promise<Float32Array> {
    const data = await this.device.read(this.get(name).value);
    return data instanceof Float32Array ? data : Float32Array.from(data);
  }

  zeroGrad(): void {
    if (this.arena === null) return;
    this.device.run("fill", { out: this.arena.grad, n: this.arena.length, value: 0 });
  }

  dispose(): void {
    for (const tensor of this.#owned.splice(0)) this.device.free(tensor);
  }
}
