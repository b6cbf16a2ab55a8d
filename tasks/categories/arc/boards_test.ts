import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { scoreTaskAnswer } from "../../registry.ts";
import { sha256Hex } from "../../../core/checksums.ts";
import type { Board, Pair } from "./boards.ts";
import { puzzle, puzzleCounts } from "./arc_agi.ts";
import { readGoldenJson } from "../../../tests/golden.ts";

type Puzzles = Record<string, { train: Pair[]; test: Pair[] }>;

/** The embedded puzzles of a part, by id. */
function puzzlesOf(part: "train" | "evaluation"): Puzzles {
  const count = puzzleCounts()[part];
  return Object.fromEntries(Array.from({ length: count }, (_, i) => {
    const { id, examples, test } = puzzle(part, i);
    return [id, { train: examples, test: [test] }];
  }));
}

/**
 * The boards of a question in order: alternating inputs and outputs; the last is the test's input.
 */
function boardsOf(question: string): string[] {
  return question.match(/(?:^\d(?: \d)*$\n?)+/gm)!.map((board) => board.trimEnd());
}

/**
 * The eight orientations of a board. Each maps a row and column of the result to a cell of the
 * board.
 */
function layings(board: Board): string[][][] {
  const h = board.length, w = board[0]!.length, results: string[][][] = [];
  for (const turned of [false, true]) {
    for (const up of [false, true]) {
      for (const side of [false, true]) {
        results.push(
          Array.from(
            { length: turned ? w : h },
            (_, r) =>
              Array.from({ length: turned ? h : w }, (_, c) => {
                const [y, x] = turned ? [c, r] : [r, c];
                return String(board[up ? h - 1 - y! : y!]![side ? w - 1 - x! : x!]);
              }),
          ),
        );
      }
    }
  }
  return results;
}

/** Replaces the colours in the texts by the order of their first occurrence. */
function pattern(...texts: string[]): string {
  const order: number[] = [];
  let result = "";
  for (const character of texts.join("|")) {
    if (character < "0" || character > "9") result += character;
    else {
      const color = Number(character);
      if (!order.includes(color)) order.push(color);
      result += order.indexOf(color);
    }
  }
  return result;
}

Deno.test("the embedded puzzles are the published ones", () => {
  const recorded = readGoldenJson<Record<string, string>>("arc_puzzles.json");
  const found: Record<string, string> = {};
  for (const part of ["train", "evaluation"] as const) {
    for (const [id, boards] of Object.entries(puzzlesOf(part))) {
      found[`${part}/${id}`] = sha256Hex(JSON.stringify(boards)).slice(0, 32);
    }
  }
  assert.deepEqual(found, recorded);
});

Deno.test("an ARC entry is the public puzzle, all boards rotated and coloured equally", () => {
  const train = puzzlesOf("train"), evaluation = puzzlesOf("evaluation");
  const options = [
    { seed: 1, size: 60 },
    { seed: 2, size: 30, use_eval: false, rotations: ["90"], rotations_weights: [0.5, 0.5] },
    { seed: 3, size: 30, use_train: false, mirrors_weights: [0, 0, 0, 0.5, 0.5] },
    {
      seed: 4,
      size: 20,
      rotations: [],
      rotations_weights: [1],
      mirrors: [],
      mirrors_weights: [2],
      use_color_permutation: false,
      shuffle_example_order: false,
    },
  ];
  const seen = new Set<string>();
  for (const option of options) {
    for (const entry of createDataset("arc_agi", option)) {
      const id = entry.metadata["task_id"] as string;
      assert.ok(!("use_eval" in option) || id in train);
      assert.ok(!("use_train" in option) || id in evaluation);
      const original = train[id] ?? evaluation[id]!;
      const boards = [...boardsOf(entry.question), entry.answer!];
      const pairs = boards.flatMap((board, i) => i % 2 === 0 ? [`${board}>${boards[i + 1]}`] : []);
      assert.equal(pairs.length, original.train.length + 1);
      const test = pairs.pop()!;
      const text = (board: string[][]) => board.map((row) => row.join(" ")).join("\n");
      const laid = ({ input, output }: Pair, way: number) =>
        `${text(layings(input)[way]!)}>${text(layings(output)[way]!)}`;
      const same = "use_color_permutation" in option;
      const first = same ? 1 : 8;
      const found = Array.from({ length: first }, (_, way) => way).some((way) => {
        const goal = laid(original.test[0]!, way);
        if (pattern(goal) !== pattern(test)) return false;
        const shown = original.train.map((pair) => laid(pair, way));
        if (same) return [...shown, goal].join() === [...pairs, test].join();
        // The order of the examples is free. Colours are numbered as in the test pair.
        return shown.map((pair) => pattern(goal, pair)).sort().join() ===
          pairs.map((pair) => pattern(test, pair)).sort().join();
      });
      assert.ok(found, id);
      assert.deepEqual(
        entry.metadata["output"],
        entry.answer!.split("\n").map((row) => row.split(" ").map(Number)),
      );
      seen.add(id);
    }
  }
  assert.ok(seen.size > 90, `${seen.size} puzzles`);
});

Deno.test("boards are written in the format that is asked for", () => {
  const board_format_opts = {
    alphabet: [..."abcdefghij"],
    col_delimiter: ", ",
    row_delimiter: ";",
    array_brackets: true,
  };
  for (const task of ["arc_agi", "rearc"]) {
    const ours = createDataset(task, { seed: 5, board_format_opts }).entry(0);
    const plain = createDataset(task, { seed: 5 }).entry(0);
    const rows = (ours.metadata["output"] as Board)
      .map((row) => `[${row.map((color) => "abcdefghij"[color]).join(", ")}]`);
    assert.equal(ours.answer, `[${rows.join(";")}]`);
    assert.deepEqual(ours.metadata, plain.metadata);
    assert.equal(scoreTaskAnswer(task, `${ours.answer} `, ours), 1);
  }
});
