/**
 * Go from one word to another by changing one letter at a time. reasoning-gym makes all entries in
 * advance and refuses more than 20 000; here each entry is made alone, so there is no limit.
 */
import { RgxError } from "../../../../core/errors.ts";
import { readAsset } from "../../../asset.ts";
import { type ConfigOf, counts, defineTask, int, type RandomStream } from "../../../define.ts";
import { strip } from "../../../python/text.ts";
import { decodeWords } from "../../../text/words.ts";
import { once } from "../../../once.ts";

/** Maximum number of word pairs to draw. One pair in two or three is connected by a ladder. */
const MAX_DRAWS = 1000;

/** Special values of the previous word: of the first word, and of words that were not reached. */
const NONE = -1, NOT_REACHED = -2;

const params = {
  word_length: counts([4, 4], "letters of a word", { min: 3, max: 5, spans: [3, 4, 5] }),
  min_chain_length: int(-1, "fewest words of the shortest ladder; -1: 3"),
  max_chain_length: int(-1, "most words of the shortest ladder; -1: any number"),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Change one word into another, one letter at a time.",
  scoring:
    "0 unless the words, separated by commas, lead from the first word to the last with one " +
    "letter changed in every step; then 1, halved for every word that is not in the word list.",
  params,
  rules: {
    "min_chain_length: must be -1 or at least 3": (c) =>
      c.min_chain_length === -1 || c.min_chain_length >= 3,
    "max_chain_length: must be at least 3, or -1 together with min_chain_length": (c) =>
      c.max_chain_length >= 3 || (c.min_chain_length === -1 && c.max_chain_length === -1),
  },
  generate(random, config) {
    const chain = drawChain(random, config);
    const start = chain[0]!, end = chain.at(-1)!;
    return {
      question:
        `Make a word ladder from ${start} to ${end}: each word differs from the one before in ` +
        "exactly one letter, at the same place, and every word is an English word. Answer with " +
        "all words of the ladder in order, the first and the last included, in capital letters " +
        "and separated by commas without spaces (such as: CAT,COT,DOT,DOG).",
      answer: chain.join(","),
      metadata: {
        start_word: start,
        end_word: end,
        word_length: start.length,
        chain_length: chain.length,
      },
    };
  },
  score(answer, entry) {
    const { start_word: start, end_word: end } = entry.metadata ?? {};
    const parts = answer.toUpperCase().split(",");
    if (strip(parts[0]!) !== start || strip(parts.at(-1)!) !== end) return 0;
    const words = parts.map(strip);
    let unknown = 0;
    for (let i = 0; i < words.length; i++) {
      if (i > 0 && !differInOneLetter(words[i - 1]!, words[i]!)) return 0;
      if (!isLadderWord(words[i]!)) unknown++;
    }
    return 0.5 ** unknown;
  },
});

/** Tries the word lengths in turn, from a random one, until one has a ladder within the limits. */
function drawChain(random: RandomStream, config: Config): string[] {
  const { min_word_length: shortest, max_word_length: longest } = config;
  const { min_chain_length: min, max_chain_length: max } = config;
  const lengths = longest - shortest + 1, offset = random.below(lengths);
  for (let i = 0; i < lengths; i++) {
    const graph = ladderGraph(shortest + (offset + i) % lengths);
    const path = max === -1
      ? drawPath(random, graph)
      : findPath(random, graph, Math.max(min, 3), max);
    if (path !== null) return path.map((word) => graph.words[word]!);
  }
  throw new RgxError(
    `word_ladder: no two words are joined by a shortest ladder of ${min} to ${max} words`,
    { advice: "lower min_chain_length" },
  );
}

/**
 * A shortest path of at least three words between random words; null after too many failed draws.
 */
function drawPath(random: RandomStream, graph: LadderGraph): number[] | null {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const start = random.below(graph.words.length), end = random.below(graph.words.length);
    if (graph.component[start] !== graph.component[end]) continue;
    const path = pathTo(end, search(graph, start, end).from);
    if (path.length >= 3) return path;
  }
  return null;
}

/**
 * A shortest path of `min` to `max` words. It tries all first words in order, from a random one.
 */
function findPath(
  random: RandomStream,
  graph: LadderGraph,
  min: number,
  max: number,
): number[] | null {
  const count = graph.words.length, offset = random.below(count);
  for (let i = 0; i < count; i++) {
    const start = (offset + i) % count;
    const { order, from } = search(graph, start);
    const ends: number[] = [], words = new Int16Array(count);
    for (const word of order) {
      const before = from[word]!;
      words[word] = before === NONE ? 1 : words[before]! + 1;
      if (words[word]! > max) break;
      if (words[word]! >= min) ends.push(word);
    }
    if (ends.length > 0) return pathTo(random.choice(ends), from);
  }
  return null;
}

/**
 * Breadth-first search from `start` up to `end`: the words in order of distance, and the previous
 * word of each.
 */
function search({ words, first, neighbours }: LadderGraph, start: number, end = -1) {
  const from = new Int16Array(words.length).fill(NOT_REACHED), order = new Int16Array(words.length);
  from[start] = NONE;
  order[0] = start;
  let length = 1;
  for (let head = 0; head < length; head++) {
    const word = order[head]!;
    for (let i = first[word]!; i < first[word + 1]!; i++) {
      const next = neighbours[i]!;
      if (from[next] !== NOT_REACHED) continue;
      from[next] = word;
      order[length++] = next;
      if (next === end) return { order: order.subarray(0, length), from };
    }
  }
  return { order: order.subarray(0, length), from };
}

function pathTo(end: number, from: Int16Array): number[] {
  const path: number[] = [];
  for (let word = end; word !== NONE; word = from[word]!) path.push(word);
  return path.reverse();
}

export function differInOneLetter(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let different = 0;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) different++;
  return different === 1;
}

/**
 * The words of word ladders, with 3, 4 and 5 letters, and which of them differ in one letter. The
 * list is reasoning-gym's (`assets/LICENCE.md`), because scores depend on it. Each length is read
 * and linked when it is first needed.
 */

const MIN_LENGTH = 3, MAX_LENGTH = 5;

/** A graph with words as nodes and an edge where exactly one letter differs. */
interface LadderGraph {
  /** In upper case and alphabetical order. */
  readonly words: readonly string[];
  /** The neighbours of word i are `neighbours[first[i]]` to `neighbours[first[i + 1] - 1]`. */
  readonly first: Int32Array;
  readonly neighbours: Int16Array;
  /** Words with the same number can be reached from each other. */
  readonly component: Int16Array;
}

/** Whether an upper-case word is in the list. */
export function isLadderWord(word: string): boolean {
  if (word.length < MIN_LENGTH || word.length > MAX_LENGTH) return false;
  return ladderSet(word.length).has(word);
}

/** The words of one length, in upper case. */
const ladderWords = once((length: number) => {
  const line = readAsset("ladder.txt").split("\n")[length - MIN_LENGTH]!;
  return decodeWords(line, length).map((word) => word.toUpperCase());
});
const ladderSet = once((length: number) => new Set(ladderWords(length)));

export const ladderGraph = once((length: number) => link(ladderWords(length)));

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
  const component = new Int16Array(words.length).fill(-1);
  const graph = { words, first, neighbours: Int16Array.from(neighbours), component };
  for (const start of words.keys()) {
    if (component[start] !== -1) continue;
    for (const word of search(graph, start).order) component[word] = start;
  }
  return graph;
}
