/** The values that filters sort by, group by and compare. */
import { item } from "../methods.ts";
import { isTrue, Markup, str, Undefined, type Value } from "../values.ts";

export type Key = (value: Value) => Value;

/**
 * What stands at a path such as `function.name`, in which whole numbers are indices.
 * @param attribute the path, an index, or None for the value itself
 * @param other stands for what is undefined on the way
 */
export function keyAt(attribute: Value | undefined, other: Value | undefined = null): Key {
  const parts = partsOf(attribute ?? null);
  return (value) =>
    parts.reduce((inner, part) => {
      const found = item(inner, part);
      return found instanceof Undefined && other !== null && other !== undefined ? other : found;
    }, value);
}

/** As `keyAt`, without regard to case unless a filter is told otherwise. */
export function caseKey(
  sensitive: Value | undefined,
  attribute: Value | undefined,
  other: Value | undefined = null,
): Key {
  const key = keyAt(attribute, other);
  return isTrue(sensitive ?? false) ? key : (value) => lowered(key(value));
}

/** The values at several paths, with commas between them. */
export function keysAt(sensitive: Value | undefined, attribute: Value | undefined): Key {
  const paths = typeof attribute === "string" ? attribute.split(",") : [attribute];
  const keys = paths.map((path) => caseKey(sensitive, path));
  return (value) => keys.map((key) => key(value));
}

function partsOf(attribute: Value): readonly Value[] {
  if (attribute === null) return [];
  if (typeof attribute !== "string") return [attribute];
  return attribute.split(".").map((part) => /^\d+$/.test(part) ? BigInt(part) : part);
}

function lowered(value: Value): Value {
  return typeof value === "string" || value instanceof Markup ? str(value).toLowerCase() : value;
}
