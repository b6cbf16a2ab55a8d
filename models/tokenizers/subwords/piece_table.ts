/**
 * Ids by pieces of texts, found without making a string of the piece: a hash over its code units, then the units
 * themselves. A Map would need a new string for every question. A full table forgets everything.
 */

/** Pieces that are kept at most; twice as many places, so that searches stay short. */
const MOST = 8192, PLACES = 2 * MOST;

/** The hash of one more unit: begin with 0. */
export const hashed = (hash: number, unit: number) => Math.imul(hash ^ unit, 0x9e3779b1);

export class PieceTable<Value> {
  #entries: ({ hash: number; piece: string; value: Value } | undefined)[] = [];
  #size = MOST;

  /** @returns undefined when it is not here */
  get(text: string, from: number, to: number, hash: number): Value | undefined {
    for (let at = place(hash);; at = (at + 1) % PLACES) {
      const entry = this.#entries[at];
      if (entry === undefined) return undefined;
      if (entry.hash === hash && isAt(entry.piece, text, from, to)) return entry.value;
    }
  }

  /** Of a piece that is not here. */
  set(piece: string, hash: number, value: Value): void {
    if (this.#size === MOST) {
      this.#entries = Array.from({ length: PLACES }, () => undefined);
      this.#size = 0;
    }
    let at = place(hash);
    while (this.#entries[at] !== undefined) at = (at + 1) % PLACES;
    this.#entries[at] = { hash, piece, value };
    this.#size++;
  }
}

/** The upper bits have taken in all units. */
const place = (hash: number) => (hash >>> 16) % PLACES;

function isAt(piece: string, text: string, from: number, to: number): boolean {
  if (piece.length !== to - from) return false;
  for (let i = 0; i < piece.length; i++) {
    if (piece.charCodeAt(i) !== text.charCodeAt(from + i)) return false;
  }
  return true;
}
