/**
 * The edit distance of two JSON values as ordered trees (Zhang and Shasha, "Simple fast algorithms
 * for the editing distance between trees and related problems", SIAM J. Comput. 18, 1989). The
 * label of a node is its key, and for a leaf also its value. Inserting and deleting cost the length
 * of the label, renaming the edit distance of the labels. Two values that consist of digits, as
 * numbers or texts, are compared by their relative difference.
 */
import { reprFloat } from "../../python/repr.ts";
import { PyFloat } from "../../python/values.ts";

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
