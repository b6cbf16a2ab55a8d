/** Derives the answers of the matrix tasks again from their questions, by other methods. */
import assert from "node:assert/strict";
import { distances, entriesOf, numbersIn } from "../../../testing.ts";

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
