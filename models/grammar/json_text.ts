/**
 * The grammar of JSON texts: strings, numbers, and values of any form. White space between tokens
 * is limited, because small models can write it without end: a blank, or a line break and up to 20
 * blanks.
 */
import type { Grammar, Node, Range } from "./grammar.ts";
import { numberNode } from "./number_ranges.ts";

/** Characters that stand for themselves in a string. */
const PLAIN: readonly Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0xd7ff],
  [0xe000, 0x10ffff],
];
const SHORT_ESCAPES = new Map<number, string>([
  ...[[0x22, '"'], [0x5c, "\\"], [0x08, "b"], [0x0c, "f"], [0x0a, "n"], [0x0d, "r"]] as const,
  [0x09, "t"] as const,
]);
/** Code points below this have to be escaped. */
const CONTROL_END = 0x20;
const MAX_INDENT = 20;

const at = (character: string): Range => [character.charCodeAt(0), character.charCodeAt(0)];
const HEX: readonly Range[] = [[0x30, 0x39], [0x41, 0x46], [0x61, 0x66]];

export class JsonText {
  readonly space: Node;
  /** Any character of a string, plain or escaped. */
  readonly anyCharacter: Node;
  readonly anyString: Node;
  readonly anyNumber: Node;
  readonly anyValue: Node;
  readonly anyObject: Node;

  constructor(readonly grammar: Grammar) {
    const g = grammar;
    const indent = g.repeat(g.bytes(at(" "), at("\t")), 0, MAX_INDENT);
    this.space = g.alt(g.empty, g.text(" "), g.seq(g.text("\n"), indent));
    this.anyCharacter = this.#anyCharacter();
    this.anyString = this.quoted(g.repeat(this.anyCharacter));
    this.anyNumber = numberNode(g, {});
    this.anyObject = this.object([], [], this.entry(this.anyString, g.rule("value", () => value)));
    const anyArray = this.array([], g.rule("value", () => value), 0, Infinity);
    const words = ["true", "false", "null"].map((word) => g.text(word));
    const value = g.alt(this.anyObject, anyArray, this.anyString, this.anyNumber, ...words);
    this.anyValue = value;
  }

  /** A string with this content. What follows it does not matter for most tokens: a mark. */
  quoted(content: Node): Node {
    const { grammar: g } = this, quote = g.text('"');
    return g.seq(quote, content, quote, g.mark);
  }

  /** One character of these code points, as it stands in a string. */
  character(ranges: readonly Range[]): Node {
    const { grammar: g } = this, options: Node[] = [];
    const plain = PLAIN.flatMap((one) => ranges.map((other) => common(one, other)))
      .filter(([low, high]) => low <= high);
    if (plain.length > 0) options.push(g.character(plain));
    const has = (point: number) => ranges.some(([low, high]) => low <= point && point <= high);
    for (const [point, letter] of SHORT_ESCAPES) {
      if (has(point)) options.push(g.text(`\\${letter}`));
    }
    for (let point = 0; point < CONTROL_END; point++) {
      if (!has(point) || SHORT_ESCAPES.has(point)) continue;
      options.push(g.text(`\\u${point.toString(16).padStart(4, "0")}`));
    }
    return g.alt(...options);
  }

  literal(value: unknown): Node {
    const { grammar: g } = this, text = g.text(JSON.stringify(value));
    return typeof value === "string" ? g.seq(text, g.mark) : text;
  }

  entry(key: Node, value: Node): Node {
    const { grammar: g } = this;
    return g.seq(key, g.text(":"), g.optional(g.text(" ")), value);
  }

  /**
   * An object with these entries in their order.
   * @param isRequired whether each of them must be there
   * @param more an entry that may follow any number of times; null = none
   */
  object(entries: readonly Node[], isRequired: readonly boolean[], more: Node | null): Node {
    const { grammar: g, space } = this;
    const first = (entry: Node) => g.seq(space, entry);
    const next = (entry: Node) => g.seq(g.text(","), space, entry);
    const others = more === null ? g.empty : g.repeat(next(more));
    // What may follow entry i − 1, with and without an entry before it.
    let afterSome = others;
    let afterNone = more === null ? g.empty : g.optional(g.seq(first(more), others));
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i]!, skips = !isRequired[i];
      const none = g.seq(first(entry), afterSome), some = g.seq(next(entry), afterSome);
      afterNone = skips ? g.alt(none, afterNone) : none;
      afterSome = skips ? g.alt(some, afterSome) : some;
    }
    return g.seq(g.text("{"), afterNone, space, g.text("}"));
  }

  /**
   * An array that begins with items of these forms.
   * @param more the form of all further items; null = there are none
   * @param min smallest number of items in all
   */
  array(begin: readonly Node[], more: Node | null, min: number, max: number): Node {
    const { grammar: g, space } = this, begun = Math.min(begin.length, max);
    const comma = g.seq(g.text(","), space);
    let items = more === null ? g.empty : g.repeat(
      g.seq(comma, more),
      Math.max(0, min - Math.max(1, begun)),
      max - Math.max(1, begun),
    );
    if (begun === 0 && more !== null && max > 0) {
      const some = g.seq(space, more, items);
      items = min === 0 ? g.optional(some) : some;
    }
    for (let i = begun - 1; i >= 0; i--) {
      const some = g.seq(i === 0 ? space : comma, begin[i]!, items);
      items = i < min ? some : g.optional(some);
    }
    return g.seq(g.text("["), max === 0 ? g.empty : items, space, g.text("]"));
  }

  #anyCharacter(): Node {
    const { grammar: g } = this;
    const hex = (count: number) => g.repeat(g.bytes(...HEX), count, count);
    const d = g.bytes(at("d"), at("D"));
    const low = g.seq(d, g.bytes([0x30, 0x37]), hex(2));
    const others = g.bytes(...[[0x30, 0x39], [0x41, 0x43], [0x45, 0x46]] as Range[], [0x61, 0x63], [
      0x65,
      0x66,
    ]);
    const highHalf = g.seq(d, g.bytes([0x38, 0x39], at("a"), at("b"), at("A"), at("B")), hex(2));
    const lowHalf = g.seq(d, g.bytes([0x63, 0x66], [0x43, 0x46]), hex(2));
    const escape = g.alt(
      g.bytes(...[...'"\\/bfnrt'].map(at)),
      g.seq(g.text("u"), g.alt(g.seq(others, hex(3)), low)),
      g.seq(g.text("u"), highHalf, g.text("\\u"), lowHalf),
    );
    return g.alt(g.character(PLAIN), g.seq(g.text("\\"), escape));
  }
}

function common([a, b]: Range, [c, d]: Range): Range {
  return [Math.max(a, c), Math.min(b, d)];
}
