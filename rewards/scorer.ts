/**
 * A rubric has one scorer per reward. It scores a whole batch and never fails as a whole. Rewards
 * of the program run in its own thread, files of users in processes of their own (`custom/`).
 */
import { messageOf, RgxError } from "../core/errors.ts";
import { inTime } from "./time_limit.ts";
import type {
  ExtraValue,
  Reward,
  RewardBase,
  RewardInput,
  RewardSample,
  RewardValue,
  SamplePart,
} from "./types.ts";
import type { CallLimits } from "../core/sandbox/sandbox_calls.ts";

/** A value, or why the reward failed: the completion then counts 0. */
export type Outcome = { value: RewardValue } | { error: string };

export interface Scorer {
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
   * Makes the scorer of one reward of a rubric.
   * @throws UsageError for parameters that do not fit together
   * @internal
   */
  createScorer(name: string, params: Record<string, unknown>, timeout?: number): Scorer;
}

/** Fields of each line of metrics.jsonl that no reward may set. */
const LINE_FIELDS = ["step", "epoch", "split", "event"];

export class RewardNotes {
  /** Name → all values that were logged under it. */
  readonly logged: Map<string, number[]> = new Map();
  /** Column → one cell per sample; null where nothing was logged. */
  readonly columns: Map<string, ExtraValue[]> = new Map();
  /** Name → sum of the added values. */
  readonly sums: Map<string, number> = new Map();
  /** Warnings for the user that make no completion fail. */
  readonly warnings: string[] = [];

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
    const values = this.logged.get(name);
    if (values === undefined) this.logged.set(name, [value]);
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
    const cells = this.columns.get(column) ?? Array<ExtraValue>(this.rows).fill(null);
    this.columns.set(column, cells);
    cells[row] = value;
  }

  /** Adds to a metric that is summed over all completions, such as the cost of a scorer. */
  add(name: string, amount: number): void {
    this.sums.set(name, (this.sums.get(name) ?? 0) + amount);
  }

  /** Adds to the price of a reward. @throws RgxError for an invalid amount */
  addCost(reward: string, amount: number): void {
    if (typeof amount !== "number" || !(amount >= 0 && amount < Infinity)) {
      throw new RgxError(`addCost: expected a number that is not negative, found ${show(amount)}`);
    }
    this.add(costOf(reward), amount);
  }
}

export const costOf = (reward: string) => `rewards/${reward}/cost`;

/** A sample as a reward gets it, whose notes go to those of its row. */
export function inputOf(
  reward: string,
  sample: RewardSample,
  row: number,
  notes: RewardNotes,
): RewardInput {
  return {
    ...sample,
    log: (name, value) => notes.log(name, value),
    logExtra: (column, value) => notes.logExtra(row, column, value),
    addCost: (amount) => notes.addCost(reward, amount),
  };
}

/** @param timeout seconds for each sample */
export async function batchOutcomes(
  compute: () => unknown,
  count: number,
  timeout: number,
  explain: (error: unknown) => string = messageOf,
): Promise<Outcome[]> {
  try {
    return checkBatch(await inTime(compute(), timeout * count), count).map((value): Outcome => {
      try {
        return { value: checkValue(value) };
      } catch (error) {
        return { error: messageOf(error) };
      }
    });
  } catch (error) {
    return Array<Outcome>(count).fill({ error: explain(error) });
  }
}

/**
 * In the thread of the program: the reward is trusted not to hang.
 * @param timeout seconds for a promise; of a batch, for each sample
 */
export function inProcessScorer(
  name: string,
  reward: Reward,
  params: Record<string, unknown>,
  timeout: number,
): Scorer {
  const about = { name, needs: reward.needs ?? [] };
  const inputsOf = (samples: readonly RewardSample[], notes: RewardNotes) =>
    samples.map((sample, row) => inputOf(name, sample, row, notes));
  if ("computeBatch" in reward) {
    return {
      ...about,
      wholeBatch: true,
      score(samples, notes) {
        const inputs = inputsOf(samples, notes);
        return batchOutcomes(() => reward.computeBatch(inputs, params), inputs.length, timeout);
      },
    };
  }
  const one = async (input: RewardInput): Promise<Outcome> => {
    try {
      return { value: checkValue(await inTime(reward.compute(input, params), timeout)) };
    } catch (error) {
      return { error: messageOf(error) };
    }
  };
  return {
    ...about,
    wholeBatch: false,
    score: (samples, notes) => Promise.all(inputsOf(samples, notes).map(one)),
  };
}

/** The value, if it is valid for a reward. @throws RgxError */
export function checkValue(value: unknown): RewardValue {
  if (value === null || typeof value === "number" && Number.isFinite(value)) return value;
  throw new RgxError(`returned ${show(value)}, a finite number or null is expected`);
}

/** The values of a batch, if there are so many. @throws RgxError */
function checkBatch(values: unknown, count: number): readonly unknown[] {
  if (Array.isArray(values) && values.length === count) return values;
  throw new RgxError(`returned ${show(values)}, a list of ${count} is expected`);
}

/** A value of any kind, short enough for a message. */
function show(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 40 ? value.slice(0, 39) + "…" : value);
  }
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

export interface Limits extends CallLimits {
  /** Number of further attempts after an exception. */
  retries: number;
}

/** A value, or the reason why there is none, and the notes of the reward. */
export interface Scored {
  result: { value: RewardValue } | { error: string };
  late?: boolean;
  logged: (readonly [name: string, value: number])[];
  extras: (readonly [column: string, cell: Cell])[];
  cost: number;
}

export interface AboutReward {
  /** It exports computeBatch. */
  wholeBatch: boolean;
  /** Its export `needs`; default none. */
  needs: readonly SamplePart[];
}

/** A cell of an extra column. Numbers that JSON does not have are sent as text. */
export type Cell = ExtraValue | { number: string };

export function encodeCell(value: ExtraValue): Cell {
  return typeof value !== "number" || Number.isFinite(value) ? value : { number: String(value) };
}

export function decodeCell(cell: Cell): ExtraValue {
  return typeof cell === "object" && cell !== null ? Number(cell.number) : cell;
}
