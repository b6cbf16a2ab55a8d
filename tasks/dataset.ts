/**
 * The data set of one task for one configuration, seed and split. Entries are made on request.
 * Entry i is a pure function of (task, parameters, seed, split, i): it does not depend on the size,
 * on earlier entries or on the clock. The splits draw from disjoint key spaces.
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { RandomStream, SPLIT, type Split } from "../core/philox.ts";
import { getTask, resolveTaskConfig, scoreTaskAnswer } from "./registry.ts";
import type { ParamValue } from "../core/named_params.ts";
import type { Entry, ScorableEntry, Task } from "./types.ts";

export { scoreAnswer } from "./registry.ts";

/** Options of `createDataset`. */
export interface DatasetOptions {
  /**
   * Number of entries per iteration. Default: the task's own, usually 500. Higher indices work too.
   */
  size?: number;
  /** Non-negative integer. When null or missing, a seed is drawn and recorded in `config.seed`. */
  seed?: number | null;
  /** Default: train. Entries of different splits are drawn from different random numbers. */
  split?: Split;
  /** Parameters of the task. */
  [param: string]: unknown;
}

/** A generated data set. It can be iterated, or asked for any index ≥ 0. */
export class Dataset implements Iterable<Entry> {
  /** Name of the task. */
  readonly name: string;
  /** Number of entries of an iteration. */
  readonly length: number;
  /** The split that entries are drawn for. */
  readonly split: Split;
  /** All parameters of the task, with `seed` and `size`. */
  readonly config: Readonly<Record<string, ParamValue>>;
  readonly #task: Task;
  readonly #params: Record<string, ParamValue>;
  readonly #seed: number;
  readonly #opened: ((index: number) => Entry) | null;
  /** The values of the fields that the attributes of the curriculum set. */
  readonly #difficulty: Readonly<Record<string, unknown>>;

  /** Prepares a data set; entries are made when they are asked for. */
  constructor(name: string, options: DatasetOptions = {}) {
    const { size, seed, split = "train", ...params } = options;
    this.#task = getTask(name);
    this.#params = resolveTaskConfig(name, params);
    this.name = name;
    this.length = size ?? this.#task.defaultSize ?? 500;
    if (!Number.isSafeInteger(this.length) || this.length < 1) {
      throw new UsageError(`task ${name}: size: must be an integer of at least 1, found ${size}`);
    }
    this.#seed = seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
    if (!Number.isSafeInteger(this.#seed) || this.#seed < 0) {
      throw new UsageError(`task ${name}: seed: must be an integer of at least 0, found ${seed}`);
    }
    if (!Object.hasOwn(SPLIT, split)) {
      throw new UsageError(
        `task ${name}: split: must be one of ${Object.keys(SPLIT).join(", ")}; found "${split}"`,
      );
    }
    this.split = split;
    this.config = { ...this.#params, seed: this.#seed, size: this.length };
    const values = this.#params, { curriculum = [] } = this.#task;
    this.#difficulty = Object.fromEntries(
      curriculum.map(({ name, field, lowerField, upperField }) => [
        name,
        field === undefined ? [values[lowerField!], values[upperField!]] : values[field],
      ]),
    );
    const openOptions = { seed: this.#seed, size: this.length, split, create: createDataset };
    this.#opened = this.#task.open?.(this.#params, openOptions) ?? null;
  }

  /** Returns entry `index` ≥ 0, which may be beyond `length`. */
  entry(index: number): Entry {
    if (!Number.isSafeInteger(index) || index < 0) {
      throw new UsageError(
        `task ${this.name}: an entry's index is an integer of at least 0, found ${index}`,
      );
    }
    if (this.#opened !== null) return this.#opened(index);
    const generated = this.#generate(index);
    const { question, answer, metadata } = generated;
    const difficulty = generated.difficulty ?? { ...this.#difficulty };
    return {
      question,
      answer,
      metadata: { source_dataset: this.name, source_index: index, ...metadata, difficulty },
    };
  }

  #generate(index: number) {
    const random = RandomStream.forTask(this.#seed, this.split, this.name, index);
    try {
      return this.#task.generate(random, this.#params, index);
    } catch (cause) {
      // V8 throws a RangeError for an array, a BigInt or a stack that is too large.
      if (!(cause instanceof RangeError)) throw cause;
      const changed = Object.entries(this.#params)
        .filter(([field, value]) => value !== this.#task.params[field]!.default)
        .filter(([, value]) => typeof value === "number")
        .map(([field, value]) => `${field} = ${value}`);
      throw new RgxError(
        `task ${this.name}: entry ${index} is too large to be made` +
          (changed.length > 0 ? ` with ${changed.join(", ")}` : ""),
        { cause, advice: "choose smaller values" },
      );
    }
  }

  /** All entries in order, each made when it is reached. */
  *[Symbol.iterator](): IterableIterator<Entry> {
    for (let index = 0; index < this.length; index++) yield this.entry(index);
  }

  /** Returns the score in [0, 1] of an answer to an entry of this task. */
  scoreAnswer(answer: string | null, entry: ScorableEntry): number {
    return scoreTaskAnswer(this.name, answer, entry);
  }
}

/**
 * Creates the data set of a task.
 * @throws UsageError for an unknown task, field or value
 */
export function createDataset(name: string, options: DatasetOptions = {}): Dataset {
  return new Dataset(name, options);
}
