/**
 * The order of the training problems: in each epoch a permutation of them, cut into chunks; the
 * last incomplete chunk is dropped (TRL's RepeatSampler, with rgx's counter-based random numbers).
 * It is a pure function of (seed, epoch, index), so a checkpoint needs no state of it.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import { RandomStream } from "../../core/philox.ts";

export interface SamplerOptions {
  /** Number of training problems. */
  count: number;
  /** Problems of each chunk. */
  chunk: number;
  seed: number;
  /** False: 0, 1, 2, … in every epoch. */
  shuffle: boolean;
  /** Purpose of the order: different names give independent orders. */
  name: string;
}

/** The order of a run's problems in chunks, for one of its phases. @throws UsageError */
export function problemOrder(
  { data_seed, seed, shuffle_dataset: shuffle }: RunConfig["training"],
  count: number,
  chunk: number,
  name: "GRPO" | "warm start",
): PromptSampler {
  return new PromptSampler({ count, chunk, seed: data_seed ?? seed, shuffle, name });
}

export class PromptSampler {
  readonly chunksPerEpoch: number;
  #epoch = -1;
  #order: number[] = [];

  /** @throws UsageError when there are fewer problems than a chunk */
  constructor(readonly options: SamplerOptions) {
    const { count, chunk } = options;
    this.chunksPerEpoch = Math.floor(count / chunk);
    if (this.chunksPerEpoch < 1) {
      throw new UsageError(
        `${options.name}: a step takes ${chunk} different problems, the training set has ${count}`,
        {
          advice: `Lower the batch size (${
            options.name === "warm start"
              ? "sft.per_device_train_batch_size"
              : "training.per_device_train_batch_size or gradient_accumulation_steps"
          }), or have more problems: of a task data.num_examples, of a file rows, which ` +
            "data.max_examples may cut.",
        },
      );
    }
  }

  /** Indices of the problems of chunk k = 0, 1, 2, …, all different. */
  at(k: number): { epoch: number; indices: number[] } {
    const { chunk } = this.options;
    const first = k * chunk;
    return {
      epoch: Math.floor(k / this.chunksPerEpoch),
      indices: Array.from({ length: chunk }, (_, i) => this.draw(first + i)),
    };
  }

  /**
   * Index of the problem of draw n = 0, 1, 2, … of the run; chunk k has the draws from k·chunk on.
   */
  draw(n: number): number {
    const perEpoch = this.chunksPerEpoch * this.options.chunk;
    const epoch = Math.floor(n / perEpoch);
    if (epoch !== this.#epoch) {
      this.#order = this.#permutation(epoch);
      this.#epoch = epoch;
    }
    return this.#order[n % perEpoch]!;
  }

  #permutation(epoch: number): number[] {
    const { count, seed, shuffle, name } = this.options;
    const order = Array.from({ length: count }, (_, i) => i);
    return shuffle ? RandomStream.forPurpose(seed, "shuffle", name, epoch).shuffle(order) : order;
  }
}
