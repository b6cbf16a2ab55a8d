/**
 * Regular expressions of JSON Schema's `pattern`, which are those of JavaScript with the flag u, as
 * grammars. Lookaheads are understood at the beginning of a pattern. Left out, and refused by name:
 * other lookarounds, back references, word boundaries, Unicode properties, flags.
 */
import { UsageError } from "../../core/errors.ts";
import { type Node as Pattern, parseExpression } from "../linear_pattern.ts";
import type { Grammar, Node, Range } from "./grammar.ts";
import { type Condition, intersection } from "./intersection.ts";

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
const MAX_LENGTH = 10_000;

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
  const pattern = parse(source);
  const anything = g.repeat(options.character(ALL));
  const fail = (what: string) => refuse(source, what);
  const nodeOf = (part: Pattern): Node => {
    switch (part.kind) {
      case "character":
        return options.character(new CharacterReader(part.written, fail).ranges());
      case "sequence":
        return g.seq(...part.items.map(nodeOf));
      case "choice":
        return g.alt(...part.items.map(nodeOf));
      case "repeat":
        return g.repeat(nodeOf(part.item), part.min, part.max);
      case "look":
        throw fail(part.isBehind ? "a lookbehind" : "a lookahead that is not at the beginning");
      case "edge":
        if (part.written.startsWith("\\")) throw fail(`the word boundary ${part.written}`);
        throw fail(`${part.written} within it`);
      default:
        throw fail("a back reference");
    }
  };
  const isEdge = (part: Pattern | undefined, written: string) =>
    part?.kind === "edge" && part.written === written;
  /** With what may stand before and after, where no anchor is. */
  const whole = (part: Pattern): Node => {
    if (part.kind === "choice") return g.alt(...part.items.map(whole));
    const parts = part.kind === "sequence" ? part.items : [part];
    if (parts.length === 1 && (parts[0]!.kind === "choice" || parts[0]!.kind === "sequence")) {
      return whole(parts[0]!);
    }
    let from = 0, to = parts.length;
    const isAtStart = isEdge(parts[0], "^");
    if (isAtStart) from++;
    const isAtEnd = to > from && isEdge(parts[to - 1], "$");
    if (isAtEnd) to--;
    const conditions: Condition[] = [];
    for (; from < to; from++) {
      const look = parts[from]!;
      if (look.kind !== "look" || look.isBehind) break;
      if (!isAtStart && !options.isWhole) throw fail("a lookahead without ^ before it");
      conditions.push({ node: lookNode(look.item), isNegative: look.isNegative });
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
    if (of.kind === "choice") return g.alt(...of.items.map(lookNode));
    const parts = of.kind === "sequence" ? of.items : [of], isAtEnd = isEdge(parts.at(-1), "$");
    const before = isAtEnd ? parts.slice(0, -1) : parts;
    return g.seq(...before.map(nodeOf), isAtEnd ? g.empty : anything);
  };
  return whole(pattern);
}

function refuse(source: string, what: string): UsageError {
  const shown = source.length > 60 ? `${source.slice(0, 60)}…` : source;
  return new UsageError(`the pattern ${JSON.stringify(shown)} has ${what}, which is not supported`);
}

function parse(source: string): Pattern {
  try {
    new RegExp(source, "u");
  } catch (error) {
    throw new UsageError(
      `the pattern ${JSON.stringify(source.slice(0, 60))} is not a regular expression: ${
        error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : ""
      }`,
    );
  }
  let parsed: ReturnType<typeof parseExpression>;
  try {
    parsed = parseExpression(source);
  } catch {
    throw refuse(source, "flags in a group, or too many groups in groups");
  }
  if (parsed.hasOptions) throw refuse(source, "flags in a group");
  return parsed.node;
}

/** Reads a character, an escape or a class, which V8 has accepted. */
class CharacterReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(written: string, private readonly fail: (what: string) => UsageError) {
    this.#characters = Array.from(written);
  }

  ranges(): readonly Range[] {
    if (this.#take("[")) return this.#class();
    if (this.#take(".")) return without(LINE_ENDS);
    return this.#classPart();
  }

  #peek(offset = 0): string | undefined {
    return this.#characters[this.#at + offset];
  }

  #take(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.#peek(i) !== text[i]) return false;
    this.#at += text.length;
    return true;
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
      case "p":
      case "P":
        throw this.fail(`the Unicode property \\${letter}`);
    }
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
