/**
 * Byte-pair merging for the tokenizer library, whose own looks every pair up by a text made for it: on prompts that
 * are one long word (SentencePiece vocabularies have no pre-tokenizer) that takes most of the time. Same result:
 * the merge of lowest rank first, of equal ranks the leftmost. Left out: suffixes of words, where the library's own
 * stays.
 */

/**
 * Where a pre-tokenizer cuts texts, shorter words are remembered by the library; most such vocabularies never see a
 * longer one, and need no tables.
 */
const LONG_WORD = 64;

/** What this file knows of the library's model. */
interface BpeModel {
  merges: readonly (readonly [left: string, right: string])[];
  end_of_word_suffix?: string | null;
  continuing_subword_suffix?: string | null;
  bpe(word: string): string[];
}

/**
 * Puts the faster merging into a model of the library, in place; other kinds of models stay as they are.
 * @param hasWords a pre-tokenizer cuts texts into words
 */
export function useFasterMerges(model: unknown, hasWords: boolean): void {
  if (!isBpe(model) || model.end_of_word_suffix || model.continuing_subword_suffix) return;
  const own = model.bpe.bind(model);
  const long = hasWords ? LONG_WORD : 2;
  let merge: ((word: string) => string[]) | null = null;
  model.bpe = (word) => word.length < long ? own(word) : (merge ??= merger(model.merges))(word);
}

function isBpe(model: unknown): model is BpeModel {
  const { merges, bpe } = model as Partial<BpeModel>;
  return Array.isArray(merges) && typeof bpe === "function";
}

/** @param merges best first; of a pair that stands there twice the last one counts */
export function merger(merges: BpeModel["merges"]): (word: string) => string[] {
  const ids = new Map<string, number>(), names: string[] = [];
  const idOf = (name: string) => {
    let id = ids.get(name);
    if (id === undefined) {
      ids.set(name, id = names.length);
      names.push(name);
    }
    return id;
  };
  const parts = merges.map(([left, right]) => [idOf(left), idOf(right), idOf(left + right)]);
  const table = new PairTable(merges.length);
  parts.forEach(([left, right], rank) => table.set(left!, right!, rank));
  return (word) => {
    const chars = Array.from(word), n = chars.length;
    // Places of the word: what stands there (−1: nothing that merges), and the next place (n: the end).
    const symbols = new Int32Array(n), next = new Int32Array(n), before = new Int32Array(n);
    for (let at = 0; at < n; at++) {
      symbols[at] = ids.get(chars[at]!) ?? -1;
      next[at] = at + 1;
      before[at] = at - 1;
    }
    /** Rank of the pair that begins at each place; −1: no such pair. */
    const ranks = new Int32Array(n);
    const heap: number[] = [];
    const offer = (at: number) => {
      const right = next[at]!;
      const rank = right < n ? table.get(symbols[at]!, symbols[right]!) : -1;
      ranks[at] = rank;
      if (rank >= 0) push(heap, rank * n + at);
    };
    for (let at = 0; at < n; at++) offer(at);
    while (heap.length > 0) {
      const least = pop(heap), at = least % n, rank = (least - at) / n;
      // What stood here when it was offered may have been merged since.
      if (ranks[at] !== rank) continue;
      const right = next[at]!, after = next[right]!;
      symbols[at] = parts[rank]![2]!;
      ranks[right] = -1;
      next[at] = after;
      if (after < n) before[after] = at;
      offer(at);
      if (before[at]! >= 0) offer(before[at]!);
    }
    const tokens: string[] = [];
    for (let at = 0; at < n; at = next[at]!) {
      tokens.push(symbols[at]! < 0 ? chars[at]! : names[symbols[at]!]!);
    }
    return tokens;
  };
}

/** Ranks by pairs of ids, in flat arrays: a Map of pairs would make a number on the heap for each question. */
class PairTable {
  readonly #mask: number;
  /** Left and right id (+ 1; 0 = free) and rank of each entry. */
  readonly #entries: Int32Array;

  constructor(pairs: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * pairs + 2));
    this.#mask = size - 1;
    this.#entries = new Int32Array(3 * size);
  }

  set(left: number, right: number, rank: number): void {
    const at = this.#find(left, right);
    this.#entries[at] = left + 1;
    this.#entries[at + 1] = right + 1;
    this.#entries[at + 2] = rank;
  }

  /** −1: not there. */
  get(left: number, right: number): number {
    const at = this.#find(left, right);
    return this.#entries[at] === 0 ? -1 : this.#entries[at + 2]!;
  }

  /** Where the pair is, or where there is room for it. */
  #find(left: number, right: number): number {
    const entries = this.#entries;
    let place = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b) >>> 7;
    for (;; place++) {
      const at = 3 * (place & this.#mask);
      if (entries[at] === 0) return at;
      if (entries[at] === left + 1 && entries[at + 1] === right + 1) return at;
    }
  }
}

function push(heap: number[], value: number): void {
  let at = heap.push(value) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]! <= value) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = value;
}

/** The least value of a heap that holds one. */
function pop(heap: number[]): number {
  const least = heap[0]!, value = heap.pop()!, n = heap.length;
  if (n === 0) return least;
  let at = 0;
  for (let child = 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
  return least;
}
