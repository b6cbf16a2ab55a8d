import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf, numbersIn } from "../../testing.ts";

/** The value of an expression, computed by JavaScript. Used only for generated expressions. */
function evaluate(expression: string): number {
  assert.match(expression, /^[-+*/() 0-9]+$/);
  return Function(`return ${expression}`)() as number;
}

Deno.test("countdown: the answer uses the question's numbers and reaches its target", () => {
  const sets = [
    {},
    { min_numbers: 2, max_numbers: 3 },
    { operators: ["+", "*"], shuffle: false },
    { min_numbers: 9, max_numbers: 15, min_target: 1, max_target: 10_000, max_value: 300 },
  ];
  for (const options of sets) {
    for (const entry of entriesOf("countdown", [options], { seed: 1, size: 60 })) {
      const [, list, target] = /numbers ([\d, ]+) to make (\d+)\./.exec(entry.question)!;
      const given = list!.split(", ").map(Number),
        used = entry.answer!.match(/\d+/g)!.map(Number);
      const sorted = (numbers: number[]) => numbers.toSorted((a, b) => a - b);
      assert.deepEqual(sorted(used), sorted(given));
      if (options.shuffle === false) assert.deepEqual(used, given);
      assert.equal(evaluate(entry.answer!), Number(target));
      const { min_target = 100, max_target = 999 } = options;
      assert.ok(Number(target) >= min_target && Number(target) <= max_target, target);
      if (options.operators) assert.ok(!/[-/]/.test(entry.answer!));
    }
  }
});

Deno.test("countdown: an unreachable range of targets gives the nearest target found", () => {
  const options = {
    min_numbers: 3,
    max_numbers: 3,
    max_value: 1,
    min_target: 50,
    max_target: 60,
  };
  for (const entry of createDataset("countdown", { seed: 1, size: 20, ...options })) {
    assert.equal(entry.metadata["target"], 3);
  }
});

Deno.test("puzzle24: the answer makes 24 of the question's numbers", () => {
  const sets = [{}, { operators: ["+", "*"] }, { min_value: 5, max_value: 8 }];
  for (const options of sets) {
    for (const entry of entriesOf("puzzle24", [options], { seed: 2, size: 60 })) {
      const numbers = /numbers ([\d, ]+)\./.exec(entry.question)![1]!.split(", ").map(Number);
      const { min_value = 1, max_value = 10 } = options;
      assert.ok(numbers.every((n) => n >= min_value && n <= max_value));
      assert.ok(Math.abs(evaluate(entry.answer!) - 24) < 1e-9, entry.answer!);
      assert.deepEqual(entry.answer!.match(/\d+/g)!.map(Number).sort(), numbers.toSorted());
      if (options.operators) assert.ok(!/[-/]/.test(entry.answer!));
    }
  }
});

Deno.test("survo: the listed numbers fill the zeros so that all sums are right", () => {
  const sets = [{}, { min_board_size: 7, max_board_size: 9, min_empty: 20, max_empty: 36 }, {
    min_num: 40,
    max_num: 2000,
  }];
  for (const entry of entriesOf("survo", sets, { seed: 3, size: 100 })) {
    const puzzle = numbersIn(entry.question), filled = numbersIn(entry.answer!);
    const n = puzzle.length;
    const listed = /exactly once: ([\d, ]+)\n/.exec(entry.question)![1]!.split(", ").map(
      Number,
    );
    const added: number[] = [];
    for (let r = 0; r < n; r++) {
      for (let c = 0; c < n; c++) {
        if (puzzle[r]![c] === 0) added.push(filled[r]![c]!);
        else assert.equal(filled[r]![c], puzzle[r]![c]);
      }
    }
    assert.deepEqual(added.toSorted(), listed.toSorted());
    const columns = filled[0]!.map((_, c) => filled.map((row) => row[c]!));
    for (const line of [...filled, ...columns]) {
      assert.equal(line.slice(0, -1).reduce((a, b) => a + b), line.at(-1));
    }
    assert.equal(entry.metadata["source_idx"], entry.metadata["source_index"]);
  }
});

Deno.test("G3: survo without a seed works; survo and kakurasu have both indices", () => {
  for (const task of ["survo", "kakurasu"]) {
    const { metadata } = createDataset(task, { seed: null }).entry(7);
    assert.deepEqual([metadata["source_idx"], metadata["source_index"]], [7, 7]);
  }
});

/** Counts the solutions of weighted sums, row by row, with the remaining column sums. */
function countGrids(rowSums: number[], columnSums: number[]): number {
  const columns = columnSums.length;
  const search = (row: number, left: number[]): number => {
    if (row < 0) return left.every((sum) => sum === 0) ? 1 : 0;
    if (left.some((sum) => sum < 0 || sum > (row + 1) * (row + 2) / 2)) return 0;
    let count = 0;
    for (let word = 0; word < 1 << columns && count < 2; word++) {
      let sum = 0;
      for (let c = 0; c < columns; c++) if (word >> c & 1) sum += c + 1;
      if (sum !== rowSums[row]) continue;
      count += search(row - 1, left.map((s, c) => s - (word >> c & 1) * (row + 1)));
    }
    return count;
  };
  return search(rowSums.length - 1, columnSums);
}

Deno.test("kakurasu: exactly one grid has the question's sums, the answer", () => {
  const sets = [{ size: 150 }, { size: 60, min_rows: 3, max_rows: 6, p_ones: 0.5 }, {
    size: 10,
    min_rows: 7,
    max_rows: 7,
    min_cols: 6,
    max_cols: 7,
    p_ones: 0.4,
  }];
  for (const entry of entriesOf("kakurasu", sets, { seed: 4 })) {
    const sums = (side: string) =>
      new RegExp(`Sums of the ${side}, from the \\w+: ([\\d, ]+)`).exec(entry.question)![1]!
        .split(", ").map(Number);
    const rowSums = sums("rows"), columnSums = sums("columns");
    assert.equal(countGrids(rowSums, columnSums), 1, entry.question);
    const grid = entry.answer!.split("\n").map((line) => line.split(" ").map(Number));
    assert.deepEqual(grid.map((row) => row.reduce((s, x, i) => s + x * (i + 1), 0)), rowSums);
    assert.deepEqual(
      columnSums.map((_, c) => grid.reduce((s, row, r) => s + row[c]! * (r + 1), 0)),
      columnSums,
    );
  }
});

Deno.test("mahjong: the rounds of the question, played with letters, end in the answer", () => {
  const seen = new Map<string, number>();
  const sets = [{}, { min_num_rounds: 1, max_num_rounds: 3 }];
  for (const entry of entriesOf("mahjong_puzzle", sets, { seed: 5, size: 150 })) {
    let hand = [.../beginning: ([A-Z]{13})\n/.exec(entry.question)![1]!];
    let result = "";
    const rounds = [...entry.question.matchAll(/Round \d+: add ([A-Z]), remove ([A-Z])/g)];
    for (const [, add, remove] of rounds) {
      const others = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
      const runs = Array.from({ length: 24 }, (_, i) => others.slice(i, i + 3))
        .filter((run) => run.includes(add!));
      const isPeng = hand.filter((card) => card === add).length >= 2;
      const isChi = runs.some((run) =>
        [...run.replace(add!, "")].every((card) => hand.includes(card))
      );
      result = isPeng ? "Peng" : isChi ? "Chi" : "Pass";
      hand.push(add!);
      const at = hand.indexOf(remove!);
      assert.ok(at >= 0);
      hand = hand.filter((_, i) => i !== at);
    }
    assert.equal(entry.answer, result);
    assert.equal(rounds.length, (entry.metadata["rounds"] as unknown[]).length);
    seen.set(result, (seen.get(result) ?? 0) + 1);
  }
  for (const result of ["Peng", "Chi", "Pass"]) assert.ok(seen.get(result)! > 60, result);
});
