import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";
import { FAMILIES } from "./families.ts";

type Board = string[][];

function boardsOf(question: string): Board[] {
  return question.match(/(?:^\d(?: \d)*$\n?)+/gm)!
    .map((board) => board.trimEnd().split("\n").map((row) => row.split(" ")));
}

/**
 * The source position of each output cell, for rules that only rearrange cells; null for a shape
 * that the rule does not allow.
 */
type Rearrangement = (h: number, w: number) => [
  height: number,
  width: number,
  source: (r: number, c: number) => [number, number],
];

const fold = (n: number, size: number) => n < size ? n : 2 * size - 1 - n;
const floor = Math.floor;

const REARRANGEMENTS: Record<string, Rearrangement> = {
  mirror_sideways: (h, w) => [h, w, (r, c) => [r, w - 1 - c]],
  mirror_upside_down: (h, w) => [h, w, (r, c) => [h - 1 - r, c]],
  turn_90: (h, w) => [w, h, (r, c) => [h - 1 - c, r]],
  turn_180: (h, w) => [h, w, (r, c) => [h - 1 - r, w - 1 - c]],
  turn_270: (h, w) => [w, h, (r, c) => [c, w - 1 - r]],
  mirror_diagonal: (h, w) => [w, h, (r, c) => [c, r]],
  mirror_other_diagonal: (h, w) => [w, h, (r, c) => [h - 1 - c, w - 1 - r]],
  twice_beside: (h, w) => [h, 2 * w, (r, c) => [r, c % w]],
  twice_above: (h, w) => [2 * h, w, (r, c) => [r % h, c]],
  twice_both: (h, w) => [2 * h, 2 * w, (r, c) => [r % h, c % w]],
  reflect_right: (h, w) => [h, 2 * w, (r, c) => [r, fold(c, w)]],
  reflect_left: (h, w) => [h, 2 * w, (r, c) => [r, fold((c + w) % (2 * w), w)]],
  reflect_down: (h, w) => [2 * h, w, (r, c) => [fold(r, h), c]],
  reflect_up: (h, w) => [2 * h, w, (r, c) => [fold((r + h) % (2 * h), h), c]],
  reflect_both: (h, w) => [2 * h, 2 * w, (r, c) => [fold(r, h), fold(c, w)]],
  with_half_turn_right: (
    h,
    w,
  ) => [h, 2 * w, (r, c) => c < w ? [r, c] : [h - 1 - r, 2 * w - 1 - c]],
  with_half_turn_below: (
    h,
    w,
  ) => [2 * h, w, (r, c) => r < h ? [r, c] : [2 * h - 1 - r, w - 1 - c]],
  enlarge_2: (h, w) => [2 * h, 2 * w, (r, c) => [r >> 1, c >> 1]],
  enlarge_3: (h, w) => [3 * h, 3 * w, (r, c) => [floor(r / 3), floor(c / 3)]],
  stretch_rows: (h, w) => [2 * h, w, (r, c) => [r >> 1, c]],
  stretch_columns: (h, w) => [h, 2 * w, (r, c) => [r, c >> 1]],
  upper_half: (h, w) => [h / 2, w, (r, c) => [r, c]],
  lower_half: (h, w) => [h / 2, w, (r, c) => [r + h / 2, c]],
  left_half: (h, w) => [h, w / 2, (r, c) => [r, c]],
  right_half: (h, w) => [h, w / 2, (r, c) => [r, c + w / 2]],
  upper_left_quarter: (h, w) => [h / 2, w / 2, (r, c) => [r, c]],
  lower_right_quarter: (h, w) => [h / 2, w / 2, (r, c) => [r + h / 2, c + w / 2]],
  swap_upper_lower: (h, w) => [h, w, (r, c) => [(r + h / 2) % h, c]],
  swap_left_right: (h, w) => [h, w, (r, c) => [r, (c + w / 2) % w]],
  complete_from_left: (h, w) => [h, w, (r, c) => [r, fold(c, w / 2)]],
  complete_from_top: (h, w) => [h, w, (r, c) => [fold(r, h / 2), c]],
  without_border: (h, w) => [h - 2, w - 2, (r, c) => [r + 1, c + 1]],
  every_other_row: (h, w) => [(h + 1) >> 1, w, (r, c) => [2 * r, c]],
  every_other_column: (h, w) => [h, (w + 1) >> 1, (r, c) => [r, 2 * c]],
  roll_down: (h, w) => [h, w, (r, c) => [(r + h - 1) % h, c]],
  roll_up: (h, w) => [h, w, (r, c) => [(r + 1) % h, c]],
  roll_right: (h, w) => [h, w, (r, c) => [r, (c + w - 1) % w]],
  roll_left: (h, w) => [h, w, (r, c) => [r, (c + 1) % w]],
  roll_diagonally: (h, w) => [h, w, (r, c) => [(r + h - 1) % h, (c + w - 1) % w]],
  slanted_rows: (h, w) => [h, w, (r, c) => [r, (c + r) % w]],
};

function rearranged(rule: Rearrangement, input: Board): string {
  const [height, width, source] = rule(input.length, input[0]!.length);
  return Array.from({ length: height }, (_, r) =>
    Array.from({ length: width }, (_, c) => {
      const [y, x] = source(r, c);
      return input[y]?.[x];
    }).join(" ")).join("\n");
}

const text = (board: Board) => board.map((row) => row.join(" ")).join("\n");

Deno.test("rules that rearrange cells are found from the examples and give the answer", () => {
  const families = new Set<string>();
  let solved = 0;
  const sets = [{ seed: 1, size: 400 }, { seed: 2, size: 200, diff_ub: 0.4 }];
  for (const entry of entriesOf("rearc", sets)) {
    const boards = boardsOf(entry.question), test = boards.pop()!;
    const fitting = Object.entries(REARRANGEMENTS).filter(([, rule]) =>
      boards.every((board, i) => i % 2 === 1 || rearranged(rule, board) === text(boards[i + 1]!))
    );
    const name = entry.metadata["task_id"] as string;
    if (name in REARRANGEMENTS) {
      assert.ok(fitting.some(([fits]) => fits === name), name);
      families.add(name);
    }
    const answers = new Set(fitting.map(([, rule]) => rearranged(rule, test)));
    if (answers.size !== 1) continue;
    assert.equal([...answers][0], entry.answer, `${name}: ${fitting.map(([fits]) => fits)}`);
    solved++;
  }
  assert.ok(solved >= 200, `${solved} solved`);
  assert.ok(families.size >= 38, `${families.size} families`);
});

/** Computes the measure from its definition, with areas found by union-find. */
function measure(boards: Board[]): number {
  let cells = 0, density = 0;
  for (const board of boards) {
    const w = board[0]!.length, size = board.length * w;
    const parent = Array.from({ length: size }, (_, i) => i);
    const root = (i: number): number => parent[i] === i ? i : root(parent[i]!);
    board.forEach((row, r) =>
      row.forEach((color, c) => {
        if (row[c + 1] === color) parent[root(r * w + c)] = root(r * w + c + 1);
        if (board[r + 1]?.[c] === color) parent[root(r * w + c)] = root(r * w + c + w);
      })
    );
    cells += size;
    density += parent.filter((p, i) => p === i).length / size / 2;
  }
  return (cells / 1800 + new Set(boards.flat(2)).size / 10 + density) / 3;
}

Deno.test("the test pair has the reported measure, within the drawn range", () => {
  const bounds = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 1];
  const unit = (i: number) => bounds.slice(1).map((_, j) => i === j ? 1 : 0);
  for (let i = 0; i + 1 < bounds.length; i++) {
    const options = { seed: 3, size: 12, pso_difficulty_weights: unit(i) };
    for (const entry of createDataset("rearc", options)) {
      const input = boardsOf(entry.question).at(-1)!;
      const output = entry.answer!.split("\n").map((row) => row.split(" "));
      const pso = entry.metadata["pso"] as number;
      assert.ok(Math.abs(measure([input, output]) - pso) < 1e-12);
      assert.ok(pso >= bounds[i]! && pso <= bounds[i + 1]!, `${pso} in range ${i}`);
      assert.ok(Math.max(...[input, output].flatMap((b) => [b.length, b[0]!.length])) <= 30);
    }
  }
});

Deno.test("the examples have the given number and show every colour of the test", () => {
  const names = new Set<string>();
  const options = { seed: 4, size: 700, min_examples: 2, max_examples: 3 };
  for (const entry of createDataset("rearc", options)) {
    const boards = boardsOf(entry.question), test = boards.pop()!;
    assert.ok(boards.length === 4 || boards.length === 6, `${boards.length}`);
    const shown = new Set(boards.filter((_, i) => i % 2 === 0).flat(2));
    assert.ok(test.flat().every((color) => shown.has(color)));
    for (let i = 0; i < boards.length; i += 2) {
      assert.notEqual(text(boards[i]!), text(boards[i + 1]!));
    }
    names.add(entry.metadata["task_id"] as string);
  }
  const all = Object.keys(FAMILIES).length;
  assert.ok(names.size > 0.9 * all, `${names.size} of ${all} families`);
});
