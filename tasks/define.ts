/**
 * Helpers to write a task file: `defineTask`, and short builders for parameters and curriculum
 * attributes. The type of a configuration follows from the parameters, so each field is declared
 * once.
 *
 *     export default defineTask({
 *       name: "chain_sum",
 *       …
 *       params: { min_terms: int(2, "fewest terms", { min: 1 }), … },
 *       generate(random, config) { … config.min_terms is a number … },
 *       score: decimalScore,
 *     });
 *
 * Each task also needs one line in the `mod.ts` of its category.
 */
import type { ParamSpec, ParamValue } from "../core/named_params.ts";
import type { CurriculumAttribute, Task } from "./types.ts";

/** A parameter whose default value determines the type of its values. */
export interface Param<T extends ParamValue> extends ParamSpec {
  /** The value where none is given. */
  default: T;
}

/** The type of a configuration with these parameters. */
export type ConfigOf<P extends Record<string, ParamSpec>> = {
  [K in keyof P]: P[K]["default"];
};

/** Minimum and maximum of a parameter. */
export interface Bounds {
  /** Lowest allowed value; absent: none. */
  min?: number;
  /** Highest allowed value; absent: none. */
  max?: number;
}

/** A parameter that is an integer. */
export function int(value: number, description: string, bounds: Bounds = {}): Param<number> {
  return { type: "int", default: value, description, ...bounds };
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

/** A curriculum attribute whose level sets the lower and the upper bound of a range. */
export function rangeAttribute(
  name: string,
  [lowerField, upperField]: readonly [string, string],
  levels: readonly number[],
  description: string,
  options: { ensureInterval?: boolean } = {},
): CurriculumAttribute {
  return { name, lowerField, upperField, levels, description, ...options };
}

/**
 * Completes a task. The returned type hides the configuration type, so that one registry can hold
 * all tasks.
 */
export function defineTask<P extends Record<string, ParamSpec>>(
  task: Omit<Task<ConfigOf<P>>, "params"> & { params: P },
): Task {
  return task as unknown as Task;
}
