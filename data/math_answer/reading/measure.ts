/** Units of measure that are known by name, so that 5 cm is not 5 m and 100 cm is 1 m. */
import { type Fraction, fraction, ONE, power } from "../numbers/rational.ts";
import { MAX_CHARACTERS, unwrap } from "./clean.ts";
import { TEXT } from "./units.ts";

export interface Measure {
  /** Units of one quantity can be converted. */
  quantity: string;
  /** In the quantity's first unit. */
  factor: Fraction;
}

/** Quantity, spellings, factor. Lower-case letters that stand alone count in text commands only. */
const UNITS: readonly (readonly [string, string, number, number])[] = [
  ["length", "mm|millimet(?:er|re)s?", 1, 1000],
  ["length", "cm|centimet(?:er|re)s?", 1, 100],
  ["length", "m|met(?:er|re)s?", 1, 1],
  ["length", "km|kilomet(?:er|re)s?", 1000, 1],
  ["length", "in|inch(?:es)?", 254, 10_000],
  ["length", "ft|foot|feet", 3048, 10_000],
  ["length", "yd|yards?", 9144, 10_000],
  ["length", "mi|miles?", 1_609_344, 1000],
  ["time", "s|secs?|seconds?", 1, 1],
  ["time", "min|mins?|minutes?", 60, 1],
  ["time", "h|hrs?|hours?", 3600, 1],
  ["time", "days?", 86_400, 1],
  ["time", "weeks?", 604_800, 1],
  ["money", "dollars?", 100, 1],
  ["money", "cents?", 1, 1],
  ["mass", "mg|milligrams?", 1, 1000],
  ["mass", "g|grams?", 1, 1],
  ["mass", "kg|kilograms?", 1000, 1],
  ["volume", "mL|ml|millilit(?:er|re)s?", 1, 1000],
  ["volume", "L|lit(?:er|re)s?", 1, 1],
  ["speed", "mph|miles per hour", 1_609_344, 1000],
  ["speed", "km/h|kph|kilomet(?:er|re)s per hour", 1000, 1],
];

const NAMES = UNITS.map(([, names]) => names).join("|");
const AT_END = new RegExp(
  `(?:(${TEXT})\\s*\\{\\s*|(?<=[\\d)}\\s]))(?:(sq(?:uare|\\.)|cu(?:bic|\\.))\\s+)?(${NAMES})` +
    `(?:\\s*\\})?(?:\\s*\\^\\s*\\{?\\s*([23])\\s*\\}?|([²³]))?[\\s$.)]*$`,
);
const KINDS = UNITS.map(([quantity, names, n, d]) => ({
  quantity,
  name: new RegExp(`^(?:${names})$`),
  factor: fraction(BigInt(n), BigInt(d)),
}));
const DOLLARS = /^[\s$]*\\\$/;
const LETTER = /[\d)}π]\s+[gmsL](?![A-Za-z])[^A-Za-z]*$/;
const ANGLE = /(?:°|\^\s*\{?\s*\\circ\s*\}?|\\degree|degrees?\s*\}?)[\s$.)]*$/;

/** The unit that a text ends with, or its dollar sign; null without a known one. */
export function measureOf(answer: string): Measure | null {
  if (answer.length > MAX_CHARACTERS) return null;
  const text = unwrap(answer);
  if (DOLLARS.test(text)) return { quantity: "money", factor: fraction(100n) };
  if (ANGLE.test(text)) return { quantity: "angle", factor: ONE };
  const [, command, dimension, name, exponent, sign] = AT_END.exec(text) ?? [];
  if (name === undefined) return null;
  // 5m may be five times an unknown; 5 m is a length.
  if (command === undefined && name.length === 1 && !LETTER.test(text)) return null;
  const { quantity, factor } = KINDS.find((kind) => kind.name.test(name))!;
  const by = exponent ??
    (sign === "²" || dimension?.startsWith("sq")
      ? "2"
      : sign === "³" || dimension !== undefined
      ? "3"
      : "1");
  return {
    quantity: by === "1" ? quantity : `${quantity}^${by}`,
    factor: power(factor, BigInt(by))!,
  };
}
