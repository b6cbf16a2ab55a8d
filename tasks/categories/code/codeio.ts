/** Find the output or the input of a function. */
import lists from "./snippets/lists_functions.js" with { type: "text" };
import numbers from "./snippets/numbers_functions.js" with { type: "text" };
import simulations from "./snippets/simulations_functions.js" with { type: "text" };
import texts from "./snippets/texts_functions.js" with { type: "text" };
import { defineTask, float, int, nullable } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";
import { reprFloat } from "../../python/repr.ts";
import { codePoints, strip } from "../../python/text.ts";
import { PyFloat } from "../../python/values.ts";
import { LIST_SNIPPETS } from "./snippets/lists.ts";
import { NUMBER_SNIPPETS } from "./snippets/numbers.ts";
import { SIMULATION_SNIPPETS } from "./snippets/simulations.ts";
import type { Snippet } from "./snippets/snippet.ts";
import { TEXT_SNIPPETS } from "./snippets/texts.ts";

export default defineTask({
  description: "Predict the output of a function, or its input.",
  scoring:
    "1 when the answer is exactly the JSON. Else the part from the first { to the last } is " +
    "compared with it as JSON: 1 when equal, less the more their trees differ, at least 0.01; " +
    "text around it lowers the score.",
  params: {
    input_prediction_probability: float(0.5, "how often the output is asked for, not the input", {
      min: 0,
      max: 1,
    }),
    difficulty: nullable(int(1, "take only functions of this difficulty (null for all)", {
      min: 1,
      max: 10,
      levels: [6, 7, 8, 9],
    })),
  },
  generate(random, config) {
    const wanted = config.difficulty;
    const askOutput = random.chance(config.input_prediction_probability);
    const snippet = random.choice(
      SNIPPETS.filter(({ level, reversible }) =>
        (wanted === null || level === wanted) && (askOutput || reversible)
      ),
    );
    const input = snippet.draw(random), output = snippet.run(input as never);
    const given = askOutput ? input : output, asked = askOutput ? output : input;
    return {
      question:
        `Here is a function in JavaScript.\n\n${sourceOf(snippet)}\n\n${snippet.purpose}\n` +
        `Its input is one object with ${snippet.input}. Its output is one object with ` +
        `${snippet.output}.\n` +
        (askOutput
          ? `Which output does it return for this input?\n${pythonJson(given)}\n`
          : `For which input does it return this output?\n${pythonJson(given)}\n`) +
        `Answer with the ${askOutput ? "output" : "input"} as one JSON object, its keys in ` +
        "double quotes, without further text.",
      answer: pythonJson(asked),
      metadata: { input_data: input, output_data: output },
    };
  },
  score(answer, entry) {
    const oracle = strip(entry.answer ?? ""), text = strip(answer);
    if (text === oracle) return 1;
    if (text.length > Math.max(MAX_LENGTH, 20 * oracle.length)) return 0;
    const open = text.indexOf("{"), close = text.lastIndexOf("}");
    if (open < 0 || close < 0) return 0;
    const given = readJson(text.slice(open, close + 1)), right = readJson(oracle);
    const size = codePoints(oracle);
    if (given === undefined || right === undefined) {
      return oracle !== "" && text.includes(oracle) ? size / codePoints(text) : 0;
    }
    const extra = codePoints(text.slice(0, open)) + codePoints(text.slice(close + 1));
    const limit = Math.max(size / (size + 0.5 * extra), MIN_SURPLUS_SCORE);
    if (equal(given, right)) return limit;
    const distance = jsonDistance(given, right);
    const longest = Math.max(pythonJson(given).length, pythonJson(right).length);
    return Math.max(MIN_SCORE, limit * (1 - distance / (0.2 * longest)));
  },
});

const MIN_SCORE = 0.01;
const MIN_SURPLUS_SCORE = 0.2;
/** Longer answers are not read, unless the right answer is as long. In characters. */
const MAX_LENGTH = 100_000;

/**
 * Reads JSON and keeps 3.0 as a float. Python writes it with its decimal, and the length of its
 * text counts.
 */
function readJson(text: string): unknown {
  const value = parseJson(text);
  if (value === undefined || !/[0-9]\.0|[0-9][eE]/.test(text)) return value;
  const whole = (_: string, value: unknown, { source = "" }: { source?: string }) =>
    Number.isInteger(value) && /[.eE]/.test(source) ? new PyFloat(value as number) : value;
  try {
    return JSON.parse(text, whole as (key: string, value: unknown) => unknown);
  } catch {
    return value; // contains NaN
  }
}

/** Equality like in Python: the order of keys does not matter, 3.0 equals 3 and true equals 1. */
function equal(left: unknown, right: unknown): boolean {
  const [a, b] = [left, right].map((value) =>
    value instanceof PyFloat ? value.value : typeof value === "boolean" ? Number(value) : value
  );
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return Array.isArray(a) === Array.isArray(b) && keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key as never], b[key as never]));
}

/**
 * The edit distance of two JSON values as ordered trees (Zhang and Shasha, "Simple fast algorithms
 * for the editing distance between trees and related problems", SIAM J. Comput. 18, 1989). The
 * label of a node is its key, and for a leaf also its value. Inserting and deleting cost the length
 * of the label, renaming the edit distance of the labels. Two values that consist of digits, as
 * numbers or texts, are compared by their relative difference.
 */

interface Node {
  /** The key of an object or list; the key, a colon and the value of a leaf. */
  label: string;
  /** The label up to its first colon, and the rest; null without a colon. */
  parts: readonly [key: string, value: string] | null;
}

interface Tree {
  /** The nodes in postorder. */
  nodes: Node[];
  /** For each node, the first leaf below it. */
  first: number[];
}

/** Limits of the product of the numbers of nodes, and of the number of compared characters. */
const MAX_PAIRS = 250_000;
const MAX_WORK = 6_000_000;
const SMALLEST_DIVISOR = 1e-4;

/**
 * Computes the distance. A `PyFloat` is a float without fraction. Returns Infinity when it would
 * take too long, in which case both values are large.
 */
export function jsonDistance(a: unknown, b: unknown): number {
  const left = treeOf(a), right = treeOf(b);
  if (left.nodes.length * right.nodes.length > MAX_PAIRS) return Infinity;
  const labels = new LabelDistance();
  const change = left.nodes.map((x) => right.nodes.map((y) => labels.between(x, y)));
  return labels.exceeded ? Infinity : treeDistance(left, right, change);
}

function treeOf(value: unknown): Tree {
  const tree: Tree = { nodes: [], first: [] };
  append(tree, value, "root");
  return tree;
}

function append({ nodes, first }: Tree, value: unknown, key: string): void {
  const begin = nodes.length;
  if (typeof value === "object" && value !== null && !(value instanceof PyFloat)) {
    const list = Array.isArray(value);
    // Keys are sorted, because they are unordered; lists keep their order.
    const names = list ? Object.keys(value) : Object.keys(value).sort();
    for (const name of names) {
      append({ nodes, first }, value[name as never], list ? `item_${name}` : name);
    }
    nodes.push(nodeOf(key));
    first.push(first[begin] ?? begin);
  } else {
    nodes.push(nodeOf(`${key}:${pythonText(value)}`));
    first.push(begin);
  }
}

function nodeOf(label: string): Node {
  const colon = label.indexOf(":");
  return { label, parts: colon < 0 ? null : [label.slice(0, colon), label.slice(colon + 1)] };
}

/** `str(value)`. */
function pythonText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof PyFloat) return reprFloat(value.value);
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? String(value) : reprFloat(value);
  }
  return value === null ? "None" : value ? "True" : "False";
}

const DIGITS = /^[0-9]+$/;
const UNSIGNED = /^(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/;

class LabelDistance {
  #work = 0;

  get exceeded(): boolean {
    return this.#work > MAX_WORK;
  }

  between(a: Node, b: Node): number {
    if (a.label === b.label) return 0;
    if (a.parts === null || b.parts === null) return this.#texts(a.label, b.label);
    const [keyA, valueA] = a.parts, [keyB, valueB] = b.parts, keys = this.#texts(keyA, keyB);
    if (valueA === valueB) return keys;
    if (UNSIGNED.test(valueA) && UNSIGNED.test(valueB)) {
      const x = Number(valueA), y = Number(valueB);
      const divisor = Math.max(Math.min(x, y), SMALLEST_DIVISOR);
      return keys + Math.max(valueA.length, valueB.length) * Math.abs(x - y) / divisor;
    }
    // An integer in place of something else costs more than any other change.
    const surplus = (DIGITS.test(valueA) || DIGITS.test(valueB)) && !bothNumeric(valueA, valueB)
      ? Math.max(a.label.length, b.label.length)
      : 0;
    return keys + this.#texts(valueA, valueB) + surplus;
  }

  /** Levenshtein distance. Common prefixes and suffixes are skipped. */
  #texts(a: string, b: string): number {
    if (a === b) return 0;
    let start = 0, endA = a.length, endB = b.length;
    while (start < endA && start < endB && a[start] === b[start]) start++;
    while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
      endA--;
      endB--;
    }
    this.#work += (endA - start) * (endB - start);
    if (this.exceeded) return 0;
    let row = Array.from({ length: endB - start + 1 }, (_, j) => j);
    for (let i = start; i < endA; i++) {
      const next = [i - start + 1];
      for (let j = start; j < endB; j++) {
        const column = j - start;
        next.push(
          Math.min(row[column]! + (a[i] === b[j] ? 0 : 1), row[column + 1]! + 1, next[column]! + 1),
        );
      }
      row = next;
    }
    return row[endB - start]!;
  }
}

/** Whether both consist of digits and points only, even if they are no numbers. */
function bothNumeric(a: string, b: string): boolean {
  return DIGITS.test(a.replaceAll(".", "")) && DIGITS.test(b.replaceAll(".", ""));
}

/** Roots of the subtrees whose distances must be computed separately. */
function keyRoots({ first }: Tree): number[] {
  const last = new Map<number, number>();
  first.forEach((leaf, i) => last.set(leaf, i));
  return [...last.values()].sort((a, b) => a - b);
}

function treeDistance(a: Tree, b: Tree, change: readonly (readonly number[])[]): number {
  const distance = a.nodes.map(() => new Float64Array(b.nodes.length));
  const forest = Array.from(
    { length: a.nodes.length + 1 },
    () => new Float64Array(b.nodes.length + 1),
  );
  for (const i of keyRoots(a)) {
    for (const j of keyRoots(b)) {
      const fromA = a.first[i]!, fromB = b.first[j]!;
      forest[0]![0] = 0;
      for (let x = fromA; x <= i; x++) {
        forest[x - fromA + 1]![0] = forest[x - fromA]![0]! + a.nodes[x]!.label.length;
      }
      for (let y = fromB; y <= j; y++) {
        forest[0]![y - fromB + 1] = forest[0]![y - fromB]! + b.nodes[y]!.label.length;
      }
      for (let x = fromA; x <= i; x++) {
        const above = forest[x - fromA]!, row = forest[x - fromA + 1]!;
        for (let y = fromB; y <= j; y++) {
          const column = y - fromB;
          const without = Math.min(
            above[column + 1]! + a.nodes[x]!.label.length,
            row[column]! + b.nodes[y]!.label.length,
          );
          if (a.first[x] === fromA && b.first[y] === fromB) {
            row[column + 1] = Math.min(without, above[column]! + change[x]![y]!);
            distance[x]![y] = row[column + 1]!;
          } else {
            const before = forest[a.first[x]! - fromA]![b.first[y]! - fromB]!;
            row[column + 1] = Math.min(without, before + distance[x]![y]!);
          }
        }
      }
    }
  }
  return distance[a.nodes.length - 1]![b.nodes.length - 1]!;
}

/** Formats JSON like Python: a space after commas and colons, and only ASCII. */
export function pythonJson(value: unknown): string {
  if (value instanceof PyFloat) return reprFloat(value.value);
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).map(([key, item]) =>
      `${pythonJson(key)}: ${pythonJson(item)}`
    );
    return `{${fields.join(", ")}}`;
  }
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : reprFloat(value);
  return JSON.stringify(value).replace(
    /[^\0-\x7f]/g,
    (character) => "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

/**
 * All reference functions of codeio with their sources. Questions show exactly the lines that run.
 */

export const SNIPPETS: readonly Snippet[] = [
  ...NUMBER_SNIPPETS,
  ...TEXT_SNIPPETS,
  ...LIST_SNIPPETS,
  ...SIMULATION_SNIPPETS,
];

let sources: Map<string, string> | undefined;

/** The source of a snippet's function. */
export function sourceOf(snippet: Snippet): string {
  sources ??= readSources([numbers, texts, lists, simulations].join("\n"));
  return sources.get(snippet.run.name)!;
}

/** The functions by name. Each begins at a line start and ends with a bracket at a line start. */
function readSources(text: string): Map<string, string> {
  const functions = text.matchAll(/^export (function (\w+)\([^]*?^\})$/gm);
  return new Map([...functions].map(([, source, name]) => [name!, source!]));
}
