/**
 * What a rubric is made of: one scorer a reward, which scores a whole batch and never fails as a whole.
 * Rewards of the program run in its own thread (`in_process.ts`), files of users in processes of their own
 * (`custom/`).
 */
import { RgxError } from "../core/errors.ts";
import type { ExtraValue, RewardSample, RewardValue } from "./types.ts";

/** A completion that a reward failed on counts 0, with the reason. */
export type Outcome = { value: RewardValue } | { error: string };

export interface Scorer {
  /** Name in metrics and tables. */
  readonly name: string;
  /** One outcome for each sample, in their order. */
  score(samples: readonly RewardSample[], notes: RewardNotes): Promise<Outcome[]>;
  /** Finds out whether the reward can be used at all. @throws UsageError */
  open?(): Promise<void>;
  /** Ends what `score` has started; scoring again starts it again. */
  close?(): Promise<void>;
}

/** Fields of every line of metrics that no reward may set. */
const LINE_FIELDS = ["step", "epoch", "split", "event"];

/** Values that rewards logged while a batch was scored. */
export class RewardNotes {
  readonly #logged = new Map<string, { sum: number; count: number }>();
  readonly #columns = new Map<string, ExtraValue[]>();

  /** @param taken names of columns that the table of completions has already */
  constructor(private readonly rows: number, private readonly taken: readonly string[]) {}

  /** @throws RgxError for what is no metric */
  log(name: string, value: number): void {
    if (typeof name !== "string" || name === "" || LINE_FIELDS.includes(name)) {
      throw new RgxError(`log: ${show(name)} cannot be the name of a metric`);
    }
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new RgxError(`log: ${name}: expected a finite number, found ${show(value)}`);
    }
    const mean = this.#logged.get(name) ?? { sum: 0, count: 0 };
    this.#logged.set(name, { sum: mean.sum + value, count: mean.count + 1 });
  }

  /** @throws RgxError for a column of the table's own, or a value that is no cell */
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

  /** Means by name. */
  metrics(): Record<string, number> {
    return Object.fromEntries(
      [...this.#logged].map(([name, { sum, count }]) => [name, sum / count]),
    );
  }

  /** Column → one cell a sample; null where nothing was logged. */
  columns(): ReadonlyMap<string, readonly ExtraValue[]> {
    return this.#columns;
  }
}

/** The value when it is one that a reward may give. @throws RgxError */
export function checkValue(value: unknown): RewardValue {
  if (value === null || typeof value === "number" && Number.isFinite(value)) return value;
  throw new RgxError(`returned ${show(value)}, a finite number or null is expected`);
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
