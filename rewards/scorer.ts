/**
 * A rubric has one scorer per reward. It scores a whole batch and never fails as a whole. Rewards
 * of the program run in its own thread (`in_process_scorer.ts`), files of users in processes of
 * their own (`custom/`).
 */
import { RgxError } from "../core/errors.ts";
import type { ExtraValue, RewardBase, RewardSample, RewardValue, SamplePart } from "./types.ts";

/** A value, or why the reward failed: the completion then counts 0. */
export type Outcome = { value: RewardValue } | { error: string };

export interface Scorer {
  /** Name in metrics and tables. */
  readonly name: string;
  /** Whether values depend on the other samples of the batch; known after `open`. */
  readonly wholeBatch: boolean;
  /** See RewardBase; of a file known after `open`. Default none. */
  readonly needs?: readonly SamplePart[];
  /** One outcome per sample, in their order. */
  score(samples: readonly RewardSample[], notes: RewardNotes): Promise<Outcome[]>;
  /** Checks that the reward can be used. @throws UsageError */
  open?(): Promise<void>;
  /** Ends the processes that `score` has started. Scoring again starts them again. */
  close?(): Promise<void>;
}

/** A built-in reward that needs more than a function: a connection, a cache. */
export interface ScorerReward extends RewardBase {
  /** Checks parameters together. @throws UsageError whose message begins with a field */
  check(params: Record<string, unknown>): void;
  /**
   * @param name name in metrics and tables
   * @param timeout seconds for one value, where the section has one
   * @throws UsageError for parameters that do not fit together
   * @internal
   */
  createScorer(name: string, params: Record<string, unknown>, timeout?: number): Scorer;
}

/** Fields of each line of metrics.jsonl that no reward may set. */
const LINE_FIELDS = ["step", "epoch", "split", "event"];

/** The values that rewards log while a batch is scored. */
export class RewardNotes {
  readonly #logged = new Map<string, number[]>();
  readonly #columns = new Map<string, ExtraValue[]>();
  readonly #sums = new Map<string, number>();
  readonly #warnings: string[] = [];

  /** @param taken names of the existing columns of the table of completions */
  constructor(private readonly rows: number, private readonly taken: readonly string[]) {}

  /** @throws RgxError for an invalid name or value */
  log(name: string, value: number): void {
    if (typeof name !== "string" || name === "" || LINE_FIELDS.includes(name)) {
      throw new RgxError(`log: ${show(name)} cannot be the name of a metric`);
    }
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new RgxError(`log: ${name}: expected a finite number, found ${show(value)}`);
    }
    const values = this.#logged.get(name);
    if (values === undefined) this.#logged.set(name, [value]);
    else values.push(value);
  }

  /** @throws RgxError for a column that the table has already, or an invalid value */
  logExtra(row: number, column: string, value: ExtraValue): void {
    if (typeof column !== "string" || column === "" || this.taken.includes(column)) {
      throw new RgxError(`logExtra: ${show(column)} cannot be the name of an extra column`);
    }
    if (value !== null && !["string", "number", "boolean"].includes(typeof value)) {
      throw new RgxError(
        `logExtra: ${column}: expected text, a number, true, false or null, found ${show(value)}`,
      );
    }
    let cells = this.#columns.get(column);
    if (cells === undefined) {
      this.#columns.set(column, cells = new Array<ExtraValue>(this.rows).fill(null));
    }
    cells[row] = value;
  }

  /** Adds to a metric that is summed over all completions, such as the cost of a scorer. */
  add(name: string, amount: number): void {
    this.#sums.set(name, (this.#sums.get(name) ?? 0) + amount);
  }

  /** Adds to the price of a reward. @throws RgxError for an invalid amount */
  addCost(reward: string, amount: number): void {
    if (typeof amount !== "number" || !(amount >= 0 && amount < Infinity)) {
      throw new RgxError(`addCost: expected a number that is not negative, found ${show(amount)}`);
    }
    this.add(`rewards/${reward}/cost`, amount);
  }

  /** A warning for the user that makes no completion fail. */
  warn(message: string): void {
    this.#warnings.push(message);
  }

  /** Name → sum of the added values. */
  sums(): ReadonlyMap<string, number> {
    return this.#sums;
  }

  warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Name → all values that were logged under it. */
  logged(): ReadonlyMap<string, readonly number[]> {
    return this.#logged;
  }

  /** Column → one cell per sample; null where nothing was logged. */
  columns(): ReadonlyMap<string, readonly ExtraValue[]> {
    return this.#columns;
  }
}

/** The value, if it is valid for a reward. @throws RgxError */
export function checkValue(value: unknown): RewardValue {
  if (value === null || typeof value === "number" && Number.isFinite(value)) return value;
  throw new RgxError(`returned ${show(value)}, a finite number or null is expected`);
}

/** The values of a batch, if there are so many. @throws RgxError */
export function checkBatch(values: unknown, count: number): readonly unknown[] {
  if (Array.isArray(values) && values.length === count) return values;
  throw new RgxError(`returned ${show(values)}, a list of ${count} is expected`);
}

/** A value of any kind, short enough for a message. */
export function show(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 40 ? value.slice(0, 39) + "…" : value);
  }
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
