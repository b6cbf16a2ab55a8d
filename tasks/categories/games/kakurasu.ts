/**
 * Kakurasu: find a grid of zeros and ones from its weighted row and column sums. Grids are drawn
 * until one is determined by its sums. This is tested like a nonogram: the fillings of a line are
 * the sets of positions with the right sum, cells on which they agree are certain, and when no cell
 * is certain the solver guesses.
 */
import { RgxError } from "../../../core/errors.ts";
import { counts, defineTask, float, int, type RandomStream } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { gridText, transpose } from "../../grids.ts";
import { once } from "../../once.ts";

const MAX_ANSWER_LENGTH = 100_000;
/** Maximum number of guesses. A grid that needs more counts as not unique. */
const MAX_GUESSES = 400;

export default defineTask({
  description: "Find a grid of zeros and ones from its weighted sums.",
  scoring:
    "The digits 0 and 1 of every line are read, lines without them skipped: 1 when the shape is " +
    "right and all sums are met, else 0.",
  params: {
    rows: counts([4, 5], "rows", { min: 3, max: 9, levels: [4, 6, 7, 9] }),
    cols: counts([4, 5], "columns", { min: 3, max: 9, levels: [4, 6, 7, 9] }),
    p_ones: float(0.3, "probability of a 1 in a cell", {
      min: 0,
      max: 1,
      levels: [0.5, 0.4, 0.3, 0.2],
    }),
    max_retries: int(1000, "grids drawn before giving up", { min: 1 }),
  },
  generate(random, config, index) {
    const rows = random.int(config.min_rows, config.max_rows);
    const columns = random.int(config.min_cols, config.max_cols);
    const solution = drawGrid(random, rows, columns, config);
    const rowSums = solution.map(weightedSum);
    const columnSums = transpose(solution).map(weightedSum);
    const puzzle = solution.map((row) => row.map(() => 0));
    return {
      question: `Fill a grid of ${rows} rows and ${columns} columns with zeros and ones. A 1 in ` +
        "the first column adds 1 to the sum of its row, a 1 in the second column adds 2, and so " +
        "on. A 1 in the first row adds 1 to the sum of its column, a 1 in the second row adds 2, " +
        `and so on.\nSums of the rows, from the top: ${rowSums.join(", ")}\n` +
        `Sums of the columns, from the left: ${columnSums.join(", ")}\n` +
        `The empty grid:\n${gridText(puzzle)}\nAnswer with the filled grid: ${rows} lines of ` +
        `${columns} digits separated by spaces.`,
      answer: gridText(solution),
      metadata: {
        source_idx: index,
        n_rows: rows,
        n_cols: columns,
        p_ones: config.p_ones,
        puzzle,
        row_sums: rowSums,
        col_sums: columnSums,
        solution,
      },
    };
  },
  score(answer, entry) {
    const { row_sums: rowSums, col_sums: columnSums } = entry.metadata ?? {};
    if (!Array.isArray(rowSums) || !Array.isArray(columnSums)) return 0;
    if (answer.length > MAX_ANSWER_LENGTH) return 0;
    const grid: number[][] = [];
    for (const line of strip(answer).split("\n")) {
      const row: number[] = [];
      for (const character of line) {
        if (character === "0" || character === "1") row.push(Number(character));
        if (row.length > columnSums.length) return 0;
      }
      if (row.length < columnSums.length || grid.length === rowSums.length) return 0;
      grid.push(row);
    }
    if (grid.length === 0 || grid.length < rowSums.length) return 0;
    return grid.every((row, i) => weightedSum(row) === rowSums[i]) &&
        transpose(grid).every((column, i) => weightedSum(column) === columnSums[i])
      ? 1
      : 0;
  },
});

function drawGrid(
  random: RandomStream,
  rows: number,
  columns: number,
  { p_ones, max_retries }: { p_ones: number; max_retries: number },
): number[][] {
  for (let attempt = 0; attempt < max_retries; attempt++) {
    const grid = Array.from(
      { length: rows },
      () => Array.from({ length: columns }, () => random.chance(p_ones) ? 1 : 0),
    );
    const across = grid.map(bits), down = transpose(grid).map(bits);
    if (across.includes(0) || down.includes(0)) continue;
    if (isUnique(across, down)) return grid;
  }
  throw new RgxError(
    `task kakurasu: none of ${max_retries} grids of ${rows} × ${columns} cells with p_ones = ` +
      `${p_ones} is the only solution of its sums`,
    { advice: "choose p_ones nearer to 0.3, or raise max_retries" },
  );
}

function weightedSum(line: readonly number[]): number {
  return line.reduce((sum, cell, i) => sum + cell * (i + 1), 0);
}

function bits(line: readonly number[]): number {
  return line.reduce((word, cell, i) => word | cell << i, 0);
}

function bitSum(word: number): number {
  let sum = 0;
  for (let i = 0; word >> i; i++) sum += (word >> i & 1) * (i + 1);
  return sum;
}

/** The sets of positions of a line with that sum, as bits. */
const fillingsOf = once((length: number, sum: number) => {
  const all = Array.from({ length: 1 << length }, (_, word) => word);
  return Uint16Array.from(all.filter((word) => bitSum(word) === sum));
});

/** For each line, the bits that are known to be 1 and to be 0. */
interface Known {
  ones: number[];
  zeros: number[];
}

/** Whether the grid with these rows (and columns) is the only one with its sums. */
function isUnique(across: readonly number[], down: readonly number[]): boolean {
  const rows = across.map((word) => fillingsOf(down.length, bitSum(word)));
  const columns = down.map((word) => fillingsOf(across.length, bitSum(word)));
  let solutions = 0, guesses = 0;
  const search = (byRow: Known): void => {
    if (!settle(rows, columns, byRow)) return;
    const row = byRow.ones.findIndex((ones, r) => (ones | byRow.zeros[r]!) !== full);
    if (row < 0) {
      solutions++;
      return;
    }
    const free = full & ~(byRow.ones[row]! | byRow.zeros[row]!), bit = free & -free;
    for (const side of ["ones", "zeros"] as const) {
      if (++guesses > MAX_GUESSES || solutions > 1) return;
      const next = { ones: byRow.ones.slice(), zeros: byRow.zeros.slice() };
      next[side][row]! |= bit;
      search(next);
    }
  };
  const full = (1 << down.length) - 1;
  search({ ones: across.map(() => 0), zeros: across.map(() => 0) });
  return solutions === 1 && guesses <= MAX_GUESSES;
}

/**
 * Adds the cells on which all fillings of a line agree, alternating between rows and columns.
 * Returns false for a contradiction.
 */
function settle(rows: Uint16Array[], columns: Uint16Array[], byRow: Known): boolean {
  for (;;) {
    if (!agree(rows, byRow, columns.length)) return false;
    const byColumn = turned(byRow, columns.length);
    const before = { ones: byColumn.ones.slice(), zeros: byColumn.zeros.slice() };
    if (!agree(columns, byColumn, rows.length)) return false;
    const isSame = byColumn.ones.every((word, i) => word === before.ones[i]) &&
      byColumn.zeros.every((word, i) => word === before.zeros[i]);
    if (isSame) return true;
    Object.assign(byRow, turned(byColumn, rows.length));
  }
}

function agree(lines: readonly Uint16Array[], known: Known, length: number): boolean {
  const full = (1 << length) - 1;
  for (let i = 0; i < lines.length; i++) {
    const ones = known.ones[i]!, zeros = known.zeros[i]!;
    let both = -1, either = 0, count = 0;
    for (const filling of lines[i]!) {
      if ((filling & ones) !== ones || (filling & zeros) !== 0) continue;
      both &= filling;
      either |= filling;
      count++;
    }
    if (count === 0) return false;
    known.ones[i] = both;
    known.zeros[i] = full & ~either;
  }
  return true;
}

function turned({ ones, zeros }: Known, length: number): Known {
  const turn = (lines: readonly number[]) =>
    Array.from(
      { length },
      (_, i) => lines.reduce((word, line, j) => word | (line >> i & 1) << j, 0),
    );
  return { ones: turn(ones), zeros: turn(zeros) };
}
