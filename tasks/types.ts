/**
 * The protocol of a reasoning task. A task is one file that exports one {@link Task}; the registry lists
 * it; nothing else has to change. Names, parameters, metadata keys and scores are reasoning-gym's, so
 * entries can be exchanged in both directions; the wording of questions is rgx's own.
 */
import type { RandomStream, Split } from "../core/philox.ts";

/** One problem. JSON-serialisable. */
export interface Entry {
  question: string;
  /** null where many answers are right (an example is then in the metadata). */
  answer: string | null;
  /** Always has `source_dataset`, `source_index`, `difficulty`. */
  metadata: Record<string, unknown>;
}

/** What a scorer may rely on: entries from elsewhere can lack the question, the answer or metadata keys. */
export interface ScorableEntry {
  question?: string;
  answer?: string | null;
  metadata?: Record<string, unknown>;
}

/** What a parameter may be: any JSON value. */
export type ParamValue = number | string | boolean | null | ParamValue[] | {
  [key: string]: ParamValue;
};

/** One parameter of a task: its type and default are checked before a data set is made. */
export interface ParamSpec {
  type: "int" | "float" | "string" | "bool" | "int[]" | "float[]" | "string[]" | "any";
  default: ParamValue;
  nullable?: boolean;
  /** Allowed values of a string (or of the elements of a string[]). */
  values?: readonly string[];
  /** Smallest and largest allowed number (or element of a number list), both inclusive. */
  min?: number;
  max?: number;
  description: string;
}

/** A curriculum attribute: difficulty levels of one field (scalar) or of a lower/upper pair (range). */
export interface CurriculumAttribute {
  name: string;
  levels: readonly ParamValue[];
  field?: string;
  lowerField?: string;
  upperField?: string;
  ensureInterval?: boolean;
  description: string;
}

/** What a generator draws: the registry adds source_dataset, source_index and difficulty. */
export interface Generated {
  question: string;
  answer: string | null;
  metadata: Record<string, unknown>;
  /** The ranges and values that set the difficulty; a plain number only where the field has one (gsm_symbolic). */
  difficulty: Record<string, unknown> | number;
}

/** What a data set is opened with beside its parameters. */
export interface OpenOptions {
  seed: number;
  size: number;
  split: Split;
  /** Makes the data set of another task. */
  create(name: string, options: Record<string, unknown>): { entry(index: number): Entry };
}

/** A complete parameter set of one task; `C` is the task's own interface. */
export interface Task<C extends object = Record<string, ParamValue>> {
  name: string;
  category: string;
  /** One line for `rgx tasks list`. */
  description: string;
  /** The scoring rule in words, for `rgx tasks show`. */
  scoring: string;
  params: { readonly [K in keyof C]: ParamSpec };
  /** Entries of a data set whose size is not given (500). */
  defaultSize?: number;
  /**
   * Constraint violations beyond what the registry checks by itself (type, `min`, `max`, `values`, and
   * `min_x ≤ max_x` of every such pair); each begins with `field: ` and names the values found.
   */
  validate?(config: C): string[];
  /**
   * Curriculum levels can break a rule between two fields, which `min` and `max` cannot mend: sets the nearest
   * valid values in place and returns one note for each, like "max_empty: 16 is above …, 9 is used".
   */
  clamp?(config: C): string[];
  /** Entry `index`: a pure function of its arguments. */
  generate(random: RandomStream, config: C, index: number): Generated;
  /** In place of `generate`, for a task that is made of others: its entries, complete. */
  open?(config: C, options: OpenOptions): (index: number) => Entry;
  /** Parameters to show it with, where the defaults alone are not enough to make an entry. */
  example?: Partial<C>;
  /** Score in [0, 1] of a non-blank answer. Must not throw and must not need more than the entry. */
  score(answer: string, entry: ScorableEntry): number;
  /** True when a blank answer may be right (the oracle itself can be empty). */
  acceptsBlank?: boolean;
  curriculum?: readonly CurriculumAttribute[];
}
