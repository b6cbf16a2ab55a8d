import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { scoreAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";
import { isUniqueLatin } from "./latin_testing.ts";

Deno.test("maze: distances over the drawn maze reach the goal in the answered steps", () => {
  const sets = [{ size: 150 }, { size: 60, min_dist: 1, max_dist: 3, min_grid_size: 4 }, {
    size: 15,
    min_dist: 15,
    max_dist: 20,
    min_grid_size: 25,
    max_grid_size: 50,
  }];
  for (const options of sets) {
    for (const entry of createDataset("maze", { seed: 1, ...options })) {
      const marks = /walls \((.)\) and passages \((.)\)\. You stand at (.) and want to reach (.)\./;
      const [, wall, , start, goal] = marks.exec(entry.question)!;
      const rows = entry.question.split("\n\n")[1]!.split("\n");
      assert.equal(rows.length, entry.metadata["grid_size"]);
      assert.ok([rows[0]!, rows.at(-1)!].every((row) => [...row].every((cell) => cell === wall)));
      // Bellman–Ford on the squares, because the generator uses a queue.
      const n = rows.length;
      const distance = rows.map((row) => [...row].map((c) => c === start ? 0 : Infinity));
      for (let isChanged = true; isChanged;) {
        isChanged = false;
        for (let r = 1; r < n - 1; r++) {
          for (let c = 1; c < n - 1; c++) {
            if (rows[r]![c] === wall) continue;
            const d = distance;
            const best = 1 + Math.min(d[r - 1]![c]!, d[r + 1]![c]!, d[r]![c - 1]!, d[r]![c + 1]!);
            if (best < d[r]![c]!) {
              d[r]![c] = best;
              isChanged = true;
            }
          }
        }
      }
      const row = rows.findIndex((line) => line.includes(goal!));
      assert.equal(String(distance[row]![rows[row]!.indexOf(goal!)]), entry.answer);
      const { min_dist = 5, max_dist = 10 } = options;
      assert.ok(Number(entry.answer) >= min_dist && Number(entry.answer) <= max_dist);
    }
  }
});

Deno.test("n_queens: all placements of the missing queens are the valid answers", () => {
  const sets = [{ size: 150 }, { size: 40, n: 5, max_remove: 5 }, { size: 20, n: 9 }];
  for (const entry of entriesOf("n_queens", sets, { seed: 2 })) {
    const rows = entry.question.split("\n").filter((line) => /^[Q_]( [Q_])+$/.test(line))
      .map((line) => line.split(" "));
    const n = rows.length, found: string[] = [], columns: number[] = [];
    const place = (row: number) => {
      if (row === n) {
        found.push(
          columns.map((queen) => rows.map((_, c) => c === queen ? "Q" : "_").join(" "))
            .join("\n"),
        );
        return;
      }
      for (let c = 0; c < n; c++) {
        if (rows[row]!.includes("Q") && rows[row]![c] !== "Q") continue;
        if (columns.some((other, r) => other === c || Math.abs(other - c) === row - r)) continue;
        columns.push(c);
        place(row + 1);
        columns.pop();
      }
    };
    place(0);
    const valid = entry.metadata["valid_answers"] as string[];
    assert.deepEqual(valid.toSorted(), found.toSorted());
    assert.ok(found.includes(entry.answer!));
    assert.equal(
      n - rows.flat().filter((cell) => cell === "Q").length,
      entry.metadata["num_removed"],
    );
    for (const answer of found) assert.equal(scoreAnswer(answer, entry), 1);
    const list = JSON.stringify(entry.answer!.split("\n").map((row) => row.split(" ")));
    assert.equal(scoreAnswer(list, entry), 0.5);
    assert.equal(scoreAnswer(entry.answer!.replace("Q", "_"), entry), 0);
  }
});

Deno.test("sudoku: the question has one solution, the answer", () => {
  const regionOf = (r: number, c: number) => Math.floor(r / 3) * 3 + Math.floor(c / 3);
  for (
    const options of [{ size: 120 }, { size: 50, min_empty: 0, max_empty: 20 }, {
      size: 30,
      min_empty: 55,
      max_empty: 64,
    }]
  ) {
    for (const entry of createDataset("sudoku", { seed: 3, ...options })) {
      const digits = (text: string) =>
        text.split("\n").filter((line) => /^[\d_]( [\d_]){8}$/.test(line)).map((line) =>
          line.split(" ").map((cell) => cell === "_" ? 0 : Number(cell))
        );
      const puzzle = digits(entry.question), solution = digits(entry.answer!);
      assert.equal(puzzle.length, 9);
      assert.ok(isUniqueLatin(puzzle, solution, [], regionOf));
      const empty = puzzle.flat().filter((digit) => digit === 0).length;
      assert.equal(empty, entry.metadata["num_empty"]);
      const { min_empty = 30, max_empty = 50 } = options;
      assert.ok(empty <= max_empty && (empty >= min_empty || min_empty > 50), String(empty));
      const wrong = entry.answer!.slice(0, -1) + (solution[8]![8]! % 9 + 1);
      assert.ok(Math.abs(scoreAnswer(wrong, entry) - 0.9 * 80 / 81) < 1e-12);
    }
  }
});

Deno.test("futoshiki: the drawing of the question has one solution, the answer", () => {
  const sets = [{ size: 150, max_board_size: 5 }, { size: 8 }, {
    size: 50,
    max_board_size: 5,
    min_difficulty: 6,
    max_difficulty: 13,
  }];
  let clues = 0, cells = 0;
  for (const entry of entriesOf("futoshiki", sets, { seed: 4 })) {
    const lines = entry.question.split("\n\n")[1]!.split("\n"),
      answer = entry.answer!.split("\n");
    const n = (lines.length + 1) / 2;
    const grid = (text: string[]) =>
      text.filter((_, i) => i % 2 === 0).map((line) =>
        Array.from({ length: n }, (_, c) => Number(line[4 * c]!.replace("_", "0")))
      );
    const less: [number, number, number, number][] = [];
    lines.forEach((line, i) => {
      for (let c = 0; c < n; c++) {
        const r = i >> 1, sign = i % 2 === 0 ? line[4 * c + 2] : line[4 * c];
        if (i % 2 === 0 && sign === "<") less.push([r, c, r, c + 1]);
        if (i % 2 === 0 && sign === ">") less.push([r, c + 1, r, c]);
        if (i % 2 === 1 && sign === "∧") less.push([r, c, r + 1, c]);
        if (i % 2 === 1 && sign === "∨") less.push([r + 1, c, r, c]);
      }
    });
    assert.equal(less.length, (entry.metadata["constraints"] as unknown[]).length);
    const puzzle = grid(lines);
    assert.ok(isUniqueLatin(puzzle, grid(answer), less), entry.question);
    assert.deepEqual(
      answer.map((line) => line.replace(/\d/g, "_")),
      lines.map((line) => line.replace(/\d/g, "_")),
    );
    clues += puzzle.flat().filter((digit) => digit > 0).length;
    cells += n * n;
  }
  assert.ok(clues < 0.45 * cells, `${clues} clues in ${cells} cells`);
});

Deno.test("emoji: the bytes behind the emoji of the question are the sentence", () => {
  for (
    const options of [{ size: 150 }, {
      size: 60,
      min_words_in_sentence: 1,
      max_words_in_sentence: 60,
    }]
  ) {
    for (const entry of createDataset("emoji_mystery", { seed: 5, ...options })) {
      const points = Array.from(entry.question, (character) => character.codePointAt(0)!);
      const bytes: number[] = [];
      for (const point of points) {
        if (point >= 0xfe00 && point <= 0xfe0f) bytes.push(point - 0xfe00);
        if (point >= 0xe0100 && point <= 0xe01ef) bytes.push(point - 0xe0100 + 16);
      }
      assert.equal(new TextDecoder().decode(Uint8Array.from(bytes)), entry.answer);
      assert.equal(entry.answer!.split(" ").length, entry.metadata["num_words_in_sentence"]);
      const other = entry.answer!.slice(0, -1) + "?";
      const share = (other.length - 1) / other.length;
      assert.ok(Math.abs(scoreAnswer(other, entry) - share) < 1e-12);
      assert.equal(scoreAnswer(`${entry.answer} `, entry), 0.01);
    }
  }
});
