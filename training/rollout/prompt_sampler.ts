/**
 * Which prompts an optimizer step trains on: a permutation of the training problems per epoch, cut
 * into chunks, the last incomplete chunk dropped (TRL's RepeatSampler; the permutation comes from
 * rgx's counter-based source). A pure function of (seed, epoch, index), so there is nothing to
 * save.
 */
import { UsageError } from "../../core/errors.ts";
import { RandomStream } from "../../core/philox.ts";

export interface SamplerOptions {
  /** Number of training problems. */
  count: number;
  /** Problems per step. */
  chunk: number;
  seed: number;
  /** False: 0, 1, 2, … in every epoch. */
  shuffle: boolean;
  /** What the order is for: different names give independent orders. */
  name: string;
}

export class PromptSampler {
  readonly chunksPerEpoch: number;
  #epoch = -1;
  #order: number[] = [];

  /** @throws UsageError when not even one chunk can be filled. */
  constructor(readonly options: SamplerOptions) {
    const { count, chunk } = options;
    this.chunksPerEpoch = Math.floor(count / chunk);
    if (this.chunksPerEpoch < 1) {
      throw new UsageError(
        `${options.name}: a step takes ${chunk} different problems, the training set has ${count}`,
        { advice: "Raise data.num_examples (and data.max_examples) or lower the batch size." },
      );
    }
  }

  /** Problem indices of step k = 0, 1, 2, …, each once. */
  at(k: number): { epoch: number; indices: number[] } {
    const { chunk } = this.options;
    const first = k * chunk;
    return {
      epoch: Math.floor(k / this.chunksPerEpoch),
      indices: Array.from({ length: chunk }, (_, i) => this.draw(first + i)),
    };
  }

  /** Problem index of draw n = 0, 1, 2, … of the run: step k has the draws from k·chunk on. */
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
