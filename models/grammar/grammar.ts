/**
 * Grammars over bytes. A grammar is a graph of nodes: sets of bytes, sequences, alternatives,
 * repetitions, and rules, which may refer to one another. Equal nodes are one object, so that a
 * machine (machine.ts) can tell by identity whether it has been in a state before.
 */

import { UsageError } from "../../core/errors.ts";

/** A range of code points or bytes, both ends included. */
export type Range = readonly [low: number, high: number];

interface Common {
  id: number;
  /** Whether a text of finite length matches; the machine never enters a node that has none. */
  isFinite: boolean;
}

export type Node =
  | Common & { kind: "empty" }
  /** One byte of the set: bit b mod 32 of word ⌊b/32⌋. */
  | Common & { kind: "bytes"; set: Uint32Array }
  | Common & { kind: "seq"; first: Node; second: Node }
  | Common & { kind: "alt"; options: readonly Node[] }
  | Common & { kind: "repeat"; of: Node; min: number; max: number }
  | Common & { kind: "rule"; body: () => Node }
  /** Matches nothing. What stands before it up to the last mark is looked up as one piece. */
  | Common & { kind: "mark" };

/**
 * Maximum work of compiling a form, and of each step of a completion that is held to it: tenths of
 * a second. Looking at a node costs 1, making one NODE_WORK.
 */
const MAX_WORK = 500_000, NODE_WORK = 10;
/** More nodes than a grammar has. */
const MANY_NODES = 2 ** 26;
const MAX_CODE_POINT = 0x10ffff;
/** Code points that are no characters: halves of surrogate pairs. */
const SURROGATES: Range = [0xd800, 0xdfff];
const encoder = new TextEncoder();

export class Grammar {
  #work = 0;
  /** The nodes of single bytes, by byte. */
  readonly #single: Node[] = [];
  readonly #nodes = new Map<string | number, Node>();
  readonly empty: Node = this.#node("empty", (common) => ({ kind: "empty", ...common }));
  /** See the kind `mark`. */
  readonly mark: Node = this.#node("mark", (common) => ({ kind: "mark", ...common }));

  #node(key: string | number, make: (common: Common) => Node): Node {
    let node = this.#nodes.get(key);
    if (node === undefined) {
      this.spend(NODE_WORK);
      node = make({ id: this.#nodes.size, isFinite: true });
      this.#nodes.set(key, node);
    }
    return node;
  }

  /**
   * Counts work, so that no form keeps its process busy for long, whatever the machine's speed.
   * @throws UsageError when it is too much
   */
  spend(work: number): void {
    this.#work += work;
    if (this.#work <= MAX_WORK) return;
    throw new UsageError("the schema or pattern is too large", {
      advice: "Use fewer properties, alternatives and counted repetitions.",
    });
  }

  /** The work that comes next has all of its budget. */
  renew(): void {
    this.#work = 0;
  }

  bytes(...ranges: readonly Range[]): Node {
    const set = new Uint32Array(8);
    for (const [low, high] of ranges) {
      for (let byte = low; byte <= high; byte++) set[byte >>> 5]! |= 1 << (byte & 31);
    }
    return this.#node(`bytes ${set}`, (common) => ({ kind: "bytes", set, ...common }));
  }

  seq(...nodes: readonly Node[]): Node {
    return nodes.reduceRight((second, first) => {
      if (first === this.empty) return second;
      if (second === this.empty) return first;
      // Most nodes are sequences: a number is found faster than a text.
      const key = first.id * MANY_NODES + second.id;
      return this.#node(key, (common) => ({ kind: "seq", first, second, ...common }));
    }, this.empty);
  }

  /** One of the options; without any, nothing matches. */
  alt(...nodes: readonly Node[]): Node {
    const options = [...new Set(nodes)];
    if (options.length === 1) return options[0]!;
    const key = `alt ${options.map(({ id }) => id)}`;
    return this.#node(key, (common) => ({ kind: "alt", options, ...common }));
  }

  repeat(of: Node, min = 0, max = Infinity): Node {
    if (max === 0) return this.empty;
    if (min === 1 && max === 1) return of;
    const key = `repeat ${of.id} ${min} ${max}`;
    return this.#node(key, (common) => ({ kind: "repeat", of, min, max, ...common }));
  }

  optional(node: Node): Node {
    return this.repeat(node, 0, 1);
  }

  /** A node that is made when it is needed, so that it can refer to itself. */
  rule(name: string, make: () => Node): Node {
    let made: Node | null = null;
    const body = () => made ??= make();
    return this.#node(`rule ${name}`, (common) => ({ kind: "rule", body, ...common }));
  }

  text(text: string): Node {
    let node = this.empty;
    for (const byte of encoder.encode(text).reverse()) {
      node = this.seq(this.#single[byte] ??= this.bytes([byte, byte]), node);
    }
    return node;
  }

  /** One character of these ranges of code points, in UTF-8. */
  character(ranges: readonly Range[]): Node {
    const sequences = ranges.flatMap(([low, high]) => utf8Ranges(low, high));
    const single = sequences.filter(({ length }) => length === 1).map(([range]) => range!);
    const longer = sequences.filter(({ length }) => length > 1);
    return this.alt(
      ...single.length === 0 ? [] : [this.bytes(...single)],
      ...longer.map((ranges) => this.seq(...ranges.map((range) => this.bytes(range)))),
    );
  }

  /** Finds the nodes below `root` that no finite text matches, and marks them. */
  findInfinite(root: Node): void {
    const found = new Set<Node>([root]);
    for (const node of found) {
      for (const child of childrenOf(node)) found.add(child);
    }
    for (const node of found) node.isFinite = node.kind === "bytes" || isEmptyKind(node);
    // What a node consists of stands behind it, except for rules.
    const reversed = [...found].reverse();
    for (let changes = true; changes;) {
      changes = false;
      this.spend(reversed.length);
      for (const node of reversed) {
        if (node.isFinite || !isNowFinite(node)) continue;
        node.isFinite = changes = true;
      }
    }
  }
}

function isEmptyKind({ kind }: Node): boolean {
  return kind === "empty" || kind === "mark";
}

function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "seq":
      return [node.first, node.second];
    case "alt":
      return node.options;
    case "repeat":
      return [node.of];
    case "rule":
      return [node.body()];
    default:
      return [];
  }
}

function isNowFinite(node: Node): boolean {
  const children = childrenOf(node);
  if (node.kind === "alt") return children.some(({ isFinite }) => isFinite);
  if (node.kind === "repeat" && node.min === 0) return true;
  return children.every(({ isFinite }) => isFinite);
}

/** The sequences of byte ranges that encode a range of code points in UTF-8. */
function utf8Ranges(low: number, high: number): Range[][] {
  const out: Range[][] = [], [firstHalf, lastHalf] = SURROGATES;
  const pieces: Range[] = [
    [0, 0x7f],
    [0x80, 0x7ff],
    [0x800, firstHalf - 1],
    [lastHalf + 1, 0xffff],
    [0x10000, MAX_CODE_POINT],
  ];
  for (const [first, last] of pieces) {
    const from = Math.max(low, first), to = Math.min(high, last);
    if (from > to) continue;
    const bytes = (point: number) => [...encoder.encode(String.fromCodePoint(point))];
    out.push(...placeRanges(bytes(from), bytes(to), [0x80, 0xbf]));
  }
  return out;
}

/**
 * Divides the numbers from `low` to `high`, which have equally many places, into sequences of
 * ranges, one for each place.
 * @param full the values of a place after the first
 */
export function placeRanges(
  low: readonly number[],
  high: readonly number[],
  full: Range,
): Range[][] {
  const [a = 0, ...lowRest] = low, [b = 0, ...highRest] = high;
  if (lowRest.length === 0) return a <= b ? [[[a, b]]] : [];
  const under = (place: number, rest: Range[][]): Range[][] =>
    rest.map((ranges) => [[place, place], ...ranges]);
  const [least, most] = full, lowest = lowRest.map(() => least), highest = lowRest.map(() => most);
  if (a === b) return under(a, placeRanges(lowRest, highRest, full));
  const out: Range[][] = [];
  let from = a, to = b;
  if (lowRest.some((place) => place !== least)) {
    out.push(...under(from++, placeRanges(lowRest, highest, full)));
  }
  const above = highRest.some((place) => place !== most)
    ? under(to--, placeRanges(lowest, highRest, full))
    : [];
  if (from <= to) out.push([[from, to], ...lowest.map((): Range => full)]);
  return [...out, ...above];
}
