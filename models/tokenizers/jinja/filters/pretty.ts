/** Python's `pprint.pformat`, for values that fit on one line. */
import { type Literal, PyDict, PyTuple } from "../../../../tasks/python/literals.ts";
import { codePoints } from "../../../../tasks/python/text.ts";
import { compare, dict, repr, tuple, type Value } from "../values.ts";

const WIDTH = 80;

/** @throws Error for a value whose text Python would break into lines */
export function pretty(value: Value): string {
  const line = repr(ordered(value));
  if (codePoints(line) <= WIDTH) return line;
  throw new Error(`pprint of more than ${WIDTH} characters is not supported, use tojson(indent=1)`);
}

/** The value with its dicts in the order of their keys. */
function ordered(value: Value): Value {
  if (Array.isArray(value)) return value.map(ordered);
  if (value instanceof PyTuple) return tuple(value.items.map(ordered));
  if (!(value instanceof PyDict)) return value;
  const entries = value.entries.map(([key, one]) => [key, ordered(one) as Literal] as const);
  return dict(entries.toSorted(([a], [b]) => compare(a, b)));
}
