/**
 * The order of the training problems: in each epoch a permutation of them, cut into chunks; the
 * last incomplete chunk is dropped (TRL's RepeatSampler, with rgx's counter-based random numbers).
 * It is a pure function of (seed, epoch, index), so a checkpoint needs no state of it.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import { RandomStream } from "../../core/philox.ts";

type OrderKeys = Pick<RunConfig["training"], "data_seed" | "seed" | "shuffle_dataset">;

export class ProblemOrder {
  readonly chunksPerEpoch: number;
  #epoch = -1;
  #order: number[] = [];

  /**
   * @param name different phases have independent orders
   * @throws UsageError for fewer problems than a chunk
   */
  constructor(
    private readonly keys: OrderKeys,
    private readonly count: number,
    private readonly chunk: number,
    private readonly name: "GRPO" | "warm start",
  ) {
    this.chunksPerEpoch = Math.floor(count / chunk);
    if (this.chunksPerEpoch >= 1) return;
    const key = name === "warm start"
      ? "sft.per_device_train_batch_size"
      : "training.per_device_train_batch_size or gradient_accumulation_steps";
    throw new UsageError(
      `${name}: a step takes ${chunk} different problems, the training set has ${count}`,
      {
        advice: `Lower the batch size (${key}), or have more problems: of a task ` +
          "data.num_examples, of a file rows, which data.max_examples may cut.",
      },
    );
  }

  /** Indices of the problems of chunk k = 0, 1, 2, …, all different. */
  at(k: number): number[] {
    return Array.from({ length: this.chunk }, (_, i) => this.draw(k * this.chunk + i));
  }

  /** The problem of draw n of the run; chunk k has the draws from k·chunk on. */
  draw(n: number): number {
    const perEpoch = this.chunksPerEpoch * this.chunk, epoch = Math.floor(n / perEpoch);
    if (epoch !== this.#epoch) {
      const { data_seed, seed, shuffle_dataset } = this.keys;
      const order = Array.from({ length: this.count }, (_, i) => i);
      const stream = RandomStream.forPurpose(data_seed ?? seed, "shuffle", this.name, epoch);
      this.#order = shuffle_dataset ? stream.shuffle(order) : order;
      this.#epoch = epoch;
    }
    return this.#order[n % perEpoch]!;
  }
}
