/** Python's `"{} {name}".format(…)`, with attributes, items, conversions and specifications. */
import { type Call, repr, str, type Value } from "../values.ts";
import { requireFormatSize } from "./functions.ts";
import { formatted } from "./specifications.ts";

/** Specifications may hold fields, but those none of their own: `{:{width}}`. */
const MAX_DEPTH = 2;

/** How an attribute and an item are read, as in the sandbox. */
export interface Access {
  readonly attribute: (object: Value, name: string) => Value;
  readonly item: (object: Value, key: Value) => Value;
}

/** @throws Error for a field without a value, or a text that is no format */
export function braceFormat(template: string, given: Call, access: Access): string {
  requireFormatSize(template);
  const state: Numbering = { next: 0 };
  return written(template, given, access, state, MAX_DEPTH);
}

/** Whether fields are counted (`{}`) or numbered (`{0}`): null where none has been read. */
interface Numbering {
  next: number | null;
}

function written(
  template: string,
  given: Call,
  access: Access,
  state: Numbering,
  depth: number,
): string {
  if (depth < 0) throw new Error("format() has fields in fields of fields");
  let out = "";
  for (let at = 0; at < template.length;) {
    const one = template[at]!;
    if (one !== "{" && one !== "}") {
      out += one;
      at++;
    } else if (template[at + 1] === one && depth === MAX_DEPTH) {
      out += one;
      at += 2;
    } else if (one === "}") throw new Error("a single } in a text with format()");
    else {
      const end = fieldEnd(template, at);
      out += field(template.slice(at + 1, end), given, access, state, depth);
      at = end + 1;
    }
  }
  return out;
}

function fieldEnd(template: string, start: number): number {
  let depth = 0;
  for (let at = start; at < template.length; at++) {
    if (template[at] === "{") depth++;
    else if (template[at] === "}" && --depth === 0) return at;
  }
  throw new Error("a single { in a text with format()");
}

function field(
  text: string,
  given: Call,
  access: Access,
  state: Numbering,
  depth: number,
): string {
  const parts = /^((?:[^:!{}[]|\[[^\]]*\])*)(?:!(.))?(?::(.*))?$/s.exec(text);
  if (parts === null) throw new Error(`format() of {${text}} cannot be read`);
  const [, path = "", conversion, specification = ""] = parts;
  const value = valueAt(path, given, access, state);
  const spec = written(specification, given, access, state, depth - 1);
  if (conversion === undefined) return formatted(value, spec);
  if (conversion !== "s" && conversion !== "r") {
    throw new Error(`format() of {${text}} is not supported`);
  }
  return formatted(conversion === "s" ? str(value) : repr(value), spec);
}

function valueAt(
  path: string,
  { positional, named }: Call,
  access: Access,
  state: Numbering,
): Value {
  const [, name = "", rest = ""] = /^([^.[]*)(.*)$/s.exec(path)!;
  let value: Value | undefined;
  if (name === "") {
    if (state.next === null) throw new Error("format() has {} and {0} in one text");
    value = positional[state.next++];
  } else if (/^\d+$/.test(name)) {
    if (state.next !== null && state.next > 0) {
      throw new Error("format() has {} and {0} in one text");
    }
    state.next = null;
    value = positional[Number(name)];
  } else value = named.get(name);
  if (value === undefined) throw new Error(`format() got no value for {${path}}`);
  for (const [part, attribute, key] of rest.matchAll(/\.([^.[]+)|\[([^\]]+)\]|./gs)) {
    if (attribute !== undefined) value = access.attribute(value, attribute);
    else if (key !== undefined) {
      value = access.item(value, /^\d+$/.test(key) ? BigInt(key) : key);
    } else throw new Error(`format() of {${path}} cannot be read at ${part}`);
  }
  return value;
}
