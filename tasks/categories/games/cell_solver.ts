/**
 * Solves grids in which every unit (row, column, box) contains each digit 1–n once, optionally with
 * inequalities between cells: sudoku and futoshiki. Each cell has a set of candidates, one bit for
 * each digit. Constraint propagation comes first: single candidates, digits with a single place in
 * a unit, and bounds from inequalities. Then the solver guesses in the cell with the fewest
 * candidates.
 */
import type { RandomStream } from "../../../core/philox.ts";
import { gridText, rowsOf } from "../../grids.ts";

/** The structure of a puzzle, shared by all its grids. */
export interface Shape {
  /** The number of digits. */
  n: number;
  cells: number;
  /** The cells of each unit. */
  units: readonly Uint8Array[];
  /** For each cell, the other cells that share a unit with it. */
  peers: readonly Uint8Array[];
  /** For each cell, its units. */
  unitsOf: readonly Uint8Array[];
}

/** The digit of cell `less` is smaller than that of cell `more`. */
export interface Inequality {
  less: number;
  more: number;
}

export function makeShape(n: number, units: readonly (readonly number[])[]): Shape {
  const cells = n * n;
  const unitsOf = Array.from(
    { length: cells },
    (_, cell) => units.flatMap((unit, u) => unit.includes(cell) ? [u] : []),
  );
  return {
    n,
    cells,
    units: units.map((unit) => Uint8Array.from(unit)),
    unitsOf: unitsOf.map((list) => Uint8Array.from(list)),
    peers: unitsOf.map((list, cell) =>
      Uint8Array.from(new Set(list.flatMap((u) => units[u]!).filter((other) => other !== cell)))
    ),
  };
}

/** The rows and columns of an n × n grid as units. Cells are numbered row by row. */
export function latinUnits(n: number): number[][] {
  const line = Array.from({ length: n }, (_, i) => i);
  return [
    ...line.map((r) => line.map((c) => r * n + c)),
    ...line.map((c) => line.map((r) => r * n + c)),
  ];
}

/** The blocks of side × side cells of a grid with as many blocks in a row as a block has cells. */
export function blockUnits(side: number): number[][] {
  const n = side * side;
  return Array.from({ length: n }, (_, b) => {
    const corner = Math.floor(b / side) * side * n + (b % side) * side;
    return Array.from({ length: n }, (_, i) => corner + Math.floor(i / side) * n + i % side);
  });
}

/** Sorts candidates by the order in which they are tried. Default: the lowest digit first. */
export type Choose = (candidates: number[]) => number[];

export class CellSolver {
  /** All digits of a cell. */
  readonly full: number;
  /** The number of failed guesses of the last search. */
  #failures = 0;
  #maxFailures = 0;
  readonly #queue: Int32Array;

  constructor(readonly shape: Shape, private readonly inequalities: readonly Inequality[] = []) {
    this.full = (1 << shape.n) - 1;
    this.#queue = new Int32Array(shape.cells);
  }

  /**
   * Completes a grid of candidates (one bit for each digit that a cell may hold). Returns the
   * completed cells as single bits, null when there is no completion, and undefined after
   * `maxFailures` failed guesses.
   */
  solve(
    candidates: Uint16Array,
    maxFailures: number,
    choose?: Choose,
  ): Uint16Array | null | undefined {
    this.#failures = 0;
    this.#maxFailures = maxFailures;
    const cells = candidates.slice();
    const result = this.#start(cells) ? this.#search(cells, choose) : null;
    return result ?? (this.#failures >= this.#maxFailures ? undefined : null);
  }

  #start(cells: Uint16Array): boolean {
    for (let cell = 0; cell < cells.length; cell++) {
      const bits = cells[cell]!;
      if (bits === 0 || ((bits & (bits - 1)) === 0 && !this.#exclude(cells, cell))) return false;
    }
    return this.#settle(cells);
  }

  #search(cells: Uint16Array, choose?: Choose): Uint16Array | null {
    const cell = fewestCandidates(cells);
    if (cell < 0) return cells;
    const bits: number[] = [];
    for (let rest = cells[cell]!; rest !== 0; rest &= rest - 1) bits.push(rest & -rest);
    for (const bit of choose === undefined ? bits : choose(bits)) {
      const next = cells.slice();
      next[cell] = bit;
      if (this.#exclude(next, cell) && this.#settle(next)) {
        const found = this.#search(next, choose);
        if (found !== null) return found;
      }
      if (++this.#failures >= this.#maxFailures) return null;
    }
    return null;
  }

  /**
   * Removes the digit of a filled cell from its peers, and does the same for cells that become
   * filled.
   */
  #exclude(cells: Uint16Array, filled: number): boolean {
    const queue = this.#queue;
    let length = 1;
    queue[0] = filled;
    while (length > 0) {
      const cell = queue[--length]!, bit = cells[cell]!;
      for (const peer of this.shape.peers[cell]!) {
        const before = cells[peer]!;
        if ((before & bit) === 0) continue;
        const after = before & ~bit;
        if (after === 0) return false;
        cells[peer] = after;
        if ((after & (after - 1)) === 0) queue[length++] = peer;
      }
    }
    return true;
  }

  /** Applies digits with a single place in a unit, and inequalities, until nothing changes. */
  #settle(cells: Uint16Array): boolean {
    const { full } = this;
    for (let isChanged = true; isChanged;) {
      isChanged = false;
      for (const { less, more } of this.inequalities) {
        const a = cells[less]!, b = cells[more]!;
        // a must be below the highest candidate of b, and b above the lowest candidate of a.
        const newA = a & ((1 << (31 - Math.clz32(b))) - 1), newB = b & ~((a & -a) * 2 - 1);
        if (newA === 0 || newB === 0) return false;
        if (newA !== a && !this.#narrow(cells, less, newA)) return false;
        if (newB !== b && !this.#narrow(cells, more, newB)) return false;
        if (newA !== a || newB !== b) isChanged = true;
      }
      for (const unit of this.shape.units) {
        let once = 0, twice = 0;
        for (const cell of unit) {
          const bits = cells[cell]!;
          twice |= once & bits;
          once |= bits;
        }
        if (once !== full) return false;
        const hidden = once & ~twice;
        for (const cell of unit) {
          const bits = cells[cell]!, only = bits & hidden;
          if (only === 0 || only === bits) continue;
          if ((only & (only - 1)) !== 0 || !this.#narrow(cells, cell, only)) return false;
          isChanged = true;
        }
      }
    }
    return true;
  }

  #narrow(cells: Uint16Array, cell: number, bits: number): boolean {
    // Another exclusion may have removed more candidates meanwhile.
    const left = cells[cell]! & bits;
    if (left === 0) return false;
    if (left === cells[cell]) return true;
    cells[cell] = left;
    return (left & (left - 1)) !== 0 || this.#exclude(cells, cell);
  }
}

function fewestCandidates(cells: Uint16Array): number {
  let best = -1, fewest = 32;
  for (let cell = 0; cell < cells.length; cell++) {
    const bits = cells[cell]!;
    if ((bits & (bits - 1)) === 0) continue;
    const count = bitCount(bits);
    if (count === 2) return cell;
    if (count < fewest) {
      fewest = count;
      best = cell;
    }
  }
  return best;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/**
 * Whether a cell of a puzzle with a unique solution may be emptied, i.e. whether there is no
 * solution with another digit there. Counts as no when the search needs more than `maxFailures`
 * guesses.
 */
function canBeEmptied(
  solver: CellSolver,
  clues: Uint16Array,
  cell: number,
  full: number,
  maxFailures: number,
): boolean {
  const digit = clues[cell]!;
  clues[cell] = full & ~digit;
  const other = solver.solve(clues, maxFailures);
  clues[cell] = digit;
  return other === null;
}

/**
 * Empties up to `count` cells of a complete grid in random order, as long as the solution stays
 * unique. Returns how many.
 */
export function emptyCells(
  random: RandomStream,
  solver: CellSolver,
  clues: Uint16Array,
  count: number,
  maxFailures: number,
): number {
  const full = solver.full;
  let empty = 0;
  for (const cell of random.shuffle(Array.from(clues, (_, cell) => cell))) {
    if (empty === count) break;
    if (!canBeEmptied(solver, clues, cell, full, maxFailures)) continue;
    clues[cell] = full;
    empty++;
  }
  return empty;
}

/** The digit of a bit: 1 for the lowest bit, 2 for the next, … */
function digitOf(bit: number): number {
  return 32 - Math.clz32(bit);
}

export function digitsText(grid: readonly number[][]): string {
  return gridText(grid.map((row) => row.map((digit) => digit || "_")));
}

/** The digits of a grid with n columns, row by row; 0 for a cell with several candidates. */
export function digitRows(cells: Uint16Array, n: number): number[][] {
  return rowsOf(Array.from(cells, (bits) => (bits & (bits - 1)) === 0 ? digitOf(bits) : 0), n);
}
