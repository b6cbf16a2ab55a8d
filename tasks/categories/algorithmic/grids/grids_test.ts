/** Solves the questions of the tasks on grids again, by other methods. */
import assert from "node:assert/strict";
import { distances, entriesOf, numbersIn } from "../../../testing.ts";
import { createDataset, type DatasetOptions } from "../../../dataset.ts";
import { validateTaskConfig } from "../../../registry.ts";
import { lifeStep } from "./life.ts";
import { COMMON_PERIOD, DYING_PATTERNS, OSCILLATORS } from "./game_of_life_halting.ts";

Deno.test("rotate_matrix: every cell is rotated about the middle of the matrix", () => {
  const entries = entriesOf("rotate_matrix", [
    { size: 150 },
    { size: 80, min_n: 2, max_n: 3, min_rotations: 1, max_rotations: 7 },
    { size: 20, min_n: 20, max_n: 25, max_rotations: 50 },
  ]);
  const seen = new Set<number>();
  for (const { question, answer } of entries) {
    const quarters = Number(/by (\d+) degrees/.exec(question)![1]) / 90;
    const from = numbersIn(question), to = numbersIn(answer!), n = from.length;
    assert.equal(to.length, n);
    seen.add(quarters % 4);
    from.forEach((cells, row) =>
      cells.forEach((value, column) => {
        let x = 2 * column - (n - 1), y = 2 * row - (n - 1);
        for (let i = 0; i < quarters; i++) [x, y] = [-y, x];
        assert.equal(to[(y + n - 1) / 2]![(x + n - 1) / 2], value, question);
      })
    );
  }
  assert.equal(seen.size, 4);
});

Deno.test("spiral_matrix: a walk that turns right at every border and visited cell", () => {
  const entries = entriesOf("spiral_matrix", [
    { size: 150 },
    { size: 60, max_n: 3 },
    { size: 10, min_n: 24, max_n: 25 },
  ]);
  for (const { question, answer } of entries) {
    const grid: (number | undefined)[][] = numbersIn(question);
    const walked: (number | undefined)[] = [];
    let row = 0, column = 0, down = 0, right = 1;
    for (let i = grid.length ** 2; i > 0; i--) {
      walked.push(grid[row]![column]);
      grid[row]![column] = undefined;
      if (grid[row + down]?.[column + right] === undefined) [down, right] = [right, -down];
      row += down;
      column += right;
    }
    assert.equal(walked.join(" "), answer, question);
  }
});

Deno.test("pool_matrix: windows by cell, averages in exact hundredths", () => {
  const entries = entriesOf("pool_matrix", [
    { size: 200 },
    { size: 60, min_pool_size: 4, max_pool_size: 8 },
    { size: 20, min_rows: 20, max_rows: 25, min_cols: 3, max_cols: 9, max_pool_size: 9 },
  ]);
  const seen = new Set<string>();
  for (const { question, answer, metadata } of entries) {
    const [, type, side] = /^(Max|Average) pooling.* (\d+) × \d+ cells/.exec(question)!;
    const windows = new Map<string, number[]>();
    numbersIn(question).forEach((cells, row) =>
      cells.forEach((value, column) => {
        const key = `${Math.floor(row / Number(side))} ${Math.floor(column / Number(side))}`;
        windows.set(key, [...windows.get(key) ?? [], value]);
      })
    );
    const lines = answer!.split("\n").map((line) => line.split(" "));
    assert.equal(lines.flat().length, windows.size);
    for (const [key, values] of windows) {
      const [row, column] = key.split(" ").map(Number);
      const text = lines[row!]![column!]!;
      if (type === "Max") assert.equal(text, String(values.sort().at(-1)), question);
      else {
        const sum = BigInt(values.reduce((a, b) => a + b)), count = BigInt(values.length);
        assert.match(text, /^\d\.\d\d?$/);
        const hundredths = BigInt(text.replace(".", "").padEnd(3, "0"));
        const twiceOff = 2n * (hundredths * count - 100n * sum);
        assert.ok(twiceOff <= count && -twiceOff <= count, `${text} for ${values}`);
        if (twiceOff === count || -twiceOff === count) assert.equal(hundredths % 2n, 0n);
      }
    }
    assert.deepEqual(
      (metadata["solution"] as number[][]).map((row) => row.length),
      lines.map((row) => row.length),
    );
    seen.add(type! + side);
  }
  assert.ok(seen.size > 10);
});

Deno.test("pool_matrix: columns are drawn from min_cols to max_cols, not from min_rows", () => {
  const options = { size: 200, min_rows: 8, max_rows: 9, min_cols: 2, max_cols: 10 };
  const columns = new Set(
    entriesOf("pool_matrix", [options]).map(({ question }) => numbersIn(question)[0]!.length),
  );
  assert.deepEqual([...columns].sort((a, b) => a - b), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

Deno.test("rotten_oranges: distances to the rotten ones by repeated relaxation", () => {
  const entries = entriesOf("rotten_oranges", [
    { size: 100 },
    { size: 60, min_n: 2, max_n: 4, p_oranges: 0.6, p_rotten: 0.4 },
    { size: 40, min_n: 3, max_n: 8, p_oranges: 1, p_rotten: 0.01 },
    { size: 20, min_n: 2, max_n: 6, p_rotten: 1 },
  ]);
  const answers = new Map<string, number>();
  for (const { question, answer } of entries) {
    const grid = numbersIn(question);
    const steps = distances(grid, (cell) => cell === 2, (cell) => cell === 1);
    const last = Math.max(
      0,
      ...grid.flatMap((cells, r) => cells.map((value, c) => value === 1 ? steps[r]![c]! : 0)),
    );
    assert.equal(answer, String(last === Infinity ? -1 : last), question);
    answers.set(answer!, (answers.get(answer!) ?? 0) + 1);
  }
  for (const wanted of ["-1", "0", "1", "6"]) assert.ok(answers.has(wanted), wanted);
});

/** The first block of lines in a text that contain numbers. */
function matrixIn(text: string): number[][] {
  const lines = text.split("\n");
  const isRow = (line: string) => /^[[ ]*[0-9]+(?:[ ,]+[0-9]+)*[\], ]*$/.test(line);
  const start = lines.findIndex(isRow);
  let end = start;
  while (end < lines.length && isRow(lines[end]!)) end++;
  return lines.slice(start, end).map((line) => line.match(/[0-9]+/g)!.map(Number));
}

const text = (matrix: number[][]) => matrix.map((row) => row.join(" ")).join("\n");

Deno.test("binary_matrix: the shortest distance to any of the zeros", () => {
  const variants = [{}, { min_n: 1, max_n: 4 }, { p_zero: 0.01, max_n: 7 }, { p_zero: 1 }];
  for (const { question, answer, metadata } of entriesOf("binary_matrix", variants)) {
    const matrix = matrixIn(question);
    assert.ok(matrix.flat().includes(0) && matrix.length === metadata["n"]);
    const solution = distances(matrix, (cell) => cell === 0, () => true);
    assert.equal(answer, text(solution));
    assert.deepEqual(metadata["solution"], solution);
  }
});

/** One step on a torus, computed cell by cell. */
function step(board: number[][]): number[][] {
  const rows = board.length, columns = board[0]!.length;
  return board.map((row, r) =>
    row.map((cell, c) => {
      let neighbours = -cell;
      for (let i = r - 1; i <= r + 1; i++) {
        for (let j = c - 1; j <= c + 1; j++) {
          neighbours += board[(i + rows) % rows]![(j + columns) % columns]!;
        }
      }
      return neighbours === 3 || (cell === 1 && neighbours === 2) ? 1 : 0;
    })
  );
}

Deno.test("game_of_life: the board of the question after the steps of the question", () => {
  const variants: DatasetOptions[] = [
    {},
    { grid_size_x: 3, grid_size_y: 7, filled_cells: 12, simulation_steps: 2 },
    { grid_size_x: 8, grid_size_y: 3, filled_cells_weights: 0.7, simulation_steps: 3 },
    { grid_size_x: 4, grid_size_y: 4, filled_cells: 0, simulation_steps: 0, size: 2 },
  ];
  for (const { question, answer, metadata } of entriesOf("game_of_life", variants)) {
    let board = matrixIn(question);
    assert.deepEqual([board.length, board[0]!.length], [
      metadata["grid_size_x"],
      metadata["grid_size_y"],
    ]);
    const alive = board.flat().filter((cell) => cell === 1).length;
    assert.ok(alive <= (metadata["filled_cells"] as number));
    const steps = Number(/after ([0-9]+) step/.exec(question)![1]);
    for (let i = 0; i < steps; i++) board = step(board);
    assert.equal(answer, JSON.stringify(board));
  }
});

Deno.test("game_of_life: the weight sets the cells unless their number is given (G14)", () => {
  const filled = (options: DatasetOptions) =>
    createDataset("game_of_life", { seed: 1, ...options }).entry(0).metadata["filled_cells"];
  // The original always fills 10 cells, its default.
  const original = 10;
  assert.notEqual(filled({ filled_cells_weights: 0.5 }), original);
  assert.equal(filled({ filled_cells_weights: 0.5 }), 50);
  assert.equal(filled({ filled_cells_weights: 0.29, grid_size_x: 9, grid_size_y: 3 }), 7);
  assert.equal(filled({ filled_cells_weights: 0.5, filled_cells: 10 }), 10);
  assert.throws(() => filled({ filled_cells: 101 }), /filled_cells: must be at most/);
});

Deno.test("the patterns of game_of_life_halting oscillate in their boxes, or die", () => {
  for (const [difficulty, patterns] of Object.entries(OSCILLATORS)) {
    for (const pattern of patterns) {
      const period = COMMON_PERIOD[Number(difficulty)]!;
      const phases = phasesOf(pattern, period);
      assert.deepEqual(phases[period], phases[0], pattern.name);
      assert.notDeepEqual(phases[1], phases[0], pattern.name);
    }
  }
  const difficulty = 1 + Object.keys(OSCILLATORS).length;
  assert.match(validateTaskConfig("game_of_life_halting", { difficulty }).join(), /^difficulty: /);
  for (const pattern of DYING_PATTERNS) {
    const phases = phasesOf(pattern, 3);
    assert.ok(phases[0]!.includes(1) && !phases[3]!.includes(1));
  }
});

/** The phases on a board with a margin of three cells, of which the inner two must stay empty. */
function phasesOf(pattern: typeof DYING_PATTERNS[number], steps: number): number[][] {
  const rows = pattern.rows + 6, columns = pattern.columns + 6;
  let cells = new Uint8Array(rows * columns);
  for (const [row, column] of pattern.cells) cells[(row + 3) * columns + column + 3] = 1;
  const phases: number[][] = [];
  for (let i = 0; i <= steps; i++) {
    phases.push([...cells]);
    cells.forEach((cell, at) => {
      const row = Math.floor(at / columns) - 3, column = at % columns - 3;
      const inside = row >= 0 && row < pattern.rows && column >= 0 && column < pattern.columns;
      assert.ok(cell === 0 || inside, `${pattern.name} leaves its box`);
    });
    cells = lifeStep(cells, rows, columns);
  }
  return phases;
}

Deno.test("game_of_life_halting: the question's board, simulated step by step", () => {
  const variants: DatasetOptions[] = [
    { size: 100 },
    { grid_size_x: 7, grid_size_y: 9, max_simulation_steps: 1, size: 60 },
    { grid_size_x: 20, grid_size_y: 16, difficulty: 2, max_simulation_steps: 13, size: 30 },
    { grid_size_x: 25, grid_size_y: 26, difficulty: 3, max_simulation_steps: 31, size: 15 },
  ];
  const answers = new Map<string, number>();
  for (const { question, answer, metadata } of entriesOf("game_of_life_halting", variants)) {
    let board = matrixIn(question);
    const steps = Number(/at most ([0-9]+) steps/.exec(question)![1]);
    let halted = !board.flat().includes(1);
    for (let i = 0; i < steps; i++) {
      board = step(board);
      halted ||= !board.flat().includes(1);
    }
    assert.equal(answer, halted ? "True" : "False");
    assert.ok((metadata["placed_patterns"] as unknown[]).length > 0);
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  assert.ok(answers.get("True")! > 40 && answers.get("False")! > 40);
});

type Operation = (matrix: number[][], rows: number, columns: number) => number[][];

/** A matrix whose cells are computed from their positions. */
const build = (rows: number, columns: number, cell: (r: number, c: number) => number) =>
  Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => cell(r, c)));

const OPERATIONS: [RegExp, (...numbers: number[]) => Operation][] = [
  [/^- Rotate the matrix clockwise by (\d+) degrees$/, (degrees) => (matrix) => {
    for (let i = 0; i < degrees!; i += 90) {
      const m = matrix;
      matrix = build(m[0]!.length, m.length, (r, c) => m[m.length - 1 - c]![r]!);
    }
    return matrix;
  }],
  [
    /order of the rows/,
    () => (m, rows, columns) => build(rows, columns, (r, c) => m[rows - 1 - r]![c]!),
  ],
  [
    /Reverse every row/,
    () => (m, rows, columns) => build(rows, columns, (r, c) => m[r]![columns - 1 - c]!),
  ],
  [/main diagonal/, () => (m, rows, columns) => build(columns, rows, (r, c) => m[c]![r]!)],
  [
    /other diagonal/,
    () => (m, rows, columns) => build(columns, rows, (r, c) => m[rows - 1 - c]![columns - 1 - r]!),
  ],
  [
    /^- Replace every (\d) by (\d)$/,
    (from, to) => (m, rows, columns) =>
      build(rows, columns, (r, c) => m[r]![c] === from ? to! : m[r]![c]!),
  ],
  [
    /^- Set every number divisible by (\d) to 0$/,
    (k) => (m, rows, columns) =>
      build(
        rows,
        columns,
        (r, c) => m[r]![c]! - k! * Math.floor(m[r]![c]! / k!) === 0 ? 0 : m[r]![c]!,
      ),
  ],
  [
    /^- Keep only rows (\d+) to (\d+) and columns (\d+) to (\d+),/,
    (top, bottom, left, right) => (m) =>
      build(bottom! - top! + 1, right! - left! + 1, (r, c) => m[r + top! - 1]![c + left! - 1]!),
  ],
  [
    /^- Remove every (\d+)\w\w row: /,
    (n) => (m, rows, columns) =>
      build(rows - Math.floor(rows / n!), columns, (r, c) => m[r + Math.floor(r / (n! - 1))]![c]!),
  ],
  [
    /^- Remove every (\d+)\w\w column: /,
    (n) => (m, rows, columns) =>
      build(
        rows,
        columns - Math.floor(columns / n!),
        (r, c) => m[r]![c + Math.floor(c / (n! - 1))]!,
      ),
  ],
];

Deno.test("manipulate_matrix: every line of the question, applied by cell positions", () => {
  const variants: DatasetOptions[] = [
    { size: 150 },
    { min_transforms: 15, max_transforms: 20, w_crop: -3 },
    { min_rows: 2, max_rows: 2, min_cols: 20, max_cols: 20 },
  ];
  const seen = new Set<number>();
  for (const { question, answer, metadata } of entriesOf("manipulate_matrix", variants)) {
    let matrix = matrixIn(question);
    assert.deepEqual(matrix, metadata["matrix"]);
    const lines = question.split("\n").filter((line) => line.startsWith("- "));
    assert.equal(lines.length, metadata["num_transforms"]);
    for (const line of lines) {
      const at = OPERATIONS.findIndex(([pattern]) => pattern.test(line));
      assert.ok(at >= 0, line);
      seen.add(at);
      const [pattern, operation] = OPERATIONS[at]!;
      const numbers = pattern.exec(line)!.slice(1).map(Number);
      matrix = operation(...numbers)(matrix, matrix.length, matrix[0]!.length);
    }
    assert.equal(answer, text(matrix));
  }
  assert.equal(seen.size, OPERATIONS.length);
});

Deno.test("manipulate_matrix: each weight drives its own transform (G11)", () => {
  /** In the original, the weight of each of these transforms drives another one of them. */
  const mixedUp = ["crop", "remove_every_nth_row", "remove_every_nth_col", "zero_divisible"];
  const kinds = ["rotate", "hmirror", "vmirror", "dmirror", "cmirror", "map", ...mixedUp];
  const off = Object.fromEntries(kinds.map((kind) => [`w_${kind}`, -1000]));
  assert.throws(() => createDataset("manipulate_matrix", off), /w_rotate: exp\(weight\)/);
  for (const kind of kinds) {
    const options = { ...off, [`w_${kind}`]: 0, seed: 1, size: 5, max_transforms: 3 };
    for (const { metadata } of createDataset("manipulate_matrix", options)) {
      const operations = metadata["operations"] as { transform: string }[];
      assert.ok(operations.length > 0);
      for (const { transform } of operations) assert.equal(transform, kind);
    }
  }
});
