/**
 * The scores of answers of unusual form: other white space, other spellings of numbers, surplus or
 * missing parts, expressions that the original would execute. Where the original is wrong, the row
 * has the letter and number of docs/deviations.md. The recorded scores are in `golden_test.ts`.
 */
import assert from "node:assert/strict";
import { scoreTaskAnswer } from "./registry.ts";
import type { ScorableEntry } from "./types.ts";

const two_x = { answer: "x**2 + C", metadata: { integrand: "2*x", variable: "x" } };
const EXECUTED = ["__import__('os').getcwd()", "(lambda: x**2)()", "x**2 if 1 else 0", "[x**2][0]"];
const unsolved = "-2*Integral(x**2*cos(3*x), x) + C";
const cosines = { integrand: "-2*x**2*cos(3*x)", variable: "x" };
const cube = (scramble_moves: string, cube_size = 3) => ({
  metadata: { cube_size, scramble_moves },
});
const survo = {
  puzzle: [[0, 0, 5, 8], [0, 0, 5, 8], [5, 5, 5, 15], [8, 8, 15, 31]],
  solution: [[1, 2, 5, 8], [2, 1, 5, 8], [5, 5, 5, 15], [8, 8, 15, 31]],
  candidate_numbers: [1, 2, 2, 1],
};
const room = "+ + + + +  \n+ * @ X +  \n+ + + + +  \n\n";
const edge = { vertices: [0, 1], edges: [[0, 1]], num_colors: 2, color_options: [1, 2] };

type Row = [task: string, entry: ScorableEntry, answers: Record<number, readonly string[]>];

const ROWS: readonly Row[] = [
  ["complex_arithmetic", { metadata: { result: [-6, 0] } }, {
    1: ["-6.00\r\n", "\u00a0-6.00", "\t-6.0 + 0.0i"],
    0: ["-6.0 + 0.0i\n"],
  }],
  ["simple_integration", { metadata: { integrand: "2*x", variable: "x" } }, {
    1: ["-C + x**2", "1_0*x**2/1_0 + 1e1_0"],
    0: ["not - C + x**2", "01*x**2", "1__0 + x**2", "True - C + x**2"],
  }],
  // V5
  ["simple_integration", two_x, { 1: ["x**2 + 5"], 0: ["x**3", "x**2 +", ...EXECUTED] }],
  ["intermediate_integration", two_x, { 1: ["x**2 + 5"], 0: ["x**3", "x**2 +", ...EXECUTED] }],
  ["polynomial_multiplication", { answer: "x**2" }, { 0: EXECUTED }],
  // An unsolved integral counts only if the right answer contains one.
  ["intermediate_integration", { answer: unsolved, metadata: cosines }, { 1: [unsolved] }],
  ["intermediate_integration", { answer: "x", metadata: cosines }, { 0: [unsolved] }],
  // V1, V25: without a real root the original accepts anything, even no answer.
  ["polynomial_equations", { answer: "", metadata: { real_solutions: [] } }, {
    1: [" ", '""'],
    0: ["there is none", "0.5"],
  }],
  ["group_anagrams", { metadata: { solution: [["ate", "tea"]] } }, {
    1: ['[["tea", "ate"]]'],
    0.01: ['[[["tea", "ate"]]]'],
    0: ['[[["tea"], "ate"]]', "{}", '""'],
  }],
  ["manipulate_matrix", { answer: "1 2\n3 4" }, {
    1: [" 1  2 \n3\t4 "],
    [7 / 11]: ["So:\n 1  2 \n3  4"],
  }],
  ["palindrome_partitioning", { metadata: { solution: [["a", "a"], ["aa"]] } }, {
    1: ['["aa", ["aa"]]'],
    0: ['["aa", "aa"]'],
  }],
  // V5
  ["n_queens", { metadata: { valid_answers: ["_ Q\nQ _"] } }, {
    0.5: ["[['_', 'Q'], ['Q', '_']]", '["_Q", "Q_"]', "(('_', 'Q'), ['Q', '_'])"],
    0: ['["_ Q", "Q _"]', "list([['_', 'Q'], ['Q', '_']])"],
  }],
  ["binary_matrix", { answer: "0 1\n1 2" }, {
    0.1: ["((0, 1), [1, '2'])"],
    0: ["[[0, 1], [1, 1 + 1]]", "[[0, 1.0], [1, 2]]"],
  }],
  ["spiral_matrix", { answer: "1 2 4 3" }, {
    0.1: ["1, 2, 4, 3", "'1243'"],
    0: ["[x for x in (1, 2, 4, 3)]", "[[1, 2, 4, 3]]"],
  }],
  ["string_insertion", { answer: "ABCDA" }, {
    0.1: ["['ABC', 'DA']", "'AB', 'CDA'"],
    0: ["list('ABCDA')"],
  }],
  ["rubiks_cube", { metadata: { cube_size: 3, scramble_moves: "U R F" } }, {
    1: ["F'\nR'\n\tU'\n", "F3 R3 U'", "1. F' 2. R' 3. U' 4"],
    0.01: ["F' R' U'4"],
  }],
  // V27
  ["rubiks_cube", cube("2F'", 4), { 1: ["2F"], 0.01: ["2F 2F"] }],
  ["rubiks_cube", cube("1Bw'", 4), { 1: ["1Bw"], 0.01: ["1Bw 1Bw"] }],
  ["knights_knaves", {
    answer: "Lily is an egoist, and Riley is an egoist.",
    metadata: { knight_knave_terms: { knight: "altruist", knave: "egoist" } },
  }, {
    1: ["Lily is an egoist, and Riley is egoist. an egoist."],
    0: ["Riley Lily egoist egoist"],
  }],
  ["kakurasu", { metadata: { row_sums: [3, 1, 3], col_sums: [3, 1, 3] } }, {
    1: ["\n1 1 0\n1 0 0 # 3\n0 0 1\n\n"],
    0: ["1 1 0\n\n1 0 0\n0 0 1", "```\n1 1 0\n1 0 0\n0 0 1\n```"],
  }],
  ["survo", { metadata: { puzzle: [[0, 1], [1, 1]], candidate_numbers: [1] } }, {
    1: ["+1 1 x\n\n1 １"],
  }],
  // V14
  ["survo", { metadata: survo }, { 1: ["2 1 5 8\n1 2 5 8\n5 5 5 15\n8 8 15 31"] }],
  ["time_intervals", { answer: "18 days, 00:00", metadata: { task_type: "datetime" } }, {
    1: ["18 days, 00:00, about"],
    0: ["18 days, 00:0018 days, 00:00"],
  }],
  // V4, V22
  ["time_intervals", {
    answer: "01:00",
    metadata: { task_type: "time", difficulty: { max_time_difference_seconds: 3600 } },
  }, { 0.5: ["00:30"] }],
  ["time_intervals", { answer: "00:00:01.500", metadata: { task_type: "time_ms" } }, {
    1: ["00:00:01.5"],
  }],
  ["decimal_arithmetic", {
    answer: "2.5",
    metadata: { difficulty: { decimal_places: [1, 1] } },
  }, { 1: ["2.59"] }],
  ["word_ladder", { metadata: { start_word: "BADDY", end_word: "CARDY" } }, {
    1: ["BADDY,CADDY,CARDY"],
  }],
  ["coin_flip", { answer: "0.5", metadata: { rational: { numerator: 1, denominator: 2 } } }, {
    1: ["1,000/2,000"],
    0: ["0.5/1"],
  }],
  // V1: a blank answer is right where nothing remains, and nowhere else.
  ["ab", { answer: "" }, { 1: [""], 0: ["A#"] }],
  ["ab", { answer: "A#" }, { 0: [""] }],
  ["string_manipulation", { answer: "" }, { 1: [""], 0: ["a"] }],
  ["string_manipulation", { answer: "a" }, { 0: [""] }],
  // V11
  ["number_sorting", {
    metadata: { sorted_numbers: ["-92.8", "0.0", "61.5"], direction: "ascending" },
  }, {
    1: ["['-92.8', '0.0', '61.5']", "['-92.8', '0.0', '61.50000001']"],
    0: ["['-92.85', '0.0', '61.5']", "['-92.8', '0.0', '61.5004']"],
  }],
  // V12
  ["number_format", {
    answer: "5000.125",
    metadata: { candidates: [5000.125, 5000.128], solution: 5000.125, size: "smallest" },
  }, { 0: ["5000.128"] }],
  // V17
  ["gsm_symbolic", { answer: "1000" }, { 1: ["1,000", "$1,000.00"], 0.01: ["-1000", "1,00"] }],
  ["gsm_symbolic", { answer: "-70" }, { 1: ["−70", "x=-70"], 0.01: ["70"] }],
  // V19, V2
  ["game_of_life", { answer: "[[0,1,0],[1,1,0],[0,0,0]]" }, {
    [1 / 2]: ["[[0,1,0,1,1,1],[1,1,0,1,1,1],[0,0,0,1,1,1]]"],
    0: ["{}", "[0,1,0]", "7", "null", "[["],
  }],
  // V21
  ["figlet_font", { answer: "UNDERSTANDING" }, { 0.9: ["UNDERSTANDINK"] }],
  // V2
  ["boxnet", { metadata: { initial_state: { "0.5_0.5": ["box_red", "target_red"] } } }, {
    0.05: ['[{"Agent[9, 9]": "move(box_red, target_red)"}]'],
    0: ["0", "{}"],
  }],
  // V8
  ["countdown", { metadata: { numbers: [1000, 1000, 1], target: 1_000_000 } }, {
    0.05: ["1000*1000 + 1"],
  }],
  ["countdown", { metadata: { numbers: [15, 4], target: 19 } }, {
    1: ["(15\n+ 4)"],
    0.01: ["(15 + 4).", "15 +\n4"],
  }],
  ["countdown", { metadata: { numbers: [5, 2], target: 25 } }, { 0.01: ["5**2"] }],
  ["countdown", { metadata: { numbers: [2, 5, 4], target: 10 } }, { 0.01: ["2.5*4"] }],
  // V13, V16
  ["tsumego", { answer: "C1" }, { 0.05: ["C11"], [2 / 11]: ["C1, not C11"] }],
  ["sokoban", { metadata: { gamestr: room } }, { 0: ["I go RIGHT"] }],
  ["advanced_geometry", { answer: "(0.304, -1.217)", metadata: { task_type: "orthocenter" } }, {
    1: ["0.304,-1.2171"],
  }],
  ["calendar_arithmetic", { answer: "0", metadata: { task: "count_days" } }, { 0: ["1"] }],
  ["codeio", { answer: '{"a": 10, "b": "xy"}' }, {
    [1 - 0.2 / (0.2 * 22)]: ['{"a": 10.5, "b": "xy"}'],
    [20 / 21]: ['{"a": 10, "b": "xy"}}'],
    0.5: ['{"a": 10, "b": "zz"}'],
    0.2: ["x".repeat(1000) + '{"a":10,"b":"xy"}'],
  }],
  ["codeio", { answer: '{"b": 1, "a": 10.0}' }, {
    1: ['{"a": 10, "b": true}'],
    [1 - 0.4 / (0.2 * 19)]: ['{"a": 11.0, "b": 1}'],
  }],
  ["cryptarithm", {
    metadata: { words_letters: ["AB", "C"], result_letters: "DE", allow_leading_zero: false },
  }, {
    1: ["A=1,B=7,C=8,D=2,E=5"],
    0.01: ["A=0,B=5,C=7,D=1,E=2", "A=1,B=7,C=8,D=2,E=5,F=0"],
  }],
  ["graph_color", { metadata: { puzzle: edge } }, {
    0.01: ['{"0": 1, "1": 3}', '{"0": "1", "1": "2"}'],
    0: ["null"],
  }],
  ["jugs", { metadata: { puzzle: { jug_capacities: [5, 3, 8], target: 2, min_moves: 2 } } }, {
    1: ['[" fill  A", "pour\\tA->B "]'],
    0: ['["fill D"]'],
  }],
];

Deno.test("answers in unusual forms get the score of the original, or the right one", () => {
  for (const [task, entry, answers] of ROWS) {
    for (const [score, texts] of Object.entries(answers)) {
      for (const text of texts) {
        const found = scoreTaskAnswer(task, text, { question: "", ...entry });
        const label = `${task}: ${JSON.stringify(text)} scores ${found}, not ${score}`;
        assert.ok(Math.abs(found - Number(score)) < 1e-12, label);
      }
    }
  }
});

Deno.test("no answer is never right, not even where nothing is", () => {
  const metadata = { real_solutions: [] };
  for (const task of ["ab", "string_manipulation", "polynomial_equations"]) {
    assert.equal(scoreTaskAnswer(task, null, { answer: "", metadata }), 0, task);
  }
});
