/**
 * Regular expressions from outside, in time that grows with the length of the text alone. V8 tries
 * all ways to match one after the other, for years with `(a+)+b`. Here each place of the expression
 * is tried once at each place of the text, in the same order, so that the same match is found
 * (R. Cox, "Regular Expression Matching: the Virtual Machine Approach"). V8 still matches where an
 * expression and a text are short of harm, since it is many times faster.
 * Left out: back references, which are refused where V8 might not end.
 */

/** What matches next in a text, as a global RegExp finds it. */
export interface Matcher {
  lastIndex: number;
  exec(text: string): { readonly index: number; readonly 0: string } | null;
}

/** V8 matches harmless expressions in texts of up to so many units: 2^32 steps at the most. */
const MAX_QUICK = 1 << 16;
/** Instructions of an expression, and groups in each other. */
const MAX_SIZE = 20_000, MAX_DEPTH = 200;
/** A repeated character counts as a loop from this many on. */
const LOOP = 16;

/** A part of an expression; `written` is its text there. */
export type Node =
  | { kind: "character"; written: string; test: (code: number) => boolean }
  | { kind: "edge"; written: string; test: (text: string, at: number) => boolean }
  | { kind: "reference" }
  | { kind: "sequence" | "choice"; items: Node[] }
  | { kind: "repeat"; item: Node; min: number; max: number; isLazy: boolean }
  | { kind: "look"; item: Node; isBehind: boolean; isNegative: boolean }
  | { kind: "atomic"; item: Node };

export class LinearPattern implements Matcher {
  lastIndex = 0;
  readonly #native: RegExp | null;
  /** Null with a back reference. */
  readonly #program: Program | null;
  #run: Run | null = null;

  /** @param source of a RegExp with the flag `v`. @throws Error when it cannot be understood */
  constructor(source: string) {
    const parser = new Parser(source), node = parser.parse();
    this.#native = harm(node) > 1 ? null : new RegExp(source, "gv");
    this.#program = parser.hasReference ? null : new Program(node);
    if (this.#native === null && this.#program === null) throw parser.error("a back reference");
  }

  /** Whether the expression matches somewhere. */
  test(text: string): boolean {
    this.lastIndex = 0;
    return this.exec(text) !== null;
  }

  exec(text: string): { readonly index: number; readonly 0: string } | null {
    if (this.#native !== null && (text.length <= MAX_QUICK || this.#program === null)) {
      this.#native.lastIndex = this.lastIndex;
      const found = this.#native.exec(text);
      this.lastIndex = this.#native.lastIndex;
      return found;
    }
    const program = this.#program!;
    if (this.#run?.text !== text) this.#run = new Run(program, text);
    for (let from = this.lastIndex; from <= text.length; from += width(text, from)) {
      const end = this.#run.from(program.start, from, false);
      if (end < 0) continue;
      this.lastIndex = end;
      return { index: from, 0: text.slice(from, end) };
    }
    this.lastIndex = 0;
    this.#run = null;
    return null;
  }
}

/** Whether V8 itself matches an expression in a time that grows with the text alone. */
export function isHarmless(source: string): boolean {
  try {
    return harm(new Parser(source).parse()) <= 1;
  } catch {
    return false;
  }
}

/**
 * The parts of an expression with the flag `u`, which V8 has accepted.
 * @throws Error for one that is nested too deeply
 */
export function parseExpression(source: string): { node: Node; hasOptions: boolean } {
  const parser = new Parser(source, false), node = parser.parse();
  return { node, hasOptions: parser.hasOptions };
}

function width(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1;
}

/**
 * The exponent of the steps that V8 takes from one place of a text. A loop counts if something
 * follows it that may not match; loops in loops count as more than any number.
 */
function harm(node: Node): number {
  switch (node.kind) {
    case "character":
    case "edge":
    case "reference":
      return 0;
    case "choice":
      return Math.max(0, ...node.items.map(harm));
    case "look":
    case "atomic":
      return harm(node.item) + (hasLoop(node.item) ? 1 : 0);
    case "repeat":
      if (node.item.kind === "character") return 0;
      return node.max > 1 && (hasLoop(node.item) || hasChoice(node.item)) ? 9 : harm(node.item);
    case "sequence": {
      let sum = 0, canFail = false;
      for (const item of node.items.toReversed()) {
        sum += harm(item) + (canFail && hasLoop(item) ? 1 : 0);
        canFail ||= !isOptional(item);
      }
      return sum;
    }
  }
}

function hasLoop(node: Node): boolean {
  if ("items" in node) return node.items.some(hasLoop);
  return "item" in node && (node.kind === "repeat" && node.max >= LOOP || hasLoop(node.item));
}

/** Whether a part can match one text in several ways. */
function hasChoice(node: Node): boolean {
  if (node.kind === "sequence") return node.items.some(hasChoice);
  return node.kind === "choice" ? node.items.length > 1 : node.kind === "repeat";
}

function isOptional(node: Node): boolean {
  return node.kind === "repeat" && (node.min === 0 || isOptional(node.item)) ||
    node.kind === "sequence" && node.items.every(isOptional) ||
    node.kind === "choice" && node.items.some(isOptional);
}

/** Reads the syntax of JavaScript. A set of characters is given to V8 as it stands. */
class Parser {
  #at = 0;
  #depth = 0;
  #ignoresCase = false;
  hasReference = false;
  /** Whether a group has options such as `i`. */
  hasOptions = false;

  /** @param nests whether classes may stand in each other, as with the flag `v` */
  constructor(readonly source: string, private readonly nests = true) {}

  parse(): Node {
    const node = this.#choice();
    if (this.#at < this.source.length) throw this.error("a parenthesis too many");
    return node;
  }

  error(what: string): Error {
    return new Error(`the expression ${JSON.stringify(this.source.slice(0, 200))} has ${what}`);
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.source);
    if (found !== null) this.#at = expression.lastIndex;
    return found;
  }

  #choice(): Node {
    if (++this.#depth > MAX_DEPTH) throw this.error("too many groups in each other");
    const items: Node[] = [];
    do {
      const sequence: Node[] = [];
      while (this.#at < this.source.length && !/[|)]/.test(this.source[this.#at]!)) {
        sequence.push(this.#quantified(this.#atom()));
      }
      items.push({ kind: "sequence", items: sequence });
    } while (this.#match(/\|/y) !== null);
    this.#depth--;
    return items.length === 1 ? items[0]! : { kind: "choice", items };
  }

  #quantified(item: Node): Node {
    const found = this.#match(/(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)/y);
    if (found === null) return item;
    const [, sign, low, comma, high, lazy] = found;
    const min = sign === undefined ? Number(low) : sign === "+" ? 1 : 0;
    const max = sign === undefined
      ? comma === "" ? min : high === "" ? Infinity : Number(high)
      : sign === "?"
      ? 1
      : Infinity;
    if (max < min) throw this.error(`the range ${found[0]}`);
    return { kind: "repeat", item, min, max, isLazy: lazy === "?" };
  }

  #atom(): Node {
    if (this.#match(/\(/y) !== null) return this.#group();
    const edge = this.#match(/[\^$]|\\[bB]/y)?.[0];
    if (edge !== undefined) return { kind: "edge", written: edge, test: EDGES[edge]! };
    if (this.#match(/\\(?:[1-9]\d*|k<[^>]+>)/y) !== null) {
      this.hasReference = true;
      return { kind: "reference" };
    }
    if (this.source[this.#at] === "[") return this.#characters(this.#endOfClass());
    const one = this.#match(
      /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|x..|c.|.)|[^*+?{}\]]/suy,
    );
    if (one === null) throw this.error(`an unexpected "${this.source[this.#at]}"`);
    return this.#characters(one[0]);
  }

  #characters(written: string): Node {
    let pattern: RegExp;
    try {
      pattern = new RegExp(
        `^${written}$`,
        (this.nests ? "v" : "u") + (this.#ignoresCase ? "i" : ""),
      );
    } catch {
      throw this.error(`${written}, which is not understood`);
    }
    const matches = (code: number) => pattern.test(String.fromCodePoint(code));
    /** Of ASCII, once it is asked for. */
    let low: readonly boolean[] | null = null;
    const ofLow = () => low ??= Array.from({ length: 128 }, (_, code) => matches(code));
    const test = (code: number) => code < 128 ? ofLow()[code]! : matches(code);
    return { kind: "character", written, test };
  }

  #endOfClass(): string {
    const from = this.#at;
    let open = 0;
    do {
      const one = this.#match(/\\.|[^]/suy)?.[0];
      if (one === undefined) throw this.error("no end of a class");
      if (one === "[" && (this.nests || open === 0)) open++;
      if (one === "]") open--;
    } while (open > 0);
    return this.source.slice(from, this.#at);
  }

  #group(): Node {
    const atomic = this.#match(/\?=\(\?<(atomic\d+)>/y)?.[1];
    if (atomic !== undefined) {
      const item = this.#choice();
      if (this.#match(new RegExp(`\\)\\)\\\\k<${atomic}>`, "y")) === null) {
        throw this.error("a group without an end");
      }
      return { kind: "atomic", item };
    }
    const [, look, on] = this.#match(/\?(?:(<?[=!])|([im]*)(?:-[im]*)?:|P?<[^>]+>)/y) ?? [];
    if (look === undefined && this.source[this.#at] === "?") {
      throw this.error("a group of an unknown kind");
    }
    const before = this.#ignoresCase;
    if (/[a-z]:$/.test(this.source.slice(0, this.#at))) this.hasOptions = true;
    if (on?.includes("i")) this.#ignoresCase = true;
    else if (/-m?i/.test(this.source.slice(this.#at - 4, this.#at))) this.#ignoresCase = false;
    const item = this.#choice();
    this.#ignoresCase = before;
    if (this.#match(/\)/y) === null) throw this.error("a group without an end");
    if (look === undefined) return item;
    return { kind: "look", item, isBehind: look.length > 1, isNegative: look.endsWith("!") };
  }
}

const isWord = (text: string, at: number) => /\w/.test(text[at] ?? "");
const EDGES: Readonly<Record<string, (text: string, at: number) => boolean>> = {
  "^": (_, at) => at === 0,
  "$": (text, at) => at === text.length,
  "\\b": (text, at) => isWord(text, at - 1) !== isWord(text, at),
  "\\B": (text, at) => isWord(text, at - 1) === isWord(text, at),
};

type Instruction =
  | { op: "match" }
  | { op: "character"; test: (code: number) => boolean; isBehind: boolean; next: number }
  | { op: "edge"; test: (text: string, at: number) => boolean; next: number }
  | { op: "split"; first: number; second: number }
  | { op: "look"; start: number; isNegative: boolean; next: number }
  | { op: "atomic"; start: number; next: number };

/** Instructions, each of which names those that may come after it. */
class Program {
  readonly code: Instruction[] = [];
  readonly start: number;

  constructor(node: Node) {
    this.start = this.#emit(node, this.#add({ op: "match" }), false);
  }

  #add(instruction: Instruction): number {
    if (this.code.length >= MAX_SIZE) throw new Error("the expression is too long");
    return this.code.push(instruction) - 1;
  }

  /** Adds the instructions of a part that end with `next`; returns the first one. */
  #emit(node: Node, next: number, isBehind: boolean): number {
    switch (node.kind) {
      case "character":
        return this.#add({ op: "character", test: node.test, isBehind, next });
      case "edge":
        return this.#add({ op: "edge", test: node.test, next });
      case "reference":
        throw new Error("a back reference");
      case "sequence": {
        const items = isBehind ? node.items : node.items.toReversed();
        return items.reduce((after, item) => this.#emit(item, after, isBehind), next);
      }
      case "choice":
        return node.items.map((item) => this.#emit(item, next, isBehind)).reduceRight(
          (second, first) => this.#add({ op: "split", first, second }),
        );
      case "look": {
        const start = this.#emit(node.item, this.#add({ op: "match" }), node.isBehind);
        return this.#add({ op: "look", start, isNegative: node.isNegative, next });
      }
      case "atomic": {
        const start = this.#emit(node.item, this.#add({ op: "match" }), isBehind);
        return this.#add({ op: "atomic", start, next });
      }
      case "repeat":
        return this.#repeat(node, next, isBehind);
    }
  }

  #repeat({ item, min, max, isLazy }: Node & { kind: "repeat" }, next: number, isBehind: boolean) {
    const split = (inner: number) => ({
      op: "split" as const,
      first: isLazy ? next : inner,
      second: isLazy ? inner : next,
    });
    let start = next;
    if (max === Infinity) {
      const loop = this.#add({ op: "match" });
      this.code[loop] = split(this.#emit(item, loop, isBehind));
      start = loop;
    }
    for (let n = min; n < max && max !== Infinity; n++) {
      start = this.#add(split(this.#emit(item, start, isBehind)));
    }
    for (let n = 0; n < min; n++) start = this.#emit(item, start, isBehind);
    return start;
  }
}

/** What is known of an instruction at a place of the text. */
const FAILED = 1, PENDING = 2, ENDED = 3;
/** Places of the text whose states are in memory together. */
const PAGE = 1024;

/** A program on one text. What it finds out at one place helps it at all others. */
class Run {
  readonly #pages = new Map<number, Uint8Array>();
  /** Where a part ended that began with a state. */
  readonly #ends = new Map<number, number>();

  constructor(readonly program: Program, readonly text: string) {}

  /** Where a match ends that begins at `at`, or −1. */
  from(start: number, at: number, keepsEnds: boolean): number {
    const size = this.program.code.length;
    const stack = [at * size + start], path: number[] = [];
    while (stack.length > 0) {
      const state = stack.pop()!;
      if (state < 0) {
        this.#mark(-1 - state, FAILED);
        path.pop();
        continue;
      }
      const known = this.#known(state);
      if (known === FAILED || known === PENDING) continue;
      let end = known === ENDED ? this.#ends.get(state)! : -1;
      if (end < 0) {
        this.#mark(state, PENDING);
        path.push(state);
        stack.push(-1 - state);
        end = this.#step(this.program.code[state % size]!, Math.floor(state / size), stack);
      }
      if (end < 0) continue;
      for (const passed of path) {
        this.#mark(passed, keepsEnds ? ENDED : 0);
        if (keepsEnds) this.#ends.set(passed, end);
      }
      return end;
    }
    return -1;
  }

  /** Adds the states after an instruction, the first one last. @returns a match's end, or −1 */
  #step(one: Instruction, at: number, stack: number[]): number {
    const { text, program: { code: { length: size } } } = this;
    switch (one.op) {
      case "match":
        return at;
      case "character": {
        const isPair = one.isBehind && at > 1 && text.codePointAt(at - 2)! > 0xffff;
        const place = one.isBehind ? at - (isPair ? 2 : 1) : at;
        if (place < 0 || place >= text.length) return -1;
        if (!one.test(text.codePointAt(place)!)) return -1;
        stack.push((one.isBehind ? place : at + width(text, at)) * size + one.next);
        return -1;
      }
      case "edge":
        if (one.test(text, at)) stack.push(at * size + one.next);
        return -1;
      case "split":
        stack.push(at * size + one.second, at * size + one.first);
        return -1;
      case "look":
        if (this.from(one.start, at, true) >= 0 !== one.isNegative) {
          stack.push(at * size + one.next);
        }
        return -1;
      case "atomic": {
        const end = this.from(one.start, at, true);
        if (end >= 0) stack.push(end * size + one.next);
        return -1;
      }
    }
  }

  #known(state: number): number {
    const length = PAGE * this.program.code.length,
      page = this.#pages.get(Math.floor(state / length));
    return page === undefined ? 0 : page[state % length]!;
  }

  #mark(state: number, known: number): void {
    const length = PAGE * this.program.code.length, index = Math.floor(state / length);
    let page = this.#pages.get(index);
    if (page === undefined) this.#pages.set(index, page = new Uint8Array(length));
    page[state % length] = known;
  }
}
