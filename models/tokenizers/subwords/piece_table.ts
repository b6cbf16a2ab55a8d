/**
 * A hash table whose keys are pieces of texts. A piece is looked up by a hash of its code units,
 * and then by the units themselves, where a Map would need a new string for every lookup. A full
 * table forgets everything.
 */

/** Maximum number of pieces. There are twice as many places, so that searches stay short. */
const MAX_PIECES = 8192, PLACES = 2 * MAX_PIECES;

/** The hash of a piece with one more code unit. The hash of no units is 0. */
export const hashed = (hash: number, unit: number) => Math.imul(hash ^ unit, 0x9e3779b1);

export class PieceTable<Value> {
  #entries: ({ hash: number; piece: string; value: Value } | undefined)[] = [];
  #size = MAX_PIECES;

  /** @returns undefined for a piece that the table does not hold */
  get(text: string, from: number, to: number, hash: number): Value | undefined {
    for (let at = place(hash);; at = (at + 1) % PLACES) {
      const entry = this.#entries[at];
      if (entry === undefined) return undefined;
      if (entry.hash === hash && isAt(entry.piece, text, from, to)) return entry.value;
    }
  }

  /** Adds a piece that the table does not hold. */
  set(piece: string, hash: number, value: Value): void {
    if (this.#size === MAX_PIECES) {
      this.#entries = Array.from({ length: PLACES }, () => undefined);
      this.#size = 0;
    }
    let at = place(hash);
    while (this.#entries[at] !== undefined) at = (at + 1) % PLACES;
    this.#entries[at] = { hash, piece, value };
    this.#size++;
  }
}

/** The upper bits of a hash depend on all units, the lower ones do not. */
const place = (hash: number) => (hash >>> 16) % PLACES;

function isAt(piece: string, text: string, from: number, to: number): boolean {
  if (piece.length !== to - from) return false;
  for (let i = 0; i < piece.length; i++) {
    if (piece.charCodeAt(i) !== text.charCodeAt(from + i)) return false;
  }
  return true;
}
