/**
 * Byte-pair merging: of all pairs of neighbours in a word that have a merge, the pair of the
 * lowest rank is merged first, and of equal ranks the leftmost. A heap finds it, so that words of
 * any length take little more than linear time.
 */

export class MergeTable {
  readonly #ranks: PairTable;
  /** By rank: the id that the pair becomes. */
  readonly #results: Int32Array;
  // Working memory for a word, kept from word to word. By place: …
  #symbols = new Int32Array(64);
  /** … the next place, or the end of the word, … */
  #next = new Int32Array(64);
  /** … the place before it, or −1, … */
  #before = new Int32Array(64);
  /** … the rank of the pair that begins here, or −1. */
  #rankAt = new Int32Array(64);
  readonly #heap: number[] = [];

  /** @param merges by rank: left, right and resulting id. Of equal pairs the last one counts. */
  constructor(merges: Int32Array) {
    const count = merges.length / 3;
    this.#ranks = new PairTable(count);
    this.#results = new Int32Array(count);
    for (let rank = 0; rank < count; rank++) {
      this.#ranks.set(merges[3 * rank]!, merges[3 * rank + 1]!, rank);
      this.#results[rank] = merges[3 * rank + 2]!;
    }
  }

  /** Appends to `ids` what is left of the symbols of a word when everything is merged. */
  merge(word: readonly number[], ids: number[]): void {
    const n = word.length;
    if (n === 1) {
      ids.push(word[0]!);
      return;
    }
    this.#reserve(n);
    const symbols = this.#symbols, next = this.#next, before = this.#before;
    const rankAt = this.#rankAt, heap = this.#heap;
    for (let at = 0; at < n; at++) {
      symbols[at] = word[at]!;
      next[at] = at + 1;
      before[at] = at - 1;
    }
    for (let at = 0; at < n; at++) this.#offer(at, n);
    while (heap.length > 0) {
      const first = pop(heap), at = first % n, rank = (first - at) / n;
      // The pair that was offered may have been merged with another neighbour since.
      if (rankAt[at] !== rank) continue;
      const right = next[at]!, after = next[right]!;
      symbols[at] = this.#results[rank]!;
      rankAt[right] = -1;
      next[at] = after;
      if (after < n) before[after] = at;
      this.#offer(at, n);
      if (before[at]! >= 0) this.#offer(before[at]!, n);
    }
    for (let at = 0; at < n; at = next[at]!) ids.push(symbols[at]!);
  }

  /** Puts the pair that begins at a place of a word of `n` places among those to merge. */
  #offer(at: number, n: number): void {
    const right = this.#next[at]!;
    const rank = right < n ? this.#ranks.get(this.#symbols[at]!, this.#symbols[right]!) : -1;
    this.#rankAt[at] = rank;
    if (rank >= 0) push(this.#heap, rank * n + at);
  }

  #reserve(places: number): void {
    if (places <= this.#symbols.length) return;
    const size = 2 * places;
    this.#symbols = new Int32Array(size);
    this.#next = new Int32Array(size);
    this.#before = new Int32Array(size);
    this.#rankAt = new Int32Array(size);
  }
}

/** Ranks by pairs of ids, in a flat array. A Map would need a number on the heap for each pair. */
class PairTable {
  readonly #mask: number;
  /** Left id + 1 (0: free), right id and rank of each entry. */
  readonly #entries: Int32Array;

  constructor(pairs: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * pairs + 2));
    this.#mask = size - 1;
    this.#entries = new Int32Array(3 * size);
  }

  set(left: number, right: number, rank: number): void {
    const at = this.#find(left, right);
    this.#entries[at] = left + 1;
    this.#entries[at + 1] = right;
    this.#entries[at + 2] = rank;
  }

  /** @returns −1 for a pair that is not here */
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
      if (entries[at] === left + 1 && entries[at + 1] === right) return at;
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

function pop(heap: number[]): number {
  const lowest = heap[0]!, value = heap.pop()!, n = heap.length;
  if (n === 0) return lowest;
  let at = 0;
  for (let child = 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
  return lowest;
}
