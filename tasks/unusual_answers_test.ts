/**
 * The scores of reasoning-gym 0.1.25 for answers of unusual form: other white space, other
 * spellings of numbers, surplus or missing parts.
 */
import assert from "node:assert/strict";
import { scoreTaskAnswer } from "./registry.ts";
import type { ScorableEntry } from "./types.ts";

const rows: [task: string, entry: ScorableEntry, scores: [answer: string, score: number][]][] = [
  ["complex_arithmetic", { metadata: { result: [-6, 0] } }, [
    ["-6.00\r\n", 1],
    ["\u00a0-6.00", 1],
    ["\t-6.0 + 0.0i", 1],
    ["-6.0 + 0.0i\n", 0],
  ]],
  ["simple_integration", { metadata: { integrand: "2*x", variable: "x" } }, [
    ["-C + x**2", 1],
    ["not - C + x**2", 0],
    ["1_0*x**2/1_0 + 1e1_0", 1],
    ["01*x**2", 0],
    ["1__0 + x**2", 0],
    ["True - C + x**2", 0],
  ]],
  ["group_anagrams", { metadata: { solution: [["ate", "tea"]] } }, [
    ['[["tea", "ate"]]', 1],
    ['[[["tea", "ate"]]]', 0.01],
    ['[[["tea"], "ate"]]', 0],
    ["{}", 0],
    ['""', 0],
  ]],
  ["manipulate_matrix", { answer: "1 2\n3 4" }, [
    [" 1  2 \n3\t4 ", 1],
    ["So:\n 1  2 \n3  4", 7 / 11],
  ]],
  ["palindrome_partitioning", { metadata: { solution: [["a", "a"], ["aa"]] } }, [
    ['["aa", ["aa"]]', 1],
    ['["aa", "aa"]', 0],
  ]],
  ["n_queens", { metadata: { valid_answers: ["_ Q\nQ _"] } }, [
    ["[['_', 'Q'], ['Q', '_']]", 0.5],
    ['["_Q", "Q_"]', 0.5],
    ["(('_', 'Q'), ['Q', '_'])", 0.5],
    ['["_ Q", "Q _"]', 0],
  ]],
  ["rubiks_cube", { metadata: { cube_size: 3, scramble_moves: "U R F" } }, [
    ["F'\nR'\n\tU'\n", 1],
    ["F3 R3 U'", 1],
    ["F' R' U'4", 0.01],
    ["1. F' 2. R' 3. U' 4", 1],
  ]],
  ["knights_knaves", {
    answer: "Lily is an egoist, and Riley is an egoist.",
    metadata: { knight_knave_terms: { knight: "altruist", knave: "egoist" } },
  }, [
    ["Lily is an egoist, and Riley is egoist. an egoist.", 1],
    ["Riley Lily egoist egoist", 0],
  ]],
  ["kakurasu", { metadata: { row_sums: [3, 1, 3], col_sums: [3, 1, 3] } }, [
    ["\n1 1 0\n1 0 0 # 3\n0 0 1\n\n", 1],
    ["1 1 0\n\n1 0 0\n0 0 1", 0],
    ["```\n1 1 0\n1 0 0\n0 0 1\n```", 0],
  ]],
  ["survo", { metadata: { puzzle: [[0, 1], [1, 1]], candidate_numbers: [1] } }, [
    ["+1 1 x\n\n1 １", 1],
  ]],
  ["time_intervals", { answer: "18 days, 00:00", metadata: { task_type: "datetime" } }, [
    ["18 days, 00:00, about", 1],
    ["18 days, 00:0018 days, 00:00", 0],
  ]],
  ["coin_flip", { answer: "0.5", metadata: { rational: { numerator: 1, denominator: 2 } } }, [
    ["1,000/2,000", 1],
    ["0.5/1", 0],
  ]],
];

Deno.test("answers in unusual forms get the score of the original", () => {
  for (const [task, entry, scores] of rows) {
    for (const [answer, score] of scores) {
      const label = `${task}: ${JSON.stringify(answer)}`;
      assert.equal(scoreTaskAnswer(task, answer, { question: "", ...entry }), score, label);
    }
  }
});
