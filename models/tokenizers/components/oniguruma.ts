/**
 * Regular expressions of a `tokenizer.json`, which are written for Oniguruma (Hugging Face's
 * tokenizers run them with it), translated for JavaScript's `v` mode. The differences that matter:
 * `\s`, `\d`, `\w` and `\b` follow Unicode; `^` and `$` are about lines; `(?m)` is about dots;
 * character classes nest; quantifiers can be possessive.
 * Left out, and refused, since no tokenizer has them: back references, other escapes than those
 * below, POSIX brackets, comments, conditions, calls, absent groups, blocks of characters
 * (`\p{InGreek}`), and the `x` option.
 * Left out silently: case folding that changes the number of characters ("ß" for "ss").
 */
import { LinearPattern } from "../../linear_pattern.ts";
import { NotSupported } from "./component.ts";

/** @throws NotSupported for what is left out, Error for what is no expression */
export function translateExpression(expression: string): LinearPattern {
  const source = new Translator(expression).translate();
  try {
    new RegExp(source, "v");
  } catch {
    throw new Error(`the expression ${JSON.stringify(expression)} is not understood`);
  }
  return new LinearPattern(source);
}

const SPACE = String.raw`\p{White_Space}`;
const WORD = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}`;
/** Oniguruma counts these numbers as word characters too, but not inside of a character class. */
const WORD_OUTSIDE = String.raw`[${WORD}\u{B2}\u{B3}\u{B9}\u{BC}-\u{BE}]`;
const NOT_WORD_OUTSIDE = WORD_OUTSIDE.replace("[", "[^");
const HEX = "0-9A-Fa-f";
const GRAPH = String.raw`[^${SPACE}\p{Cc}\p{Cn}\p{Cs}]`;

/** Contents of character classes, by the names of Oniguruma's properties in lower case. */
const PROPERTIES: Readonly<Record<string, string>> = {
  alnum: String.raw`\p{Alphabetic}\p{Nd}`,
  alpha: String.raw`\p{Alphabetic}`,
  ascii: String.raw`\p{ASCII}`,
  blank: String.raw`\t\p{Zs}`,
  cntrl: String.raw`\p{Cc}`,
  digit: String.raw`\p{Nd}`,
  graph: GRAPH,
  lower: String.raw`\p{Lowercase}`,
  print: String.raw`${GRAPH}\p{Zs}`,
  punct: String.raw`\p{P}`,
  space: SPACE,
  upper: String.raw`\p{Uppercase}`,
  word: WORD,
  xdigit: HEX,
};

/** Contents of character classes, by the letter of the escape; upper case letters negate them. */
const SETS: Readonly<Record<string, string>> = { d: String.raw`\p{Nd}`, s: SPACE, w: WORD, h: HEX };
const CONTROLS: Readonly<Record<string, number>> = {
  t: 0x09,
  n: 0x0a,
  v: 0x0b,
  f: 0x0c,
  r: 0x0d,
  a: 0x07,
  e: 0x1b,
};

const WORD_BOUNDARY =
  `(?:(?<=${WORD_OUTSIDE})(?!${WORD_OUTSIDE})|(?<!${WORD_OUTSIDE})(?=${WORD_OUTSIDE}))`;
const NOT_WORD_BOUNDARY =
  `(?:(?<=${WORD_OUTSIDE})(?=${WORD_OUTSIDE})|(?<!${WORD_OUTSIDE})(?!${WORD_OUTSIDE}))`;
const ANY = String.raw`[\s\S]`;

/** Letters of escapes that are not translated. */
const REFUSED_ESCAPES = /[AcGgKkNORXyZz0-9]/;

/** A character, or the content of a character class that stands for several. */
type Item = { char: number } | { set: string };

class Translator {
  readonly #source: string;
  #at = 0;
  #dotMatchesNewline = false;
  #lookbehinds = 0;
  #atomics = 0;

  constructor(source: string) {
    this.#source = source;
  }

  translate(): string {
    const source = this.#alternatives();
    if (this.#at < this.#source.length) throw this.#error("a parenthesis too many");
    return source;
  }

  #error(what: string): Error {
    return new Error(`the expression ${JSON.stringify(this.#source)} has ${what}`);
  }

  #unsupported(what: string): Error {
    return new NotSupported(`the expression ${JSON.stringify(this.#source)} with ${what}`);
  }

  #skip(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  /** Consumes what matches next; the expression must be sticky. */
  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source);
    if (found !== null) this.#at = expression.lastIndex;
    return found;
  }

  #character(): string {
    const code = this.#source.codePointAt(this.#at);
    if (code === undefined) throw this.#error("no end");
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  #alternatives(): string {
    let out = "";
    while (this.#at < this.#source.length && this.#source[this.#at] !== ")") {
      if (this.#skip("|")) out += "|";
      else out += this.#quantified(this.#atom());
    }
    return out;
  }

  #quantified(atom: string): string {
    let out = atom, isBare = true;
    for (;;) {
      const sign = this.#match(/[*+?]/y)?.[0];
      const bounds = sign === undefined ? this.#match(/\{(\d*)(,?)(\d*)\}/y) : null;
      if (bounds !== null && bounds[1] === "" && bounds[3] === "") {
        this.#at -= bounds[0].length;
        return out;
      }
      if (sign === undefined && bounds === null) return out;
      if (out === "") throw this.#error("a quantifier without anything before it");
      const quantifier = sign ?? `{${bounds![1] || 0}${bounds![2]}${bounds![3]}}`;
      const isFixed = bounds !== null && bounds[2] === "";
      const lazy = !isFixed && this.#skip("?") ? "?" : "";
      const isPossessive = sign !== undefined && lazy === "" && this.#skip("+");
      out = `${isBare ? out : `(?:${out})`}${quantifier}${lazy}`;
      isBare = false;
      if (isPossessive) {
        out = this.#atomic(out);
        isBare = true;
      }
    }
  }

  /** JavaScript has no atomic groups, but it does not go back into a lookahead either. */
  #atomic(inner: string): string {
    if (this.#lookbehinds > 0) throw this.#error("an atomic group in a lookbehind");
    const name = `atomic${this.#atomics++}`;
    return `(?:(?=(?<${name}>${inner}))\\k<${name}>)`;
  }

  #atom(): string {
    const character = this.#character();
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return this.#characterClass();
      case ".":
        return this.#dotMatchesNewline ? ANY : String.raw`[^\n]`;
      case "^":
        return `(?:(?<!${ANY})|(?<=\\n)(?=${ANY}))`;
      case "$":
        return `(?:(?=\\n)|(?!${ANY}))`;
      case "*":
      case "+":
      case "?":
        throw this.#error("a quantifier without anything before it");
      case "\\":
        return this.#escapeOutside();
      default:
        return escaped(character.codePointAt(0)!);
    }
  }

  #group(): string {
    const dot = this.#dotMatchesNewline;
    const options = this.#match(/\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])/y);
    if (options !== null) {
      const [, on = "", off = "", end] = options;
      if (/[^im]/.test(on + off)) throw this.#unsupported(`the options ${options[0]}`);
      if (on.includes("m")) this.#dotMatchesNewline = true;
      if (off.includes("m")) this.#dotMatchesNewline = false;
      const modifiers = (on.includes("i") ? "i" : "") + (off.includes("i") ? "-i" : "");
      const out = `(?${modifiers}:${this.#alternatives()})`;
      this.#dotMatchesNewline = dot;
      // Options without a colon hold up to the end of the group that they stand in.
      if (end === ":") this.#closeGroup();
      return out;
    }
    const out = this.#groupOfKind();
    this.#dotMatchesNewline = dot;
    return out;
  }

  #groupOfKind(): string {
    const inner = () => {
      const out = this.#alternatives();
      this.#closeGroup();
      return out;
    };
    if (this.#skip("?>")) return this.#atomic(inner());
    const lookbehind = this.#match(/\?<[=!]/y);
    if (lookbehind !== null) {
      this.#lookbehinds++;
      const out = `(${lookbehind[0]}${inner()})`;
      this.#lookbehinds--;
      return out;
    }
    const start = this.#match(/\?[=!]|\?<[A-Za-z_]\w*>/y);
    if (start !== null) return `(${start[0]}${inner()})`;
    if (this.#source[this.#at] === "?") throw this.#error("a group of an unknown kind");
    return `(?:${inner()})`;
  }

  #closeGroup(): void {
    if (!this.#skip(")")) throw this.#error("a group without an end");
  }

  #escapeOutside(): string {
    if (this.#skip("b")) return WORD_BOUNDARY;
    if (this.#skip("B")) return NOT_WORD_BOUNDARY;
    if (this.#match(/w|p\{[Ww]ord\}/y) !== null) return WORD_OUTSIDE;
    if (this.#match(/W|P\{[Ww]ord\}|p\{\^[Ww]ord\}/y) !== null) return NOT_WORD_OUTSIDE;
    const item = this.#escape();
    return "set" in item ? `[${item.set}]` : escaped(item.char);
  }

  /** What stands after a backslash, where it means characters. */
  #escape(): Item {
    const hex = this.#match(/x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})/y);
    if (hex !== null) return { char: parseInt((hex[1] ?? hex[2] ?? hex[3])!, 16) };
    const property = this.#match(/([pP])\{(\^?)([^}]*)\}/y);
    if (property !== null) {
      const [, letter, caret, name] = property;
      return { set: this.#property(name!, (letter === "P") !== (caret === "^")) };
    }
    const letter = this.#character();
    if (REFUSED_ESCAPES.test(letter)) throw this.#unsupported(`\\${letter}`);
    const lower = letter.toLowerCase();
    if (Object.hasOwn(SETS, lower)) {
      return { set: letter === lower ? SETS[lower]! : `[^${SETS[lower]!}]` };
    }
    return { char: CONTROLS[letter] ?? letter.codePointAt(0)! };
  }

  #property(name: string, isNegated: boolean): string {
    const key = name.toLowerCase().replaceAll(/[ _-]/g, "");
    if (Object.hasOwn(PROPERTIES, key)) {
      return isNegated ? `[^${PROPERTIES[key]!}]` : PROPERTIES[key]!;
    }
    const capitalised = name.split(/[ _-]/)
      .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1).toLowerCase()).join("_");
    for (const candidate of [name, capitalised].flatMap((one) => [one, `Script=${one}`])) {
      try {
        new RegExp(`\\p{${candidate}}`, "v");
        return `\\${isNegated ? "P" : "p"}{${candidate}}`;
      } catch {
        // Not a name that JavaScript knows.
      }
    }
    throw this.#error(`the property ${JSON.stringify(name)}, which is not known`);
  }

  #characterClass(): string {
    const isNegated = this.#skip("^"), operands: string[] = [];
    let items = "";
    if (this.#source[this.#at] === "]" && this.#source.includes("]", this.#at + 1)) {
      items += escaped(this.#character().codePointAt(0)!);
    }
    while (!this.#skip("]")) {
      if (this.#skip("&&")) {
        operands.push(items);
        items = "";
      } else items += this.#classItems();
    }
    operands.push(items);
    const content = operands.length === 1
      ? items
      : operands.map((operand) => `[${operand}]`).join("&&");
    return `[${isNegated ? "^" : ""}${content}]`;
  }

  #classItems(): string {
    if (this.#match(/\[:\^?[a-z]+:\]/y) !== null) throw this.#unsupported("a POSIX bracket");
    if (this.#skip("[")) return this.#characterClass();
    const first = this.#classItem();
    if ("set" in first) return first.set;
    const isRange = this.#match(/-(?![\]\[]|&&)/y) !== null;
    if (!isRange) return escaped(first.char);
    const last = this.#classItem();
    if ("set" in last) return escaped(first.char) + escaped(0x2d) + last.set;
    return `${escaped(first.char)}-${escaped(last.char)}`;
  }

  #classItem(): Item {
    if (!this.#skip("\\")) return { char: this.#character().codePointAt(0)! };
    if (this.#skip("b")) return { char: 0x08 };
    return this.#escape();
  }
}

/** A character that has no other meaning wherever it stands. */
function escaped(code: number): string {
  const character = String.fromCodePoint(code);
  return code >= 0x80 || /[A-Za-z0-9]/.test(character) ? character : `\\u{${code.toString(16)}}`;
}
