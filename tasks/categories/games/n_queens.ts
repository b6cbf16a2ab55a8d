/**
 * Put the missing queens back on a board. All solutions of a size are computed once, with bits for
 * columns and both diagonals. The completions of a board are found in the same way.
 */
import { counts, defineTask, int } from "../../define.ts";
import { type Literal, parseLiteral, PyTuple } from "../../python/literals.ts";
import { once } from "../../once.ts";
import { gridText } from "../../grids.ts";

/** Longer texts are not read. A board of 12 rows has about 1000 characters as a list of lists. */
const MAX_ANSWER_LENGTH = 20_000;

export default defineTask({
  description: "Complete a board of queens that do not attack each other.",
  scoring:
    "1 when equal to a completed board; 0.5 when it is one written as a Python list of lists; " +
    "else 0.",
  params: {
    n: int(8, "rows, columns and queens", { min: 4, max: 12, levels: [4, 6, 8, 10, 12] }),
    remove: counts([1, 7], "queens to put back", {
      min: 1,
      spans: [2, 4, 6, 8, 10],
      as: "num_removed",
    }),
  },
  rules: { "max_remove: must be at most n": ({ n, max_remove }) => max_remove <= n },
  generate(random, { n, min_remove, max_remove }) {
    const solution = random.choice(allSolutions(n));
    const removed = random.int(min_remove, max_remove);
    const rows = Array.from({ length: n }, (_, row) => row);
    const queens: (number | null)[] = solution.slice();
    for (const row of random.sample(rows, removed)) queens[row] = null;
    const puzzle = board(queens);
    const solutions = completions(queens).map(board);
    return {
      question: `This is a ${n} × ${n} board; Q is a queen and _ an empty square:\n` +
        `${gridText(puzzle)}\nPut ${removed} more queen${removed === 1 ? "" : "s"} on empty ` +
        `squares so that no two of the then ${n} queens are in the same row, column or diagonal. ` +
        "The queens on the board stay where they are.\n" +
        `Answer with the completed board in the same form: ${n} lines of ${n} squares separated ` +
        "by spaces.",
      answer: gridText(board(solution)),
      metadata: { puzzle, solutions, num_removed: removed, valid_answers: solutions.map(gridText) },
    };
  },
  score(answer, entry) {
    const valid = answersOf(entry.metadata?.["valid_answers"]);
    if (valid.includes(answer)) return 1;
    if (answer.length > MAX_ANSWER_LENGTH) return 0;
    const rows = itemsOf(parseLiteral(answer))?.map((row) =>
      typeof row === "string" ? [...row] : itemsOf(row)
    );
    return isBoard(rows) && valid.includes(gridText(rows)) ? 0.5 : 0;
  },
});

function itemsOf(value: Literal | undefined): readonly Literal[] | null {
  return Array.isArray(value) ? value : value instanceof PyTuple ? value.items : null;
}

/** A list, or a Python set in the JSON form `{"__set__": [...]}`. */
function answersOf(value: unknown): unknown[] {
  const list = (value as { __set__?: unknown } | null | undefined)?.__set__ ?? value;
  return Array.isArray(list) ? list : [];
}

const allSolutions = once((n: number) => completions(new Array<null>(n).fill(null)));

/** The column of each row's queen in every completed board; null where the queen is missing. */
function completions(queens: readonly (number | null)[]): number[][] {
  const n = queens.length, all = (1 << n) - 1, result: number[][] = [];
  const columns = queens.slice() as number[];
  const place = (row: number, taken: number, left: number, right: number) => {
    if (row === n) {
      result.push(columns.slice());
      return;
    }
    const given = queens[row];
    let free = all & ~(taken | left | right);
    if (given !== null && given !== undefined) free &= 1 << given;
    while (free !== 0) {
      const bit = free & -free;
      free ^= bit;
      columns[row] = 31 - Math.clz32(bit);
      place(row + 1, taken | bit, (left | bit) << 1, (right | bit) >> 1);
    }
  };
  place(0, 0, 0, 0);
  return result;
}

function board(queens: readonly (number | null)[]): string[][] {
  return queens.map((column) => {
    const row = new Array<string>(queens.length).fill("_");
    if (column !== null) row[column] = "Q";
    return row;
  });
}

function isBoard(value: unknown): value is string[][] {
  return Array.isArray(value) &&
    value.every((row) => Array.isArray(row) && row.every((cell) => typeof cell === "string"));
}
