/**
 * Helpers to write a task file: `defineTask`, and short builders for parameters and curriculum
 * attributes. The type of a configuration follows from the parameters, and so do its checks and
 * the curriculum, so each field is declared once.
 *
 *     export default defineTask({
 *       description: "Add up numbers.",
 *       …
 *       params: { terms: counts([2, 6], "terms", { min: 1, levels: [2, 4, 6] }), … },
 *       rules: { "max_terms: must be below limit": (c) => c.max_terms < c.limit },
 *       generate(random, config) { … config.min_terms is a number … },
 *       score: decimalScore,
 *     });
 *
 * Each task also needs one line in the `mod.ts` of its category, which gives it its name.
 */
import type { ParamSpec, ParamValue } from "../core/named_params.ts";
import type { CurriculumAttribute, Task } from "./types.ts";

// All other helpers of a task file. A user's file imports the same names from @rgx/rgx.
export { RandomStream } from "../core/philox.ts";
export type { Generated, ScorableEntry, Task } from "./types.ts";
export {
  decimalScore,
  defaultScore,
  exactScore,
  isOverlong,
  NUMBER_GRID,
  numberGridScore,
} from "./scoring_rules.ts";

/** A parameter whose default value determines the type of its values. */
export interface Param<T extends ParamValue> extends ParamSpec {
  /** The value where none is given. */
  default: T;
}

/** Two parameters, `min_x` and `max_x` for the name x. */
export interface Range extends Bounds, RangeLevels {
  /** The values of both where none are given. */
  ends: readonly [low: number, high: number];
  /** What they are the lowest and the highest of, in words. */
  what: string;
  /** The words for the two. */
  words: readonly [low: string, high: string];
  /** Whether they are integers. */
  whole: boolean;
}

/** The type of a configuration with these parameters. */
export type ConfigOf<P extends Record<string, ParamSpec | Range>> = {
  [K in keyof P as P[K] extends Range ? `min_${K & string}` | `max_${K & string}` : K]: P[K] extends
    ParamSpec ? P[K]["default"] : number;
};

/** Minimum and maximum of a parameter, and its levels in a curriculum. */
export interface Bounds {
  /** Lowest allowed value; absent: none. */
  min?: number;
  /** Highest allowed value; absent: none. */
  max?: number;
  /** Values from easy to hard. */
  levels?: readonly number[];
  /** Name of the attribute of a curriculum; default: that of the parameter. */
  as?: string;
}

/** Further settings of a range. */
export interface RangeLevels {
  /** Like `levels`, but both ends differ at every level. */
  spans?: readonly number[];
  /** The levels of each end by itself. */
  each?: readonly [low: readonly number[], high: readonly number[]];
  /** Whether both ends must differ. */
  apart?: boolean;
  /** More about the upper end. */
  note?: string;
}

/** A parameter that is an integer. */
export function int(value: number, description: string, bounds: Bounds = {}): Param<number> {
  return { type: "int", default: value, description, ...bounds };
}

/** The fewest and the most of something, as `min_x` and `max_x` for the name x. */
export function counts(
  ends: readonly [number, number],
  what: string,
  options: Bounds & RangeLevels = {},
): Range {
  return { ends, what, words: ["fewest", "most"], whole: true, ...options };
}

/** The smallest and the largest value of something. `real`: they need not be integers. */
export function sizes(
  ends: readonly [number, number],
  what: string,
  { real = false, ...options }: Bounds & RangeLevels & { real?: boolean } = {},
): Range {
  return { ends, what, words: ["smallest", "largest"], whole: !real, ...options };
}

/** The integers from `first` to `last`. */
export function consecutive(first: number, last: number): number[] {
  const list: number[] = [];
  for (let number = first; number <= last; number++) list.push(number);
  return list;
}

/** A parameter that is a number. */
export function float(value: number, description: string, bounds: Bounds = {}): Param<number> {
  return { type: "float", default: value, description, ...bounds };
}

/** A parameter that is true or false. */
export function bool(value: boolean, description: string): Param<boolean> {
  return { type: "bool", default: value, description };
}

/** A parameter that is a text; `values`: one of these. */
export function text(
  value: string,
  description: string,
  values?: readonly string[],
): Param<string> {
  return { type: "string", default: value, description, ...(values && { values }) };
}

/** A parameter that is a list of texts; `values`: some of these. */
export function texts(
  value: string[],
  description: string,
  values?: readonly string[],
): Param<string[]> {
  return { type: "string[]", default: value, description, ...(values && { values }) };
}

/** As `texts`, with at least one text. */
export function choices(...declared: Parameters<typeof texts>): Param<string[]> & Declared {
  return { ...texts(...declared), filled: true };
}

/** A weight for each element of the list `of`, one of them above 0. */
export function weights(
  value: number[],
  description: string,
  of: string,
  levels?: readonly ParamValue[],
): Param<number[]> & Declared {
  return { type: "float[]", default: value, description, min: 0, of, ...(levels && { levels }) };
}

/** Whether weights sum to 1, to one decimal. */
export function sumToOne(weights: readonly number[]): boolean {
  return Math.abs(weights.reduce((total, weight) => total + weight, 0) - 1) < 0.05;
}

/** As a parameter of this kind, but null where no value is given. */
export function nullable<T extends ParamValue>(param: Param<T>): Param<T | null> {
  return { ...param, default: null, nullable: true };
}

/** The levels of one attribute of a curriculum, from easy to hard. */
export interface Levels extends Pick<CurriculumAttribute, "levels" | "description"> {
  /** Whether both ends of a range must differ. */
  ensureInterval?: boolean;
  /** The field `of`, or the fields `min_of` and `max_of`. Default: the name of the attribute. */
  of?: string;
}

/** The levels of a field, or of the pair of fields of a range. */
export function levels(levels: readonly ParamValue[], description: string, of?: string): Levels {
  return { levels, description, ...(of !== undefined && { of }) };
}

/** As `levels`, of a range whose ends must differ. */
export function intervals(values: readonly number[], description: string, of?: string): Levels {
  return { ...levels(values, description, of), ensureInterval: true };
}

/**
 * A curriculum attribute with names of fields of its own, for a curriculum that is a list.
 */
export function rangeAttribute(
  name: string,
  [lowerField, upperField]: readonly [string, string],
  levels: readonly number[],
  description: string,
  options: { ensureInterval?: boolean } = {},
): CurriculumAttribute {
  return { name, lowerField, upperField, levels, description, ...options };
}

/** Rules between parameters, as "field: must be …". */
export type Rules<C> = Readonly<Record<string, (config: C) => boolean>>;

/**
 * A task as it is declared. The types of its parameters follow from their defaults. Only a task of
 * rgx may leave out its name and category, which are those of its line in a `mod.ts`.
 */
export type TaskDeclaration<P extends Record<string, ParamSpec | Range>> =
  & Omit<Task<ConfigOf<P>>, "params" | "curriculum" | "name" | "category">
  & Partial<Pick<Task, "name" | "category">>
  & {
    params: P;
    curriculum?: Readonly<Record<string, Levels>> | readonly CurriculumAttribute[];
    rules?: Rules<ConfigOf<P>>;
  };

/**
 * Completes a task. The returned type hides the configuration type, so that one registry can hold
 * all tasks.
 */
export function defineTask<P extends Record<string, ParamSpec | Range>>(
  { params: declared, curriculum, rules = {}, validate, clamp, ...task }: TaskDeclaration<P>,
): Task {
  const params: Record<string, ParamSpec> = {}, attributes: CurriculumAttribute[] = [];
  const checks: ((config: Config) => string[])[] = [], apart: string[] = [];
  for (const [name, param] of Object.entries<ParamSpec | Range>(declared)) {
    if ("ends" in param) {
      attributes.push(...addRange(params, name, param));
      if (param.apart) apart.push(name);
      continue;
    }
    const { levels, as = name, filled, of, ...spec } = param as ParamSpec & Declared;
    params[name] = spec;
    if (levels) attributes.push({ name: as, levels, field: name, description: spec.description });
    if (filled) checks.push((config) => mustNotBeEmpty(name, config));
    if (of !== undefined) checks.push((config) => weightErrors(name, of, config));
  }
  checks.push(...apart.map((name) => (config: Config) => mustBeApart(name, config)));
  checks.push(
    ...Object.entries(rules).map(([rule, holds]) => (config: Config) =>
      broken(rule, holds as (config: Config) => boolean, config)
    ),
  );
  if (validate) checks.push(validate as unknown as (config: Config) => string[]);
  const clamps = apart.map((name) => (config: Config) => moveApart(name, params, config));
  if (clamp) clamps.push(clamp as unknown as (config: Config) => string[]);
  if (curriculum !== undefined) {
    attributes.push(
      ...isList(curriculum)
        ? curriculum
        : Object.entries(curriculum).map(([name, levels]) => attribute(name, levels, params)),
    );
  }
  return {
    ...task,
    params,
    ...(attributes.length > 0 && { curriculum: attributes }),
    ...(checks.length > 0 && { validate: (config) => checks.flatMap((check) => check(config)) }),
    ...(clamps.length > 0 && { clamp: (config) => clamps.flatMap((repair) => repair(config)) }),
  } as Task;
}

type Config = Record<string, ParamValue>;

/** Further settings of a parameter, besides its specification. */
interface Declared {
  levels?: readonly ParamValue[];
  as?: string;
  filled?: true;
  of?: string;
}

/** Adds both parameters of a range, and returns the attributes that its levels are. */
function addRange(
  params: Record<string, ParamSpec>,
  name: string,
  { ends, what, words, whole, min, max, levels, spans, each, as = name, note }: Range,
): CurriculumAttribute[] {
  const fields = [`min_${name}`, `max_${name}`] as const;
  fields.forEach((field, end) => {
    params[field] = {
      type: whole ? "int" : "float",
      default: ends[end]!,
      description: `${words[end]} ${what}${end === 1 ? note ?? "" : ""}`,
      ...(min !== undefined && { min }),
      ...(max !== undefined && { max }),
    };
  });
  if (each) {
    return fields.map((field, end) => {
      const { description } = params[field]!;
      return { name: field, field, levels: each[end]!, description };
    });
  }
  const values = levels ?? spans;
  if (values === undefined) return [];
  const [lowerField, upperField] = fields;
  const range = { name: as, lowerField, upperField, levels: values, description: what };
  return [spans ? { ...range, ensureInterval: true } : range];
}

function mustNotBeEmpty(field: string, config: Config): string[] {
  const list = config[field] as string[] | null;
  return list?.length === 0 ? [`${field}: must name at least one, found an empty list`] : [];
}

function weightErrors(field: string, of: string, config: Config): string[] {
  const weights = config[field] as number[], list = config[of] as ParamValue[];
  if (weights.length !== list.length) {
    return [
      `${field}: must have one weight for each of the ${list.length} ${of}, found ` +
      `${weights.length}`,
    ];
  }
  const isSome = weights.some((weight) => weight > 0);
  return isSome ? [] : [`${field}: one must be above 0, found ${JSON.stringify(weights)}`];
}

function mustBeApart(name: string, config: Config): string[] {
  const low = config[`min_${name}`] as number, high = config[`max_${name}`] as number;
  return high > low ? [] : [`max_${name}: must be above min_${name} = ${low}, found ${high}`];
}

/** Raises the upper end above the lower one. If this is not possible, lowers the lower end. */
function moveApart(name: string, params: Record<string, ParamSpec>, config: Config): string[] {
  const lower = `min_${name}`, upper = `max_${name}`;
  const low = config[lower] as number, high = config[upper] as number;
  if (high > low) return [];
  if (low + 1 <= (params[upper]!.max ?? Infinity)) {
    config[upper] = low + 1;
    return [`${upper}: ${high} is not above ${lower}, ${low + 1} is used`];
  }
  config[lower] = high - 1;
  return [`${lower}: ${low} is not below ${upper}, ${high - 1} is used`];
}

/** The message of a rule that does not hold, with the values of the fields that it reads. */
function broken(rule: string, holds: (config: Config) => boolean, config: Config): string[] {
  const read = new Set<string>();
  const watched = new Proxy(config, {
    get(target, field: string) {
      read.add(field);
      return target[field];
    },
  });
  if (holds(watched)) return [];
  const found = [...read].map((field) => `${field} = ${JSON.stringify(config[field])}`);
  return [`${rule}, found ${found.join(" and ")}`];
}

function attribute(
  name: string,
  { of = name, ...levels }: Levels,
  params: Record<string, ParamSpec>,
): CurriculumAttribute {
  const fields = Object.hasOwn(params, of)
    ? { field: of }
    : { lowerField: `min_${of}`, upperField: `max_${of}` };
  return { name, ...fields, ...levels };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
