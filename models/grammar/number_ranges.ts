/**
 * The grammar of JSON numbers between limits. Numbers without limits have at most 15 digits before
 * and after the point, which a double holds, and an exponent of at most two digits. Numbers between
 * limits have no exponent.
 */
import { type Grammar, type Node, placeRanges, type Range } from "./grammar.ts";

export interface Limits {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

/** Digits that a double holds in any number. */
const MAX_DIGITS = 15;
const ZERO = 0x30;
const DIGITS: Range = [ZERO, ZERO + 9], NOT_ZERO: Range = [ZERO + 1, ZERO + 9];

/** A limit: digits before and after the point, neither with zeros that do not count. */
interface Limit {
  whole: string;
  /** Without zeros at its end. */
  fraction: string;
  /** Whether the limit itself does not count. */
  isOpen: boolean;
}

export function integerNode(g: Grammar, limits: Limits): Node {
  const { minimum: a = -Infinity, exclusiveMinimum: b = -Infinity } = limits;
  const { maximum: c = Infinity, exclusiveMaximum: d = Infinity } = limits;
  const low = Math.max(Math.ceil(a), Math.floor(b) + 1);
  const high = Math.min(Math.floor(c), Math.ceil(d) - 1);
  const options: Node[] = [];
  if (low <= -1) {
    const negative = naturals(g, Math.max(1, -high), -low);
    if (negative !== null) options.push(g.seq(g.text("-"), negative));
  }
  if (high >= 0) {
    const natural = naturals(g, Math.max(0, low), high);
    if (natural !== null) options.push(natural);
  }
  return g.alt(...options);
}

/** Whole numbers from `low` to `high`, which may be infinite. */
function naturals(g: Grammar, low: number, high: number): Node | null {
  if (low > high) return null;
  const first = BigInt(low), length = `${first}`.length;
  const last = high === Infinity
    ? 10n ** BigInt(Math.max(MAX_DIGITS, length + 1)) - 1n
    : BigInt(high);
  return naturalsBetween(g, first, last);
}

function naturalsBetween(g: Grammar, first: bigint, last: bigint): Node | null {
  const options: Node[] = [];
  for (let digits = `${first}`.length; digits <= `${last}`.length; digits++) {
    const least = digits === 1 ? 0n : 10n ** BigInt(digits - 1), most = 10n ** BigInt(digits) - 1n;
    const from = first > least ? first : least, to = last < most ? last : most;
    if (from > to) continue;
    const codes = (number: bigint) => Array.from(`${number}`, (digit) => digit.charCodeAt(0));
    for (const places of placeRanges(codes(from), codes(to), DIGITS)) {
      options.push(g.seq(...places.map((range) => g.bytes(range))));
    }
  }
  return options.length === 0 ? null : g.alt(...options);
}

export function numberNode(g: Grammar, limits: Limits): Node {
  const { minimum: a = -Infinity, exclusiveMinimum: b = -Infinity } = limits;
  const { maximum: c = Infinity, exclusiveMaximum: d = Infinity } = limits;
  const low = Math.max(a, b), high = Math.min(c, d);
  const digits = g.bytes(DIGITS), isFree = low === -Infinity && high === Infinity;
  if (isFree) {
    const whole = g.alt(g.text("0"), g.seq(g.bytes(NOT_ZERO), g.repeat(digits, 0, MAX_DIGITS - 1)));
    const sign = g.optional(g.bytes([0x2b, 0x2b], [0x2d, 0x2d]));
    const exponent = g.seq(g.bytes([0x45, 0x45], [0x65, 0x65]), sign, g.repeat(digits, 1, 2));
    return g.seq(
      g.optional(g.text("-")),
      whole,
      g.optional(g.seq(g.text("."), g.repeat(digits, 1, MAX_DIGITS))),
      g.optional(exponent),
    );
  }
  const lowLimit = limitOf(Math.abs(low), b >= a), highLimit = limitOf(Math.abs(high), d <= c);
  const zero = { whole: "0", fraction: "", isOpen: true }, options: Node[] = [];
  // Negative numbers are their positive counterparts with a sign; zero has none.
  if (low < 0) {
    const positive = between(g, high < 0 ? highLimit! : zero, lowLimit);
    options.push(g.seq(g.text("-"), positive));
  }
  if (high >= 0) {
    options.push(between(g, low < 0 ? { ...zero, isOpen: false } : lowLimit!, highLimit));
  }
  return g.alt(...options);
}

/** Null for an infinite limit. */
function limitOf(value: number, isOpen: boolean): Limit | null {
  if (value === Infinity) return null;
  const [mantissa = "", power = "0"] = value.toString().split("e");
  const [before = "", after = ""] = mantissa.split("."), shift = Number(power);
  const all = before + after, point = before.length + shift;
  const padded = "0".repeat(Math.max(0, -point)) + all +
    "0".repeat(Math.max(0, point - all.length));
  const place = Math.max(0, point);
  return {
    whole: padded.slice(0, place).replace(/^0+(?=.)/, "") || "0",
    fraction: padded.slice(place).replace(/0+$/, ""),
    isOpen,
  };
}

/** Numbers from `low`, which is not negative, to `high`; null = there is no upper limit. */
function between(g: Grammar, low: Limit, high: Limit | null): Node {
  const whole = BigInt(low.whole), options: Node[] = [];
  const last = high === null
    ? 10n ** BigInt(Math.max(MAX_DIGITS, low.whole.length + 1)) - 1n
    : BigInt(high.whole);
  const wholeNode = (number: bigint) => g.text(`${number}`);
  if (whole === last && high !== null) {
    return g.seq(wholeNode(whole), fractions(g, low, high));
  }
  if (whole > last) return g.alt();
  options.push(g.seq(wholeNode(whole), fractions(g, low, null)));
  const inner = naturalsBetween(g, whole + 1n, high === null ? last : last - 1n);
  if (inner !== null) options.push(g.seq(inner, anyFraction(g)));
  if (high !== null) options.push(g.seq(wholeNode(last), fractions(g, null, high)));
  return g.alt(...options);
}

function anyFraction(g: Grammar): Node {
  return g.optional(g.seq(g.text("."), g.repeat(g.bytes(DIGITS), 1, MAX_DIGITS)));
}

/** The part from the point on, of a number with the limits' whole part. */
function fractions(g: Grammar, low: Limit | null, high: Limit | null): Node {
  const options: Node[] = [];
  const isWholeEnough = low === null || (low.fraction === "" && !low.isOpen);
  if (isWholeEnough && !(high?.fraction === "" && high.isOpen)) options.push(g.empty);
  // With fewer digits no number is rounded to an open limit.
  const { whole = "", isOpen = false } = [low, high].find((limit) => limit?.isOpen) ?? {};
  const room = isOpen ? Math.max(0, MAX_DIGITS - whole.length) : MAX_DIGITS;
  const digits = digitsBetween(g, low, high, 0, room);
  if (digits !== null) options.push(g.seq(g.text("."), digits));
  return g.alt(...options);
}

/**
 * Digits from place `at` on; all before are those of the limits. At least one digit follows.
 * @param low null = the digits are above it already
 * @param high null = the digits are below it already
 * @param room number of digits that may still follow
 */
function digitsBetween(
  g: Grammar,
  low: Limit | null,
  high: Limit | null,
  at: number,
  room: number,
): Node | null {
  if (room === 0) return null;
  if (low === null && high === null) return g.repeat(g.bytes(DIGITS), 1, room);
  const lowDigit = low === null ? 0 : Number(low.fraction[at] ?? 0);
  const highDigit = high === null ? 9 : Number(high.fraction[at] ?? 0);
  const options: Node[] = [];
  for (let digit = lowDigit; digit <= highDigit; digit++) {
    const nextLow = digit > lowDigit ? null : low, nextHigh = digit < highDigit ? null : high;
    const seen = at + 1;
    // It may end here when what follows, only zeros, is within the limits.
    const isAbove = nextLow === null || (seen >= nextLow.fraction.length && !nextLow.isOpen);
    const isBelow = nextHigh === null || seen < nextHigh.fraction.length ||
      !nextHigh.isOpen;
    const more = digitsBetween(g, nextLow, nextHigh, seen, room - 1);
    const tails = [...isAbove && isBelow ? [g.empty] : [], ...more === null ? [] : [more]];
    if (tails.length === 0) continue;
    options.push(g.seq(g.text(String(digit)), g.alt(...tails)));
  }
  return options.length === 0 ? null : g.alt(...options);
}
