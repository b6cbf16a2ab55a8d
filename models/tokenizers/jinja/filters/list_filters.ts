/** Jinja's filters that work on lists. Those that are generators in Jinja are so here. */
import { type Literal, PyDict, PyTuple } from "../../../../tasks/python/literals.ts";
import { takes, type Work } from "../call.ts";
import { binary, isHashable, keyOf } from "../operators.ts";
import { caseKey, type Key, keyAt, keysAt } from "./attributes.ts";
import {
  compare,
  described,
  equal,
  integer,
  isTrue,
  itemsOf,
  iterate,
  Lazy,
  lengthOf,
  Markup,
  orUndefined,
  str,
  tuple,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";
import { MAX_SIZE } from "../budget.ts";
import { joinedBy } from "../text/functions.ts";

/** What `groupby` gives: a tuple whose items have names. */
export class GroupTuple extends PyTuple {
  readonly names = ["grouper", "list"];
}

function sorted(items: readonly Value[], key: Key, reverse: boolean): Value[] {
  const keyed = items.map((value) => ({ value, key: key(value) }));
  // Python keeps the order of equal items also in reverse.
  keyed.sort((a, b) => reverse ? compare(b.key, a.key) : compare(a.key, b.key));
  return keyed.map(({ value }) => value);
}

function extreme(sign: number): Work<Value> {
  return takes("[case_sensitive] [attribute]", (value, sensitive?: Value, attribute?: Value) => {
    const items = itemsOf(value), key = caseKey(sensitive, attribute);
    if (items.length === 0) return new Undefined(`the ${sign < 0 ? "min" : "max"} of nothing`);
    let best: Value = items[0]!, bestKey: Value = key(best);
    for (const one of items.slice(1)) {
      const oneKey = key(one);
      if (compare(oneKey, bestKey) * sign <= 0) continue;
      best = one;
      bestKey = oneKey;
    }
    return best;
  });
}

function join(value: Value, between: Value = "", attribute?: Value): Value {
  return joinedBy(str(between), itemsOf(value).map(keyAt(attribute)).map(str));
}

function first(value: Value): Value {
  for (const one of iterate(value)) return one;
  return new Undefined("the first item");
}

function last(value: Value): Value {
  if (value instanceof Lazy) throw new Error("a generator has no last item");
  return orUndefined(itemsOf(value).at(-1), "the last item");
}

function reverse(value: Value): Value {
  const turned = itemsOf(value).toReversed();
  if (typeof value === "string") return turned.join("");
  if (value instanceof Markup) return new Markup(turned.map(str).join(""));
  return value instanceof Lazy ? turned : new Lazy(turned.values());
}

function sum(value: Value, attribute?: Value, start: Value = 0n): Value {
  if (typeof start === "string") throw new Error("sum of texts is not possible");
  const items = itemsOf(value).map(keyAt(attribute));
  // One list after the other would be copied again for each item.
  if (Array.isArray(start) && items.every(Array.isArray)) {
    return [start, ...items].flat() as Value[];
  }
  return items.reduce((total, one) => binary("+", total, one), start);
}

function* uniques(value: Value, key: Key): Generator<Value> {
  const items = itemsOf(value);
  const keys = items.map((one): Literal => {
    const found = key(one);
    if (!isHashable(found)) throw new Error(`unique of ${typeName(found)} is not possible`);
    return keyOf(found);
  });
  // The last index that a dict gets for a key stays, so the items go from the end.
  const firsts = new PyDict(keys.map((one, i) => [one, i] as const).reverse());
  for (const [i, one] of items.entries()) if (firsts.get(keys[i]!) === i) yield one;
}

function groupBy(value: Value, attribute: Value, other?: Value, sensitive?: Value): Value {
  const key = caseKey(sensitive, attribute, other), shown = keyAt(attribute, other);
  const groups: { key: Value; items: Value[] }[] = [];
  for (const one of sorted(itemsOf(value), key, false)) {
    const found = key(one), group = groups.at(-1);
    if (group !== undefined && equal(group.key, found)) group.items.push(one);
    else groups.push({ key: found, items: [one] });
  }
  return groups.map(({ items }) => new GroupTuple([shown(items[0]!), items] as Literal[]));
}

function dictSort(
  value: Value,
  sensitive?: Value,
  by: Value = "key",
  turned: Value = false,
): Value {
  if (by !== "key" && by !== "value") throw new Error('dictsort: by is neither "key" nor "value"');
  if (!(value instanceof PyDict)) {
    throw new Error(`dictsort of ${described(value)} is not possible`);
  }
  const key = caseKey(sensitive, by === "key" ? 0n : 1n);
  return sorted(value.entries.map((entry) => tuple(entry)), key, isTrue(turned));
}

/** The items of a list in so many lists of about the same length. */
function* slices(value: Value, number: Value, fill: Value): Generator<Value> {
  const items = itemsOf(value), count = integer(number, "the number of slices");
  if (count === 0) throw new Error("slice into 0 parts");
  const size = Math.floor(items.length / count), longer = ((items.length % count) + count) % count;
  for (let i = 0, at = 0; i < count; i++) {
    const end = at + size + (i < longer ? 1 : 0), part = items.slice(at, end);
    if (fill !== null && i >= longer) part.push(fill);
    yield part;
    at = end;
  }
}

/** The items of a list in lists of one length. */
function* batches(value: Value, number: Value, fill: Value): Generator<Value> {
  let part: Value[] = [];
  for (const one of iterate(value)) {
    if (equal(BigInt(part.length), number)) {
      yield part;
      part = [];
    }
    part.push(one);
  }
  if (part.length === 0) return;
  const size = fill === null ? 0 : integer(number, "batch's length");
  if (size > MAX_SIZE) throw new Error(`a batch of ${size} items is too long`);
  while (part.length < size) part.push(fill);
  yield part;
}

function* entriesOf(value: Value): Generator<Value> {
  if (value instanceof Undefined) return;
  if (!(value instanceof PyDict)) throw new Error(`items of ${typeName(value)} is not possible`);
  for (const entry of value.entries) yield tuple(entry);
}

const length = takes("", (value: Value) => BigInt(lengthOf(value)));

export const LIST_FILTERS = {
  first: takes("", first),
  last: takes("", last),
  length,
  count: length,
  join: takes("[d] [attribute]", join),
  reverse: takes("", reverse),
  sum: takes("[attribute] [start]", sum),
  unique: takes(
    "[case_sensitive] [attribute]",
    (value, sensitive?: Value, attribute?: Value) =>
      new Lazy(uniques(value, caseKey(sensitive, attribute))),
  ),
  min: extreme(-1),
  max: extreme(1),
  groupby: takes("attribute [default] [case_sensitive]", groupBy),
  dictsort: takes("[case_sensitive] [by] [reverse]", dictSort),
  slice: takes(
    "slices [fill_with]",
    (value, number: Value, fill: Value = null) => new Lazy(slices(value, number, fill)),
  ),
  batch: takes(
    "linecount [fill_with]",
    (value, number: Value, fill: Value = null) => new Lazy(batches(value, number, fill)),
  ),
  items: takes("", (value) => new Lazy(entriesOf(value))),
  list: takes("", (value) => [...itemsOf(value)]),
  sort: takes(
    "[reverse] [case_sensitive] [attribute]",
    (value, turned: Value = false, sensitive?: Value, attribute?: Value) =>
      sorted(itemsOf(value), keysAt(sensitive, attribute), isTrue(turned)),
  ),
} satisfies Record<string, Work<Value>>;
