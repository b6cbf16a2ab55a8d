/** Sizes of values: a template can make large ones in few steps. */
import { PyDict, PyTuple } from "../../../tasks/python/literals.ts";
import { Markup, Range, type Value, View } from "./values.ts";

/** What each value counts as, besides its characters. */
const OWN = 8;
/** So many characters, or items, are gone through in the time of a step. */
const STEP_CHARACTERS = 1024, STEP_ITEMS = 128;

/** A list never changes. Its weight is kept, so that a list of lists adds few numbers. */
const known = new WeakMap<object, number>();

/**
 * The UTF-16 units of all texts in a value, and 8 for each value. What stands in it twice counts
 * twice, because it is also printed and compared twice: `[l, l]` weighs twice as much as `l`.
 */
export function weightOf(value: Value): number {
  if (typeof value === "string") return OWN + value.length;
  if (value instanceof Markup) return OWN + value.text.length;
  if (typeof value !== "object" || value === null) return OWN;
  const kept = known.get(value);
  if (kept !== undefined) return kept;
  let weight = OWN;
  for (const item of itemsIn(value)) weight += weightOf(item);
  known.set(value, weight);
  return weight;
}

/** The steps that it takes to go through a value once. */
export function stepsOf(value: Value): number {
  if (typeof value === "string") return Math.floor(value.length / STEP_CHARACTERS);
  if (value instanceof Markup) return Math.floor(value.text.length / STEP_CHARACTERS);
  const length = value instanceof PyDict
    ? value.size
    : value instanceof Range
    ? value.length
    : itemsIn(value).length;
  return Math.floor(length / STEP_ITEMS);
}

function itemsIn(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof PyTuple || value instanceof View) return value.items;
  return value instanceof PyDict ? value.entries.flat() : [];
}
