/** Python's `format(value, specification)`, such as `>10`, `.2f` or `,`. */
import { PyFloat } from "../../../../tasks/python/literals.ts";
import { codePoints } from "../../../../tasks/python/text.ts";
import { numberOf, str, typeName, unmarked, type Value } from "../values.ts";
import { floatText, integerText, shortText } from "./numbers.ts";

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
export function formatted(given: Value, specification: string): string {
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
