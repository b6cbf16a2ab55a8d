/** Python's `"{} {name}".format(…)`, with attributes, items, conversions and specifications. */
import { type Call, numberOf, repr, str, typeName, unmarked, type Value } from "../values.ts";
import { requireFormatSize } from "./functions.ts";
import { PyFloat } from "../../../../tasks/python/literals.ts";
import { codePoints } from "../../../../tasks/python/text.ts";
import { floatText, integerText, shortText } from "./numbers.ts";

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

// Python's `format(value, specification)`, such as `>10`, `.2f` or `,`.

const SPEC =
  /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d{0,6})([,_])?(?:\.(\d{1,3}))?([a-zA-Z%])?$/su;

interface Spec {
  readonly fill: string;
  readonly align: string | undefined;
  readonly sign: string;
  readonly isMarked: boolean;
  readonly width: number;
  readonly group: string | undefined;
  readonly precision: number | undefined;
  readonly type: string | undefined;
}

/** @throws Error for a specification that the value does not take */
function formatted(given: Value, specification: string): string {
  if (specification === "") return str(given);
  const value = unmarked(given), spec = parsed(specification);
  if (typeof value === "string") return textOf(value, spec);
  const number = numberOf(value);
  if (number === null) throw new Error(`${typeName(value)} has no format ${specification}`);
  const isFloat = number instanceof PyFloat || "eEfFgG%".includes(spec.type ?? "?");
  if (!isFloat) return integerOf(number as bigint, spec);
  const real = number instanceof PyFloat ? number.value : Number(number);
  const isNegative = real < 0 || Object.is(real, -0);
  return signed(floatOf(Math.abs(real), spec), isNegative, spec);
}

function parsed(specification: string): Spec {
  const parts = SPEC.exec(specification);
  if (parts === null || parts[4] !== undefined) {
    throw new Error(`the format ${specification} cannot be read`);
  }
  const [, fill, align, sign = "-", , mark, zero, width, group, precision, type] = parts;
  return {
    fill: fill ?? (zero === undefined ? " " : "0"),
    align: align ?? (zero === undefined ? undefined : "="),
    sign,
    isMarked: mark !== undefined,
    width: Number(width),
    group,
    precision: precision === undefined ? undefined : Number(precision),
    type,
  };
}

function textOf(value: string, spec: Spec): string {
  const { type = "s", precision, align = "<", group, isMarked } = spec;
  if (type !== "s" || align === "=" && spec.fill !== "0" || group !== undefined || isMarked) {
    throw new Error("a text is formatted as a number");
  }
  if (spec.sign !== "-") throw new Error("a text has no sign");
  const cut = precision === undefined ? value : Array.from(value).slice(0, precision).join("");
  return padded("", cut, { ...spec, align: align === "=" ? "<" : align }, "<");
}

function integerOf(number: bigint, spec: Spec): string {
  const { type = "d", precision, group } = spec;
  if (precision !== undefined) throw new Error("an int has no precision");
  if (type === "c") return padded("", String.fromCodePoint(Number(number)), spec, "<");
  if (!"bdoxXn".includes(type)) throw new Error(`an int has no format ${type}`);
  if (group === "," && type !== "d") throw new Error(`a comma does not go with ${type}`);
  const size = number < 0n ? -number : number;
  return signed(integerText(size, type, spec.isMarked), number < 0n, spec);
}

function floatOf(size: number, { type, precision, isMarked: keepsPoint }: Spec): string {
  if (type === undefined) {
    if (precision === undefined) return shortText(size);
    return floatText(size, { type: "g", digits: precision, keepsPoint, withZero: true });
  }
  const digits = precision ?? 6, kind = type.toLowerCase();
  if (kind === "%") return `${floatText(size * 100, { type: "f", digits, keepsPoint })}%`;
  if (kind !== "e" && kind !== "f" && kind !== "g" && kind !== "n") {
    throw new Error(`a float has no format ${type}`);
  }
  const text = floatText(size, { type: kind === "n" ? "g" : kind, digits, keepsPoint });
  return type === kind ? text : text.toUpperCase();
}

/** With sign, groups of digits and blanks. */
function signed(digits: string, isNegative: boolean, spec: Spec): string {
  const sign = isNegative ? "-" : spec.sign === "-" ? "" : spec.sign;
  const mark = /^0[box]/i.exec(digits)?.[0] ?? "", rest = digits.slice(mark.length);
  const head = sign + mark;
  if (spec.group === undefined) return padded(head, rest, spec, ">");
  const size = mark === "" && !"boxX".includes(spec.type ?? "d") ? 3 : 4;
  const whole = (size === 4 ? /^[0-9a-f]*/i : /^[0-9]*/).exec(rest)![0];
  const after = rest.slice(whole.length);
  let all = whole;
  // Zeros that fill the width are grouped too.
  if (spec.fill === "0" && spec.align === "=") {
    const goal = spec.width - head.length - after.length;
    let length = Math.floor(goal * size / (size + 1));
    while (length + Math.floor((length - 1) / size) < goal) length++;
    all = all.padStart(length, "0");
  }
  return padded(head, grouped(all, size, spec.group) + after, spec, ">");
}

function grouped(digits: string, size: number, separator: string): string {
  const first = digits.length % size;
  const groups = digits.slice(first).match(new RegExp(`.{${size}}`, "g")) ?? [];
  return [...first > 0 ? [digits.slice(0, first)] : [], ...groups].join(separator);
}

function padded(head: string, text: string, { fill, align, width }: Spec, usual: string): string {
  const missing = Math.max(0, width - codePoints(head + text)), how = align ?? usual;
  if (how === "=") return head + fill.repeat(missing) + text;
  const before = how === "<" ? 0 : how === ">" ? missing : Math.floor(missing / 2);
  return fill.repeat(before) + head + text + fill.repeat(missing - before);
}
