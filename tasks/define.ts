/**
 * Helpers to write a task file: `defineTask`, and short builders for parameters and curriculum
 * attributes. The type of a configuration follows from the parameters, so each field is declared
 * once.
 *
 *     export default defineTask({
 *       description: "Add up numbers.",
 *       …
 *       params: { min_terms: int(2, "fewest terms", { min: 1 }), … },
 *       generate(random, config) { … config.min_terms is a number … },
 *       score: decimalScore,
 *     });
 *
 * Each task also needs one line in the `mod.ts` of its category, which gives it its name.
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

/** What one attribute of a curriculum makes harder, from easy to hard. */
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

/**
 * A task as it is declared. The types of its parameters follow from their defaults. Only a task of
 * rgx may leave out its name and category, which are those of its line in a `mod.ts`.
 */
export type TaskDeclaration<P extends Record<string, ParamSpec>> =
  & Omit<Task<ConfigOf<P>>, "params" | "curriculum" | "name" | "category">
  & Partial<Pick<Task, "name" | "category">>
  & { params: P; curriculum?: Readonly<Record<string, Levels>> | readonly CurriculumAttribute[] };

/**
 * Completes a task. The returned type hides the configuration type, so that one registry can hold
 * all tasks.
 */
export function defineTask<P extends Record<string, ParamSpec>>(task: TaskDeclaration<P>): Task {
  const { curriculum } = task;
  if (curriculum === undefined || isList(curriculum)) return task as unknown as Task;
  const attributes = Object.entries(curriculum).map(([name, levels]) =>
    attribute(name, levels, task.params)
  );
  return { ...task, curriculum: attributes } as unknown as Task;
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
