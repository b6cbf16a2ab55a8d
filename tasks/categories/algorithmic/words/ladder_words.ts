/**
 * The words of word ladders, with 3, 4 and 5 letters, and which of them differ in one letter. The
 * list is reasoning-gym's (`assets/LICENCE.md`), because scores depend on it. Each length is read
 * and linked when it is first needed.
 */
import { readAsset } from "../../../asset.ts";
import { decodeWords } from "../../../text/words.ts";

const MIN_LENGTH = 3, MAX_LENGTH = 5;

/** A graph with words as nodes and an edge where exactly one letter differs. */
export interface LadderGraph {
  /** In upper case and alphabetical order. */
  readonly words: readonly string[];
  /** The neighbours of word i are `neighbours[first[i]]` to `neighbours[first[i + 1] - 1]`. */
  readonly first: Int32Array;
  readonly neighbours: Int16Array;
  /** Words with the same number can be reached from each other. */
  readonly component: Int16Array;
}

let lines: string[] | undefined;
const sets = new Map<number, ReadonlySet<string>>();
const graphs = new Map<number, LadderGraph>();

/** Whether an upper-case word is in the list. */
export function isLadderWord(word: string): boolean {
  if (word.length < MIN_LENGTH || word.length > MAX_LENGTH) return false;
  let set = sets.get(word.length);
  if (set === undefined) {
    set = new Set(ladderWords(word.length));
    sets.set(word.length, set);
  }
  return set.has(word);
}

export function ladderGraph(length: number): LadderGraph {
  let graph = graphs.get(length);
  if (graph === undefined) {
    graph = link(ladderWords(length));
    graphs.set(length, graph);
  }
  return graph;
}

/** The words of one length, in upper case. */
function ladderWords(length: number): string[] {
  lines ??= readAsset("ladder.txt").split("\n");
  return decodeWords(lines[length - MIN_LENGTH]!, length).map((word) => word.toUpperCase());
}

function link(words: readonly string[]): LadderGraph {
  /** Words that are equal except for one position, by the pattern with a gap there. */
  const wordsByPattern = new Map<string, number[]>();
  const patternsOf = (word: string) =>
    Array.from(word, (_, i) => `${word.slice(0, i)}_${word.slice(i + 1)}`);
  words.forEach((word, i) => {
    for (const pattern of patternsOf(word)) {
      const list = wordsByPattern.get(pattern);
      if (list === undefined) wordsByPattern.set(pattern, [i]);
      else list.push(i);
    }
  });
  const first = new Int32Array(words.length + 1), neighbours: number[] = [];
  words.forEach((word, i) => {
    for (const pattern of patternsOf(word)) {
      for (const other of wordsByPattern.get(pattern)!) if (other !== i) neighbours.push(other);
    }
    first[i + 1] = neighbours.length;
  });
  const graph = { words, first, neighbours: Int16Array.from(neighbours) };
  return { ...graph, component: components(graph) };
}

function components({ words, first, neighbours }: Omit<LadderGraph, "component">): Int16Array {
  const component = new Int16Array(words.length).fill(-1);
  words.forEach((_, start) => {
    if (component[start] !== -1) return;
    component[start] = start;
    const open = [start];
    for (let word = open.pop(); word !== undefined; word = open.pop()) {
      for (const next of neighbours.subarray(first[word], first[word + 1])) {
        if (component[next] === -1) {
          component[next] = start;
          open.push(next);
        }
      }
    }
  });
  return component;
}
