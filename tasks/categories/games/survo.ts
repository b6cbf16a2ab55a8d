/** A survo puzzle: a table with row and column sums in which some numbers are missing. */
import { counts, defineTask, sizes } from "../../define.ts";
import { parseInteger } from "../../python/integers.ts";
import { words } from "../../python/text.ts";
import { gridText } from "../../grids.ts";

const MAX_ANSWER_LENGTH = 100_000;

export default defineTask({
  description: "Put numbers back into a table so that all sums are right.",
  scoring:
    "Lines of integers (other words and lines without integers are ignored): 1 when every given " +
    "number is kept, exactly the listed numbers are filled in and all sums are right; else 0.",
  params: {
    board_size: counts([4, 5], "rows and columns, with the sums", {
      min: 4,
      max: 100,
      levels: [4, 5, 6, 7],
    }),
    empty: counts([3, 5], "numbers to put back", { min: 1, levels: [4, 9, 16, 25] }),
    num: sizes([1, 9], "number", { apart: true, min: 1, max: 1_000_000 }),
  },
  rules: {
    "max_empty: must be at most (min_board_size − 1)²": (c) =>
      c.max_empty <= (c.min_board_size - 1) ** 2,
  },
  clamp(config) {
    const notes: string[] = [], maximum = (config.min_board_size - 1) ** 2;
    for (const field of ["min_empty", "max_empty"] as const) {
      if (config[field] <= maximum) continue;
      notes.push(`${field}: ${config[field]} is above (min_board_size − 1)², ${maximum} is used`);
      config[field] = maximum;
    }
    return notes;
  },
  generate(random, config, index) {
    const size = random.int(config.min_board_size, config.max_board_size);
    const empty = random.int(config.min_empty, config.max_empty);
    const inner = size - 1;
    const solution = Array.from(
      { length: inner },
      () => Array.from({ length: inner }, () => random.int(config.min_num, config.max_num)),
    );
    for (const row of solution) row.push(sum(row));
    solution.push(
      Array.from({ length: size }, (_, column) => sum(solution.map((row) => row[column]!))),
    );
    const cells = Array.from({ length: inner * inner }, (_, i) => i);
    const puzzle = solution.map((row) => row.slice());
    const candidates = random.sample(cells, empty).map((cell) => {
      const row = Math.floor(cell / inner), column = cell % inner;
      puzzle[row]![column] = 0;
      return solution[row]![column]!;
    });
    return {
      question:
        `In this ${size} × ${size} table the last number of each row is the sum of the numbers ` +
        "before it, and the last number of each column is the sum of the numbers above it. Some " +
        `numbers have been replaced by 0:\n${gridText(puzzle)}\nPut these numbers back in place ` +
        `of the zeros, each exactly once: ${candidates.join(", ")}\nAnswer with the complete ` +
        `table, sums included: ${size} lines of ${size} numbers separated by spaces.`,
      answer: gridText(solution),
      metadata: {
        source_idx: index,
        puzzle,
        solution,
        candidate_numbers: candidates,
        board_size: size,
        num_empty: empty,
        min_num: config.min_num,
        max_num: config.max_num,
      },
    };
  },
  score(answer, entry) {
    const { puzzle, candidate_numbers: candidates } = entry.metadata ?? {};
    if (!isTable(puzzle) || !Array.isArray(candidates)) return 0;
    if (answer.length > MAX_ANSWER_LENGTH) return 0;
    const table = readTable(answer, puzzle.length);
    if (table === null) return 0;
    const filled: number[] = [], last = puzzle.length - 1;
    for (const [r, row] of puzzle.entries()) {
      for (const [c, given] of row.entries()) {
        const value = table[r]![c]!;
        if (given === 0 && r < last && c < last) filled.push(value);
        else if (value !== given) return 0;
      }
    }
    if (filled.sort(byValue).join() !== candidates.toSorted(byValue).join()) return 0;
    for (let i = 0; i < last; i++) {
      if (sum(table[i]!.slice(0, last)) !== table[i]![last]) return 0;
      if (sum(table.slice(0, last).map((row) => row[i]!)) !== table[last]![i]) return 0;
    }
    return 1;
  },
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

const byValue = (a: number, b: number) => a - b;

/** The lines with integers; null unless there are `size` of them with `size` integers each. */
function readTable(answer: string, size: number): number[][] | null {
  const rows: number[][] = [];
  for (const line of answer.split("\n")) {
    const row = words(line).map(parseInteger).filter((value) => value !== null).map(Number);
    if (row.length === 0) continue;
    if (row.length !== size || rows.length === size) return null;
    rows.push(row);
  }
  return rows.length === size ? rows : null;
}

function isTable(value: unknown): value is number[][] {
  return Array.isArray(value) && value.length > 1 &&
    value.every((row) => Array.isArray(row) && row.length === value.length);
}
