/**
 * The gradient of a step from those of its micro-batches, which are dealt to the ranks of a run.
 *
 * "exact": every micro-batch has a gradient of its own, and they are added in the fixed order of
 * `cluster/ranks/sum_tree.ts`. So any number of ranks gives the same bits. It costs memory of the
 * device: a copy of the gradients for each level of the tree. A step of one micro-batch costs
 * nothing.
 *
 * "fast": a rank adds up its micro-batches in place, and MPI adds up the ranks in its own order.
 * It needs no copies, and the last digits depend on the number of ranks.
 *
 * In bfloat16 on the wire ("halves"), an exact sum rounds the gradient of each micro-batch and each
 * sum of two, on one rank as on many, so any number of ranks still gives the same bits. A fast one
 * rounds the sum of each rank and the whole sum; one rank rounds nothing.
 */
import type { FloatArray } from "../../core/vector_arithmetic.ts";
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { TrainableArena } from "../../models/network/types.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import type { PartialSum } from "../../cluster/ranks/vector_sum.ts";
import { PartialSums, type TreeNode } from "../../cluster/ranks/sum_tree.ts";
import type { Shards } from "./shards.ts";

export type Reduction = "exact" | "fast";

/** Bytes of copies up to which "auto" is "exact". */
const AUTO_BYTES = 2 ** 28;

/** Values that MPI sums at a time: 128 MB of floats. */
export const MESSAGE = 2 ** 25;

/**
 * Maximum number of copies of the gradients that an exact sum has at a time on one rank; on
 * several, no rank has more.
 */
function sumCopies(microBatches: number): number {
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

export interface GradientSumOptions {
  reduction?: Reduction;
  /** Default: one rank alone. */
  ranks?: Ranks;
  /** Given: each rank gets only the gradients that its part of the optimizer needs. */
  shards?: Shards | null;
  /** Whether gradients are bfloat16 on their way between ranks (`training.reduce_dtype`). */
  halves?: boolean;
}

export class GradientSum {
  readonly ranks: Ranks;

  /** @param device the device of the model; null is enough for "fast" on one rank */
  constructor(
    private readonly model: Pick<CausalLM, "zeroGrad" | "trainableArenas">,
    private readonly device: Device | null = null,
    private readonly options: GradientSumOptions = {},
  ) {
    this.ranks = options.ranks ?? ALONE;
  }

  get #halves(): boolean {
    return this.options.halves ?? false;
  }

  /**
   * Zeroes the gradients, then computes the sum over micro-batches 0 … count − 1, on all ranks.
   * @param backward adds the gradient of a micro-batch to those of the model
   * @returns what `backward` returned for every micro-batch, in their order
   */
  async over<T>(count: number, backward: (microBatch: number) => Promise<T>): Promise<T[]> {
    const { reduction = "fast" } = this.options;
    if (reduction === "fast") return await this.#inPlace(count, backward);
    const rounding = this.#halves ? new GradientRounding(this.device!, this.#longest()) : null;
    try {
      if (count > 1 || this.ranks.size > 1) return await this.#exact(count, backward, rounding);
      const results = await this.#inPlace(count, backward);
      for (const { grad, length } of this.model.trainableArenas) rounding?.round(grad, length);
      return results;
    } finally {
      rounding?.dispose();
    }
  }

  async #exact<T>(
    count: number,
    backward: (microBatch: number) => Promise<T>,
    rounding: GradientRounding | null,
  ): Promise<T[]> {
    const device = this.device!, arenas = this.model.trainableArenas;
    const free = (copies: readonly Tensor[]) => copies.forEach((copy) => device.free(copy));
    const rounded = (copies: readonly Tensor[]) => {
      for (const [i, copy] of copies.entries()) rounding?.round(copy, arenas[i]!.length);
      return copies;
    };
    const sums = new PartialSums<readonly Tensor[]>(count, (left, right) => {
      for (const [i, sum] of left.entries()) {
        device.run("add", { a: sum, b: right[i]!, out: sum, n: arenas[i]!.length });
      }
      free(right);
      return rounded(left);
    });
    try {
      const results = await this.ranks.map(count, async (index) => {
        this.model.zeroGrad();
        const result = await backward(index);
        sums.push({ level: 0, index }, rounded(this.#copies()));
        return result;
      });
      for (const [i, arena] of arenas.entries()) {
        const { grad, length } = arena;
        if (this.ranks.size === 1) {
          device.run("copy", { src: sums.values[0]!.value[i]!, out: grad, n: length });
          continue;
        }
        const own = sums.values.map(({ node, value }) => this.#partial(node, value[i]!));
        await this.#sum(arena, count, own, this.#halves);
      }
      return results;
    } finally {
      sums.values.forEach(({ value }) => free(value));
    }
  }

  /** The sum of all ranks into the gradients, or this rank's part of it. */
  async #sum(
    arena: TrainableArena,
    count: number,
    own: readonly PartialSum[],
    rounded: boolean,
  ): Promise<void> {
    const device = this.device!, { grad, length } = arena, halves = this.#halves;
    const slices = this.options.shards?.gradients(arena);
    const vector = {
      length,
      create: (n: number) => device.float === "f64" ? new Float64Array(n) : new Float32Array(n),
      write: (values: FloatArray, at: number) => device.write(grad, values, at),
    };
    const options = { ...(slices === undefined ? {} : { slices }), halves, rounded };
    await this.ranks.sum(count, own, vector, options);
  }

  #partial(node: TreeNode, tensor: Tensor): PartialSum {
    const device = this.device!, direct = device.direct?.(tensor);
    return {
      node,
      read: async (begin, end) =>
        direct?.subarray(begin, end) ??
          await device.read(tensor, begin, end - begin) as FloatArray,
    };
  }

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
    const results = await this.ranks.map(count, backward);
    const { size, rank } = this.ranks;
    if (size === 1) return results;
    for (const arena of this.model.trainableArenas) {
      const device = this.device!, { grad, length } = arena;
      if (this.#halves) {
        // MPI cannot add halves in float32, so the ranks do it.
        const node = { level: 0, index: rank };
        await this.#sum(arena, size, [this.#partial(node, grad)], false);
        continue;
      }
      for (let begin = 0; begin < length; begin += MESSAGE) {
        const n = Math.min(MESSAGE, length - begin), direct = device.direct?.(grad);
        const values = direct?.subarray(begin, begin + n) ??
          await device.read(grad, begin, n) as FloatArray;
        await this.ranks.sumFast(values);
        if (direct === undefined) device.write(grad, values, begin);
      }
    }
    return results;
  }

  #longest(): number {
    return Math.max(...this.model.trainableArenas.map(({ length }) => length));
  }
}

const CHUNK = 2 ** 22;

/** Rounds gradients on their device to bfloat16, to the nearest; they stay floats. */
export class GradientRounding {
  /** bfloat16 values, and what they leave. */
  readonly #scratch: { weight: Tensor; rest: Tensor };

  /** @param most elements of the longest gradients */
  constructor(private readonly device: Device, most: number) {
    const words = Math.min(most, CHUNK) / 2;
    this.#scratch = {
      weight: device.create("u32", words, "rounded gradients"),
      rest: device.create("u32", words, "rest of rounded gradients"),
    };
  }

  /** @param n even */
  round(values: Tensor, n: number): void {
    const { device } = this;
    for (let begin = 0; begin < n; begin += CHUNK) {
      const count = Math.min(CHUNK, n - begin), x = values.view(begin, count);
      const weight = this.#scratch.weight.view(0, count / 2);
      // With a rest, the rounding is to the nearest.
      const rest = this.#scratch.rest.view(0, count / 2);
      const unused = { first: 0, c1: 0, c2: 0, c3: 0, seedLow: 0, seedHigh: 0 };
      device.run("round_bf16", { x, weight, rest, n: count, ...unused });
      device.run("widen_bf16", { weight, out: x, n: count });
    }
  }

  dispose(): void {
    for (const tensor of Object.values(this.#scratch)) this.device.free(tensor);
  }
}
