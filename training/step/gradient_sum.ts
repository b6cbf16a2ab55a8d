/**
 * The gradient of a step from those of its micro-batches, which are dealt to the ranks of a run.
 *
 * "exact": every micro-batch has a gradient of its own, and they are added in the fixed order of
 * `ranks/sum_tree.ts`. So any number of ranks gives the same bits. It costs memory of the device: a
 * copy of the gradients for each level of the tree. A step of one micro-batch costs nothing.
 *
 * "fast": a rank adds up its micro-batches in place, and MPI adds up the ranks in its own order.
 * It needs no copies, and the last digits depend on the number of ranks.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import { ALONE, type Ranks } from "../../ranks/ranks.ts";
import type { FloatArray } from "../../ranks/vector_sum.ts";
import { PartialSums, type TreeNode } from "../../ranks/sum_tree.ts";
import type { Shards } from "./shards.ts";

export type Reduction = "exact" | "fast";

/** Bytes of copies up to which "auto" is "exact". */
const AUTO_BYTES = 2 ** 28;

/**
 * Maximum number of copies of the gradients that an exact sum has at a time on one rank; on
 * several, no rank has more.
 */
export function sumCopies(microBatches: number): number {
  return microBatches < 2 ? 0 : Math.floor(Math.log2(microBatches)) + 1;
}

/** What the key `training.reduction` means for a run, whatever its number of ranks. */
export function reductionOf(
  key: "auto" | Reduction,
  microBatches: number,
  gradientBytes: number,
): Reduction {
  if (key !== "auto") return key;
  return sumCopies(microBatches) * gradientBytes <= AUTO_BYTES ? "exact" : "fast";
}

/** Bytes of the copies that an exact sum has at a time; 0 for a fast one. */
export function copyBytes(
  key: "auto" | Reduction,
  microBatches: number,
  gradientBytes: number,
): number {
  return reductionOf(key, microBatches, gradientBytes) === "exact"
    ? sumCopies(microBatches) * gradientBytes
    : 0;
}

export class GradientSum {
  /** @param device the device of the model; null is enough for "fast" on one rank */
  constructor(
    private readonly model: Pick<LanguageModel, "zeroGrad" | "trainableArenas">,
    private readonly device: Device | null = null,
    private readonly reduction: Reduction = "fast",
    readonly ranks: Ranks = ALONE,
    /** Given: each rank gets only the gradients that its part of the optimizer needs. */
    private readonly shards: Shards | null = null,
  ) {}

  /**
   * Zeroes the gradients, then computes the sum over micro-batches 0 … count − 1, on all ranks.
   * @param backward adds the gradient of a micro-batch to those of the model
   * @returns what `backward` returned for every micro-batch, in their order
   */
  async over<T>(count: number, backward: (microBatch: number) => Promise<T>): Promise<T[]> {
    const isOne = count <= 1 && this.ranks.size === 1;
    return this.reduction === "fast" || isOne
      ? await this.#inPlace(count, backward)
      : await this.#exact(count, backward);
  }

  async #exact<T>(count: number, backward: (microBatch: number) => Promise<T>): Promise<T[]> {
    const device = this.device!, arenas = this.model.trainableArenas;
    const free = (copies: readonly Tensor[]) => copies.forEach((copy) => device.free(copy));
    const sums = new PartialSums<readonly Tensor[]>(count, (left, right) => {
      for (const [i, sum] of left.entries()) {
        device.run("add", { a: sum, b: right[i]!, out: sum, n: arenas[i]!.length });
      }
      free(right);
      return left;
    });
    try {
      const results = await this.ranks.share(count, async (begin, end) => {
        const own: T[] = [];
        for (let index = begin; index < end; index++) {
          this.model.zeroGrad();
          own.push(await backward(index));
          sums.push({ level: 0, index }, this.#copies());
        }
        return own;
      });
      for (const [i, arena] of arenas.entries()) {
        const { grad, length } = arena;
        if (this.ranks.size === 1) {
          device.run("copy", { src: sums.values[0]!.value[i]!, out: grad, n: length });
          continue;
        }
        const own: { node: TreeNode; value: FloatArray }[] = [];
        for (const { node, value } of sums.values) {
          own.push({ node, value: await this.#hostValues(value[i]!, length) });
        }
        const slices = this.shards?.gradients(arena);
        const options = slices === undefined ? {} : { slices };
        const sum = await this.ranks.sum(count, own, () => this.#zeros(length), options);
        device.write(grad, sum, slices?.[this.ranks.rank]?.[0] ?? 0);
      }
      return results;
    } finally {
      sums.values.forEach(({ value }) => free(value));
    }
  }

  /** Copies of the gradients on the device, one for each arena. */
  #copies(): Tensor[] {
    const device = this.device!;
    return this.model.trainableArenas.map(({ grad, length }) => {
      const copy = device.create("float", length, "sum of gradients");
      device.run("copy", { src: grad, out: copy, n: length });
      return copy;
    });
  }

  async #inPlace<T>(count: number, backward: (microBatch: number) => Promise<T>): Promise<T[]> {
    this.model.zeroGrad();
    const results = await this.ranks.share(count, async (begin, end) => {
      const own: T[] = [];
      for (let index = begin; index < end; index++) own.push(await backward(index));
      return own;
    });
    if (this.ranks.size === 1) return results;
    for (const { grad, length } of this.model.trainableArenas) {
      const values = await this.#hostValues(grad, length);
      await this.ranks.sumFast(values);
      if (this.device!.direct === undefined) this.device!.write(grad, values);
    }
    return results;
  }

  /** Values that MPI can read: those of the device itself, or copies of them. */
  async #hostValues(tensor: Tensor, length: number): Promise<FloatArray> {
    const device = this.device!;
    return device.direct?.(tensor) ?? await device.read(tensor, 0, length) as FloatArray;
  }

  #zeros(length: number): FloatArray {
    return this.device!.float === "f64" ? new Float64Array(length) : new Float32Array(length);
  }
}
