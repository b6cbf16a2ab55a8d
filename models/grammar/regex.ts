/**
 * Regular expressions of JSON Schema's `pattern`, which are those of JavaScript with the flag u, as
 * grammars. Lookaheads are understood at the beginning of a pattern. Left out, and refused by name:
 * other lookarounds, back references, word boundaries, Unicode properties, flags.
 */
import { UsageError } from "../../core/errors.ts";
import type { Grammar, Node, Range } from "./grammar.ts";
import { type Condition, intersection } from "./intersection.ts";

type Pattern =
  | { kind: "characters"; ranges: readonly Range[] }
  | { kind: "seq"; parts: readonly Pattern[] }
  | { kind: "alt"; options: readonly Pattern[] }
  | { kind: "repeat"; of: Pattern; min: number; max: number }
  | { kind: "start" | "end" }
  | { kind: "look"; of: Pattern; isNegative: boolean };

const ALL: readonly Range[] = [[0, 0xd7ff], [0xe000, 0x10ffff]];
const LINE_ENDS: readonly Range[] = [[10, 10], [13, 13], [0x2028, 0x2029]];
const CLASSES: Readonly<Record<string, readonly Range[]>> = {
  d: [[0x30, 0x39]],
  w: [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]],
  s: [
    [9, 13],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [
      0x202f,
      0x202f,
    ],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, "0": 0 };
const MAX_LENGTH = 10_000, MAX_DEPTH = 100;

/** How a pattern is read. */
export interface PatternOptions {
  /** The node of one character of these ranges. */
  character: (ranges: readonly Range[]) => Node;
  /** Whether the pattern has to match the whole text; otherwise it may match a part of it. */
  isWhole: boolean;
}

/** The texts that a pattern matches. @throws UsageError that says what is not supported */
export function patternNode(g: Grammar, source: string, options: PatternOptions): Node {
  if (source.length > MAX_LENGTH) {
    throw new UsageError(`a pattern of more than ${MAX_LENGTH} characters`);
  }
  const pattern = new Parser(source).parse();
  const anything = g.repeat(options.character(ALL));
  const fail = (what: string) => refuse(source, what);
  const nodeOf = (part: Pattern): Node => {
    switch (part.kind) {
      case "characters":
        return options.character(part.ranges);
      case "seq":
        return g.seq(...part.parts.map(nodeOf));
      case "alt":
        return g.alt(...part.options.map(nodeOf));
      case "repeat":
        return g.repeat(nodeOf(part.of), part.min, part.max);
      case "look":
        throw fail("a lookahead that is not at the beginning");
      default:
        throw fail(`${part.kind === "start" ? "^" : "$"} within it`);
    }
  };
  /** With what may stand before and after, where no anchor is. */
  const whole = (part: Pattern): Node => {
    if (part.kind === "alt") return g.alt(...part.options.map(whole));
    const parts = part.kind === "seq" ? part.parts : [part];
    if (parts.length === 1 && (parts[0]!.kind === "alt" || parts[0]!.kind === "seq")) {
      return whole(parts[0]!);
    }
    let from = 0, to = parts.length;
    const isAtStart = parts[0]?.kind === "start";
    if (isAtStart) from++;
    const isAtEnd = to > from && parts[to - 1]!.kind === "end";
    if (isAtEnd) to--;
    const conditions: Condition[] = [];
    for (; from < to && parts[from]!.kind === "look"; from++) {
      const { of, isNegative } = parts[from] as Pattern & { kind: "look" };
      if (!isAtStart && !options.isWhole) throw fail("a lookahead without ^ before it");
      conditions.push({ node: lookNode(of), isNegative });
    }
    const main = g.seq(
      isAtStart || options.isWhole ? g.empty : anything,
      ...parts.slice(from, to).map(nodeOf),
      isAtEnd || options.isWhole ? g.empty : anything,
    );
    return conditions.length === 0 ? main : intersection(g, main, conditions);
  };
  /** The texts that begin with what a lookahead wants. */
  const lookNode = (of: Pattern): Node => {
    if (of.kind === "alt") return g.alt(...of.options.map(lookNode));
    const parts = of.kind === "seq" ? of.parts : [of], isAtEnd = parts.at(-1)?.kind === "end";
    const before = isAtEnd ? parts.slice(0, -1) : parts;
    return g.seq(...before.map(nodeOf), isAtEnd ? g.empty : anything);
  };
  return whole(pattern);
}

function refuse(source: string, what: string): UsageError {
  const shown = source.length > 60 ? `${source.slice(0, 60)}…` : source;
  return new UsageError(`the pattern ${JSON.stringify(shown)} has ${what}, which is not supported`);
}

class Parser {
  readonly #characters: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(private readonly source: string) {
    try {
      new RegExp(source, "u");
    } catch (error) {
      throw new UsageError(
        `the pattern ${JSON.stringify(source.slice(0, 60))} is not a regular expression: ${
          error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : ""
        }`,
      );
    }
    this.#characters = Array.from(source);
  }

  parse(): Pattern {
    return this.#alternatives();
  }

  #fail(what: string): UsageError {
    return refuse(this.source, what);
  }

  #peek(offset = 0): string | undefined {
    return this.#characters[this.#at + offset];
  }

  #take(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.#peek(i) !== text[i]) return false;
    this.#at += text.length;
    return true;
  }

  #alternatives(): Pattern {
    if (++this.#depth > MAX_DEPTH) throw this.#fail(`more than ${MAX_DEPTH} groups in groups`);
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    this.#depth--;
    return options.length === 1 ? options[0]! : { kind: "alt", options };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    for (;;) {
      const next = this.#peek();
      if (next === undefined || next === "|" || next === ")") break;
      parts.push(this.#quantified(this.#atom()));
    }
    return parts.length === 1 ? parts[0]! : { kind: "seq", parts };
  }

  #quantified(of: Pattern): Pattern {
    let range: [number, number];
    if (this.#take("*")) range = [0, Infinity];
    else if (this.#take("+")) range = [1, Infinity];
    else if (this.#take("?")) range = [0, 1];
    else if (this.#peek() === "{") {
      const end = this.#characters.indexOf("}", this.#at);
      const [low = "", high = low] = this.#characters.slice(this.#at + 1, end).join("").split(",");
      range = [Number(low), high === "" ? Infinity : Number(high)];
      this.#at = end + 1;
    } else return of;
    // A lazy quantifier matches the same texts.
    this.#take("?");
    return { kind: "repeat", of, min: range[0], max: range[1] };
  }

  #atom(): Pattern {
    const character = this.#peek()!;
    this.#at++;
    switch (character) {
      case "^":
        return { kind: "start" };
      case "$":
        return { kind: "end" };
      case ".":
        return { kind: "characters", ranges: without(LINE_ENDS) };
      case "[":
        return { kind: "characters", ranges: this.#class() };
      case "(":
        return this.#group();
      case "\\":
        return { kind: "characters", ranges: this.#escape() };
      default:
        return one(character.codePointAt(0)!);
    }
  }

  #group(): Pattern {
    let look: boolean | null = null;
    if (this.#take("?:")) look = null;
    else if (this.#take("?=")) look = false;
    else if (this.#take("?!")) look = true;
    else if (this.#take("?<=") || this.#take("?<!")) throw this.#fail("a lookbehind");
    else if (this.#take("?<")) this.#at = this.#characters.indexOf(">", this.#at) + 1;
    else if (this.#peek() === "?") throw this.#fail("flags in a group");
    const of = this.#alternatives();
    this.#take(")");
    return look === null ? { kind: "seq", parts: [of] } : { kind: "look", of, isNegative: look };
  }

  #class(): readonly Range[] {
    const isNegative = this.#take("^"), ranges: Range[] = [];
    while (!this.#take("]")) {
      const from = this.#classPart();
      if (this.#peek() !== "-" || this.#peek(1) === "]" || from.length !== 1) {
        ranges.push(...from);
        continue;
      }
      this.#at++;
      const to = this.#classPart();
      ranges.push([from[0]![0], to[0]![1]]);
    }
    return isNegative ? without(ranges) : ranges;
  }

  #classPart(): readonly Range[] {
    const character = this.#peek()!;
    this.#at++;
    if (character !== "\\") return rangeOf(character.codePointAt(0)!);
    if (this.#take("b")) return rangeOf(8);
    if (this.#take("-")) return rangeOf(0x2d);
    return this.#escape();
  }

  /** What follows a backslash. */
  #escape(): readonly Range[] {
    const letter = this.#peek()!;
    this.#at++;
    const positive = CLASSES[letter], negative = CLASSES[letter.toLowerCase()];
    if (positive !== undefined) return positive;
    if (negative !== undefined) return without(negative);
    const control = CONTROLS[letter];
    if (control !== undefined) return rangeOf(control);
    switch (letter) {
      case "x":
        return rangeOf(this.#hex(2));
      case "u":
        return rangeOf(this.#unicode());
      case "c":
        return rangeOf(this.#characters[this.#at++]!.charCodeAt(0) % 32);
      case "b":
      case "B":
        throw this.#fail(`the word boundary \\${letter}`);
      case "p":
      case "P":
        throw this.#fail(`the Unicode property \\${letter}`);
    }
    if (/[1-9k]/.test(letter)) throw this.#fail("a back reference");
    return rangeOf(letter.codePointAt(0)!);
  }

  #hex(digits: number): number {
    const text = this.#characters.slice(this.#at, this.#at += digits).join("");
    return parseInt(text, 16);
  }

  #unicode(): number {
    if (this.#take("{")) {
      const end = this.#characters.indexOf("}", this.#at), point = this.#hex(end - this.#at);
      this.#at++;
      return point;
    }
    const high = this.#hex(4);
    if (high < 0xd800 || high > 0xdbff || !this.#take("\\u")) return high;
    return 0x10000 + ((high - 0xd800) << 10) + (this.#hex(4) - 0xdc00);
  }
}

function rangeOf(point: number): readonly Range[] {
  return [[point, point]];
}

function one(point: number): Pattern {
  return { kind: "characters", ranges: rangeOf(point) };
}

/** All characters but these. */
function without(ranges: readonly Range[]): readonly Range[] {
  let left = [...ALL];
  for (const [low, high] of ranges) {
    left = left.flatMap(([from, to]): Range[] => {
      if (high < from || low > to) return [[from, to]];
      return [
        ...from < low ? [[from, low - 1] as const] : [],
        ...high < to ? [[high + 1, to] as const] : [],
      ];
    });
  }
  return left;
}
