/**
 * Checks named parameters of tasks and rewards against their declarations: unknown fields, types,
 * bounds, allowed values, and `min_x ≤ max_x` for every pair with such names. Every message begins
 * with the field (`min_terms: …`), so that a configuration reader can point at its line.
 */
import { didYouMean } from "./suggest.ts";

/** The value of a parameter: any JSON value. */
export type ParamValue = number | string | boolean | null | ParamValue[] | {
  [key: string]: ParamValue;
};

/** The declaration of one parameter. Values are checked against it before they are used. */
export interface ParamSpec {
  /** Type of a value; `any` is not checked. */
  type: "int" | "float" | "string" | "bool" | "int[]" | "float[]" | "string[]" | "any";
  /** The default value. */
  default: ParamValue;
  /** Whether null is allowed, too; default false. */
  nullable?: boolean;
  /** Allowed values of a string, or of the elements of a string[]. */
  values?: readonly string[];
  /** Minimum of a number, or of the elements of a number list; inclusive. */
  min?: number;
  /** Maximum of a number, or of the elements of a number list; inclusive. */
  max?: number;
  /** A parameter `min_x` that may also be above `max_x`. */
  anyOrder?: boolean;
  /** The meaning of the parameter in one line, for lists of parameters. */
  description: string;
}

type Specs = Readonly<Record<string, ParamSpec>>;

/**
 * Returns all errors in `values`. `owner` names what has these parameters, e.g. "task chain_sum".
 */
export function checkParams(
  owner: string,
  specs: Specs,
  values: Readonly<Record<string, unknown>>,
): string[] {
  const errors: string[] = [];
  for (const [field, value] of Object.entries(values)) {
    if (!Object.hasOwn(specs, field)) {
      errors.push(unknownField(owner, field, Object.keys(specs)));
    } else errors.push(...checkValue(field, specs[field]!, value));
  }
  if (errors.length === 0) errors.push(...checkPairs(specs, values));
  return errors;
}

/** Returns deep copies of the values, with defaults for missing ones, in declaration order. */
export function withDefaults(
  specs: Specs,
  values: Readonly<Record<string, unknown>>,
): Record<string, ParamValue> {
  const result: Record<string, ParamValue> = {};
  for (const [field, spec] of Object.entries(specs)) {
    const value = values[field];
    result[field] = structuredClone(value === undefined ? spec.default : value as ParamValue);
  }
  return result;
}

function unknownField(owner: string, field: string, known: string[]): string {
  const list = known.length === 0 ? "it has none" : `its fields: ${known.join(", ")}`;
  return `${field}: unknown field of ${owner}${didYouMean(field, known)} (${list})`;
}

function checkValue(field: string, spec: ParamSpec, value: unknown): string[] {
  if (value === undefined || spec.type === "any") return [];
  if (value === null) {
    return spec.nullable ? [] : [`${field}: must be ${typeText(spec)}, found null`];
  }
  const list = spec.type.endsWith("[]");
  const element = list ? spec.type.slice(0, -2) : spec.type;
  // A string list whose default is a string may be given as a string: each character is an element.
  const letters = list && typeof value === "string" && typeof spec.default === "string";
  if (list && !letters && !Array.isArray(value)) {
    return [`${field}: must be ${typeText(spec)}, found ${show(value)}`];
  }
  const errors: string[] = [];
  for (const item of list ? [...value as string | unknown[]] : [value]) {
    if (!hasType(element, item)) {
      errors.push(`${field}: must be ${typeText(spec)}, found ${show(value)}`);
    } else if (spec.values && !spec.values.includes(item as string)) {
      errors.push(
        `${field}: ${list ? "each element must be" : "must be"} one of ` +
          `${spec.values.join(", ")}; found ${show(item)}` +
          didYouMean(String(item), spec.values),
      );
    } else if (spec.min !== undefined && (item as number) < spec.min) {
      errors.push(`${field}: must be at least ${spec.min}, found ${show(item)}`);
    } else if (spec.max !== undefined && (item as number) > spec.max) {
      errors.push(`${field}: must be at most ${spec.max}, found ${show(item)}`);
    }
  }
  return errors;
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "int":
      return Number.isSafeInteger(value);
    case "float":
      return Number.isFinite(value);
    case "bool":
      return typeof value === "boolean";
    default:
      return typeof value === "string";
  }
}

function checkPairs(specs: Specs, values: Readonly<Record<string, unknown>>): string[] {
  const errors: string[] = [];
  for (const low of Object.keys(specs)) {
    const high = low.replace(/^min_/, "max_");
    if (high === low || !Object.hasOwn(specs, high) || specs[low]!.anyOrder) continue;
    const a = values[low] ?? specs[low]!.default, b = values[high] ?? specs[high]!.default;
    if (typeof a === "number" && typeof b === "number" && a > b) {
      errors.push(`${low}: must be ≤ ${high}, found ${low} = ${a} and ${high} = ${b}`);
    }
  }
  return errors;
}

/** Describes the type in words: "an integer", "a list of strings or null", … */
export function typeText(spec: ParamSpec): string {
  const names: Record<ParamSpec["type"], string> = {
    "int": "an integer",
    "float": "a number",
    "string": "a string",
    "bool": "true or false",
    "int[]": "a list of integers",
    "float[]": "a list of numbers",
    "string[]": "a list of strings",
    "any": "any value",
  };
  return names[spec.type] + (spec.nullable ? " or null" : "");
}

function show(value: unknown): string {
  return typeof value === "number" ? String(value) : JSON.stringify(value) ?? String(value);
}
