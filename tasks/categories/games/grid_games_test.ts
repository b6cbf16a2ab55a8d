import assert from "node:assert/strict";
import { scoreAnswer } from "../../registry.ts";
import { distances, entriesOf, rowsIn } from "../../testing.ts";
import { isUniqueLatin } from "./latin_testing.ts";

Deno.test("maze: distances over the drawn maze reach the goal in the answered steps", () => {
  const sets = [{ size: 150 }, { size: 60, min_dist: 1, max_dist: 3, min_grid_size: 4 }, {
    size: 15,
    min_dist: 15,
    max_dist: 20,
    min_grid_size: 25,
    max_grid_size: 50,
  }];
  for (const entry of entriesOf("maze", sets, { seed: 1 })) {
    const marks = /walls \((.)\) and passages \((.)\)\. You stand at (.) and want to reach (.)\./;
    const [, wall, , start, goal] = marks.exec(entry.question)!;
    const rows = entry.question.split("\n\n")[1]!.split("\n");
    assert.equal(rows.length, entry.metadata["grid_size"]);
    assert.ok([rows[0]!, rows.at(-1)!].every((row) => [...row].every((cell) => cell === wall)));
    const cells = rows.map((row) => [...row]);
    const steps = distances(cells, (cell) => cell === start, (cell) => cell !== wall);
    const row = rows.findIndex((line) => line.includes(goal!));
    assert.equal(String(steps[row]![rows[row]!.indexOf(goal!)]), entry.answer);
    const { dist: [low, high] } = entry.metadata["difficulty"] as { dist: [number, number] };
    assert.ok(Number(entry.answer) >= low && Number(entry.answer) <= high);
  }
});

Deno.test("n_queens: all placements of the missing queens are the valid answers", () => {
  const sets = [{ size: 150 }, { size: 40, n: 5, max_remove: 5 }, { size: 20, n: 9 }];
  for (const entry of entriesOf("n_queens", sets, { seed: 2 })) {
    const rows = rowsIn(entry.question, /[Q_]/);
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
  }
});

Deno.test("sudoku: the question has one solution, the answer", () => {
  const regionOf = (r: number, c: number) => Math.floor(r / 3) * 3 + Math.floor(c / 3);
  const sets = [{ size: 40 }, { size: 20, min_empty: 0, max_empty: 20 }, {
    size: 15,
    min_empty: 55,
    max_empty: 64,
  }];
  for (const entry of entriesOf("sudoku", sets, { seed: 3 })) {
    const digits = (text: string) =>
      rowsIn(text, /[\d_]/).map((row) => row.map((cell) => cell === "_" ? 0 : Number(cell)));
    const puzzle = digits(entry.question), solution = digits(entry.answer!);
    assert.equal(puzzle.length, 9);
    assert.ok(isUniqueLatin(puzzle, solution, [], regionOf));
    const empty = puzzle.flat().filter((digit) => digit === 0).length;
    assert.equal(empty, entry.metadata["num_empty"]);
    const { empty: [low, high] } = entry.metadata["difficulty"] as { empty: [number, number] };
    assert.ok(empty <= high && (empty >= low || low > 50), String(empty));
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
  const sets = [{ size: 60 }, { size: 40, min_words_in_sentence: 1, max_words_in_sentence: 60 }];
  for (const entry of entriesOf("emoji_mystery", sets, { seed: 5 })) {
    const points = Array.from(entry.question, (character) => character.codePointAt(0)!);
    const bytes: number[] = [];
    for (const point of points) {
      if (point >= 0xfe00 && point <= 0xfe0f) bytes.push(point - 0xfe00);
      if (point >= 0xe0100 && point <= 0xe01ef) bytes.push(point - 0xe0100 + 16);
    }
    assert.equal(new TextDecoder().decode(Uint8Array.from(bytes)), entry.answer);
    assert.equal(entry.answer!.split(" ").length, entry.metadata["num_words_in_sentence"]);
  }
});
