/** Cases in which the original is wrong (docs/deviations.md), with its result and ours. */
import assert from "node:assert/strict";
import { assertFast } from "../../../core/time_limit_testing.ts";
import { curriculumConfig } from "../../curriculum/levels.ts";
import { createDataset } from "../../dataset.ts";
import { getTask, scoreTaskAnswer, validateTaskConfig } from "../../registry.ts";
import type { ScorableEntry } from "../../types.ts";

type Row = [
  id: string,
  task: string,
  entry: ScorableEntry,
  answer: string,
  original: number | "error",
  ours: number,
];

const one = { metadata: { initial_state: { "0.5_0.5": ["box_red", "target_red"] } } };
const hundred = { metadata: { numbers: [4, 25], target: 100 } };
const million = { metadata: { numbers: [1000, 1000, 1], target: 1_000_000 } };
const four = { metadata: { numbers: [4, 7, 5, 6] } };
const queens = { metadata: { valid_answers: ["_ Q\nQ _"] } };
const stone = { answer: "C1" };
const table = {
  metadata: {
    puzzle: [[0, 0, 5, 8], [0, 0, 5, 8], [5, 5, 5, 15], [8, 8, 15, 31]],
    solution: [[1, 2, 5, 8], [2, 1, 5, 8], [5, 5, 5, 15], [8, 8, 15, 31]],
    candidate_numbers: [1, 2, 2, 1],
  },
};
const room = { metadata: { gamestr: "+ + + + +  \n+ * @ X +  \n+ + + + +  \n\n" } };
const park = { metadata: { board_config: "oooooo".repeat(2) + "ooooAA" + "oooooo".repeat(3) } };

const SCORES: Row[] = [
  ["V1", "countdown", hundred, "", 0.01, 0],
  ["V1", "puzzle24", four, " ", 0.01, 0],
  ["V1", "emoji_mystery", { answer: "It rained." }, "", 0.01, 0],
  ["V2", "boxnet", one, "0", "error", 0],
  ["V2", "boxnet", one, '[{"Agent[9, 9]": "move(box_red, target_red)"}]', "error", 0.05],
  ["V2", "boxnet", one, "{}", 0.05, 0],
  ["V5", "n_queens", queens, "list([['_', 'Q'], ['Q', '_']])", 0.5, 0],
  ["V5", "n_queens", queens, "[['_', 'Q'], ['Q', '_']]", 0.5, 0.5],
  ["V7", "puzzle24", four, "6 + 6 + 6 + 6", 1, 0.01],
  ["V7", "puzzle24", four, "4*(7 + 5 - 6).", 0.01, 1],
  ["V8", "countdown", million, "1000*1000 + 1", 1, 0.05],
  ["V8", "countdown", { metadata: { numbers: [15, 4], target: 19 } }, "(15 + 4).", 0.01, 0.01],
  ["V8", "countdown", { metadata: { numbers: [15, 4], target: 19 } }, "(15\n+ 4)", 1, 1],
  ["V8", "countdown", { metadata: { numbers: [15, 4], target: 19 } }, "15 +\n4", 0.01, 0.01],
  ["V8", "countdown", { metadata: { numbers: [5, 2], target: 25 } }, "5**2", 1, 0.01],
  ["V8", "countdown", { metadata: { numbers: [2, 5, 4], target: 10 } }, "2.5*4", 1, 0.01],
  ["V13", "tsumego", stone, "C11", 2 / 3, 0.05],
  ["V13", "tsumego", stone, "C1, not C11", 2 / 11, 2 / 11],
  ["V14", "survo", table, "2 1 5 8\n1 2 5 8\n5 5 5 15\n8 8 15 31", 0, 1],
  ["V16", "sokoban", room, "I go RIGHT", 1, 0],
  ["V26", "rush_hour", park, "B+1", 0, 1],
];

Deno.test("the original scores these answers wrongly", () => {
  for (const [id, task, entry, answer, original, ours] of SCORES) {
    const score = scoreTaskAnswer(task, answer, entry);
    assert.ok(Math.abs(score - ours) < 1e-12, `${id} ${task} ${answer}: ${score}, not ${ours}`);
    const same = original !== "error" && Math.abs(original - ours) < 1e-12;
    if (same) assert.ok(SCORES.some((row) => row[1] === task && row[4] !== row[5]), id);
  }
});

Deno.test("V24: scoring knight moves does not change the entry", () => {
  const entry = createDataset("knight_swap", { seed: 1, impossible_ratio: 0 }).entry(0);
  const before = structuredClone(entry);
  assert.equal(scoreTaskAnswer("knight_swap", entry.answer, entry), 1);
  assert.equal(scoreTaskAnswer("knight_swap", entry.answer, entry), 1);
  assert.deepEqual(entry, before);
});

Deno.test("G3: survo without a seed works; survo and kakurasu have both indices", () => {
  for (const task of ["survo", "kakurasu"]) {
    const { metadata } = createDataset(task, { seed: null }).entry(7);
    assert.deepEqual([metadata["source_idx"], metadata["source_index"]], [7, 7]);
  }
});

Deno.test("G20: the number of knights is drawn up to max_pieces", () => {
  const seen = new Set<number>();
  const options = { seed: 1, size: 60, min_pieces: 1, max_pieces: 3, min_steps: 1, max_nodes: 12 };
  for (const { metadata } of createDataset("knight_swap", options)) {
    const pieces = Object.values(metadata["pieces"] as Record<string, string | null>);
    seen.add(pieces.filter((piece) => piece === "w").length);
    assert.equal(
      pieces.filter((piece) => piece === "w").length,
      pieces.filter((piece) => piece === "B").length,
    );
  }
  assert.deepEqual([...seen].sort(), [1, 2, 3]);
});

Deno.test("G23: levels that the original refuses are clamped with a note", () => {
  const cases = [
    ["survo", 3, { min_empty: 4, max_empty: 9 }],
    ["knight_swap", 0, { min_nodes: 6, max_nodes: 6 }],
  ] as const;
  for (const [task, level, expected] of cases) {
    const notes: string[] = [];
    const onClamp = (note: string) => notes.push(note);
    const config = curriculumConfig(getTask(task), { "*": level }, { onClamp });
    for (const [field, value] of Object.entries(expected)) assert.equal(config[field], value);
    assert.ok(notes.length > 0 && notes.every((note) => / is (above|below) /.test(note)));
    assert.deepEqual(validateTaskConfig(task, config), []);
  }
});

Deno.test("G26, G28 and other parameters are refused with the field and both values", () => {
  const cases = [
    ["tsumego", { min_board_size: 4 }, /^min_board_size: .*5.*4/],
    ["tsumego", { max_board_size: 20 }, /^max_board_size: .*19.*20/],
    ["maze", { min_grid_size: 3 }, /^min_grid_size: .*4.*3/],
    ["maze", { min_dist: 9, max_grid_size: 5 }, /^min_dist: .*9.*5/],
    ["survo", { max_empty: 10 }, /^max_empty: .*10.*4/],
    ["survo", { min_num: 9 }, /^max_num: .*9.*9/],
    ["n_queens", { n: 6 }, /^max_remove: .*6.*7/],
    ["countdown", { operators: [] }, /^operators: /],
    ["puzzle24", { operators: ["^"] }, /^operators: /],
    ["sokoban", { min_w: 4, min_h: 4 }, /^min_w: .*4/],
    ["boxnet", { colour_list: [] }, /^colour_list: /],
    ["boxnet", { colour_list: ["light red"] }, /^colour_list: .*light red/],
    ["futoshiki", { max_board_size: 10 }, /^max_board_size: .*9.*10/],
  ] as const;
  for (const [task, config, message] of cases) {
    const errors = validateTaskConfig(task, config);
    assert.equal(errors.length, 1, `${task}: ${errors}`);
    assert.match(errors[0]!, message);
  }
});

Deno.test("hostile answers are scored quickly", () => {
  const texts = [
    "(".repeat(1_000_000),
    "[".repeat(1_000_000),
    "-".repeat(4_000) + "1",
    "9*".repeat(500_000) + "9",
    "1/".repeat(2_499) + "7",
    "UDLR".repeat(250_000),
    "A+9".repeat(330_000),
    `${"1 ".repeat(500_000)}`,
    "1\n".repeat(500_000),
    '["' + "w,A1,B3".repeat(140_000) + '"]',
    "C1".repeat(500_000),
    "move(box_red, ".repeat(70_000),
  ];
  const tasks = [...new Set(SCORES.map(([, task]) => task)), "sudoku", "futoshiki", "kakurasu"];
  for (const task of [...tasks, "knight_swap", "maze", "mahjong_puzzle"]) {
    const entry = createDataset(task, { seed: 2 }).entry(1);
    for (const text of texts) {
      const score = () => assert.ok(scoreTaskAnswer(task, text, entry) < 1);
      assertFast(250, score, `${task}: ${text.slice(0, 20)}`);
    }
  }
});
