import assert from "node:assert/strict";
import { RgxError, UsageError } from "../core/errors.ts";
import { BUILT_IN } from "./all.ts";
import { curriculumConfig } from "./curriculum/levels.ts";
import { createDataset } from "./dataset.ts";
import { defineTask, int } from "./define.ts";
import {
  getTask,
  hasTask,
  registerTask,
  resolveTaskConfig,
  scoreAnswer,
  taskNames,
  validateTaskConfig,
} from "./registry.ts";
import { defaultScore } from "./scoring_rules.ts";
import type { Task } from "./types.ts";

function toyTask(name: string): Task {
  return defineTask({
    name,
    category: "other",
    description: "Say the number.",
    scoring: "exact",
    params: { min_n: int(1, "smallest", { min: 0 }), max_n: int(5, "largest") },
    generate(random, config) {
      const n = random.int(config.min_n, config.max_n);
      return { question: `Say ${n}.`, answer: String(n), metadata: { n }, difficulty: {} };
    },
    score: defaultScore,
  });
}

Deno.test("a registered task can be generated and scored like a built-in one", () => {
  registerTask(toyTask("toy_say_number"));
  assert.ok(hasTask("toy_say_number") && taskNames().includes("toy_say_number"));
  const entry = createDataset("toy_say_number", { seed: 1, min_n: 4, max_n: 4 }).entry(6);
  assert.deepEqual(entry, {
    question: "Say 4.",
    answer: "4",
    metadata: { source_dataset: "toy_say_number", source_index: 6, n: 4, difficulty: {} },
  });
  assert.equal(scoreAnswer("4", entry), 1);
  assert.throws(() => registerTask(toyTask("toy_say_number")), /the name is taken/);
});

Deno.test("every built-in task could be registered", () => {
  for (const task of BUILT_IN) registerTask({ ...task, name: `toy_copy_of_${task.name}` });
});

Deno.test("a task with an impossible name, field or default is not registered", () => {
  assert.throws(() => registerTask(toyTask("Toy Task")), /a name has a–z/);
  const reserved = toyTask("toy_reserved");
  reserved.params = { seed: int(1, "clashes") };
  assert.throws(() => registerTask(reserved), /"seed" is a field of every data set/);
  const broken = toyTask("toy_broken");
  broken.params = { min_n: int(7, "smallest"), max_n: int(5, "largest") };
  assert.throws(
    () => registerTask(broken),
    /min_n: must be ≤ max_n, found min_n = 7 and max_n = 5/,
  );
  assert.ok(!hasTask("toy_reserved") && !hasTask("toy_broken"));
});

Deno.test("an unknown task is reported with the nearest known one", () => {
  assert.throws(
    () => getTask("leg_count1ng"),
    (error) => error instanceof UsageError && error.message.includes("did you mean leg_counting?"),
  );
});

Deno.test("bad parameters are refused with the field and what was found", () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    [
      "chain_sum",
      { min_trems: 2 },
      /^min_trems: unknown field .*did you mean min_terms\?.*max_digits/,
    ],
    ["chain_sum", { min_terms: "2" }, /^min_terms: must be an integer, found "2"/],
    ["chain_sum", { min_terms: 0 }, /^min_terms: must be at least 1, found 0/],
    [
      "chain_sum",
      { min_terms: 9 },
      /^min_terms: must be ≤ max_terms, found min_terms = 9 and max_terms = 6/,
    ],
    ["chain_sum", { allow_negation: 1 }, /^allow_negation: must be true or false, found 1/],
    [
      "basic_arithmetic",
      { operators: ["+", "^"] },
      /^operators: each element must be one of .*"\^"/,
    ],
    ["basic_arithmetic", { operators: "+" }, /^operators: must be a list of strings, found "\+"/],
    ["basic_arithmetic", { operators: [] }, /^operators: must name at least one/],
    [
      "basic_arithmetic",
      { whitespace: "singel" },
      /^whitespace: must be one of .*did you mean single/,
    ],
    ["mini_sudoku", { min_empty: 10, max_empty: 9 }, /min_empty = 10 and max_empty = 9/],
    ["simple_geometry", { min_angle: 100 }, /^min_angle: .*min_angle = 100 and min_sides = 3/],
    ["simple_geometry", { max_sides: 50 }, /^max_angle: .*max_angle = 170 and max_sides = 50/],
    ["shortest_path", { p_blocked: NaN }, /^p_blocked: must be a number/],
    ["shortest_path", { min_rows: 1, min_cols: 1 }, /^min_rows: .*min_rows = 1 and min_cols = 1/],
    [
      "spell_backward",
      { min_word_len: 30, max_word_len: 40 },
      /^min_word_len: .*min_word_len = 30/,
    ],
    ["spell_backward", { data_file: "mine.txt" }, /^data_file: .*mine\.txt/],
    ["letter_counting", { max_words: 99999 }, /^max_words: .*max_words = 99999/],
    ["power_function", { min_base: 5, max_base: 5 }, /^max_base: /],
    ["power_function", { min_exponent: 3, max_exponent: 2 }, /^min_exponent: /],
    ["base_conversion", { min_base: 7, max_base: 7 }, /^max_base: /],
    ["base_conversion", { min_value: 9, max_value: 9 }, /^max_value: /],
    ["complex_arithmetic", { operations: ["+"] }, /^operations_weights: .*1 operations, found 4/],
    ["aiw", { task_type_weights: [0, 0, 0] }, /^task_type_weights: one must be above 0/],
    ["simple_equations", { operators_weights: [0.1, 0.1, 0.1] }, /^operators_weights: must sum/],
    [
      "polynomial_multiplication",
      { allow_multivariate_polynomials: true },
      /^allow_multivariate_polynomials: needs allow_cross/,
    ],
    ["polynomial_multiplication", { variables: ["2x"] }, /^variables: each must be a name .*"2x"/],
    ["polynomial_equations", { operators: [] }, /^operators: must name/],
    ["intermediate_integration", { symbols: "xy" }, /^symbols: .* found "y"/],
    ["intermediate_integration", { linear_lower_bound: 11 }, /^linear_lower_bound: must be ≤/],
    ["intermediate_integration", { problem_types: ["cyclic"] }, /^problem_type_weights: .*found 8/],
    [
      "game_of_life_halting",
      { difficulty: 2, grid_size_y: 13 },
      /^grid_size_x: must be at least 13 .* found 12/,
    ],
    [
      "word_sorting",
      { min_word_length: 14, max_word_length: 20 },
      /^max_words: there are 0 words of 14 to 20 letters, found max_words = 10$/,
    ],
    [
      "ransom_note",
      { max_note_length: 30 },
      /^max_note_length: must be below max_magazine_length, found .* = 30 and .* = 30$/,
    ],
    ["word_ladder", { min_chain_length: 2, max_chain_length: 5 }, /^min_.*-1 or at least 3, .*2$/],
    ["word_ladder", { max_chain_length: 2 }, /^max_chain_length: must be at least 3, or -1 tog/],
    ["word_ladder", { min_chain_length: 5, max_chain_length: 4 }, /^min_chain_length: must be ≤/],
    ["arc_agi", { use_train: false, use_eval: false }, /^use_train: /],
    ["arc_agi", { rotations: ["90"] }, /^rotations_weights: .*found 4 weights for 1 rotations/],
    ["arc_agi", { rotations: ["45"] }, /^rotations: .*90, 180, 270/],
    ["arc_agi", { mirrors_weights: [0, 0, 0, 0, 0] }, /^mirrors_weights: .*above 0/],
    ["arc_agi", { board_format_opts: { alphabet: ["a"] } }, /^board_format_opts: alphabet/],
    ["rearc", { board_format_opts: { colours: 3 } }, /^board_format_opts: has no key colours/],
    ["rearc", { board_format_opts: "wide" }, /^board_format_opts: must be an object/],
    ["rearc", { diff_lb: 0.5 }, /^diff_lb: must be ≤ diff_ub/],
    ["rearc", { rng_difficulty_ranges: [[0.2, 0.1]] }, /^rng_difficulty_ranges: /],
    ["rearc", { pso_difficulty_weights: [1] }, /^pso_difficulty_weights: .*7 ranges/],
    ["time_intervals", { min_time: "25:00" }, /^min_time: must be a time such as/],
    ["time_intervals", { max_date: "2023-02-29" }, /^max_date: must be a date such as/],
    ["time_intervals", { min_time: "10:00", max_time: "09:00" }, /^min_time: must be ≤ max_time/],
    ["time_intervals", { max_date: "1900-01-01" }, /^max_date: must be after min_date/],
    ["time_intervals", { task_types: [] }, /^task_types: must name at least one/],
    ["figlet_font", { static_word: "a b" }, /^static_word: .*found static_word = "a b"/],
    ["figlet_font", { static_word: "" }, /^static_word: /],
    ["figlet_font", { static_font: "standart" }, /^static_font: .*found "standart".*standard/],
    ["maze", { min_dist: 9, max_grid_size: 5 }, /^min_dist: .*9.*5/],
    ["survo", { max_empty: 10 }, /^max_empty: .*10.*4/],
    ["survo", { min_num: 9 }, /^max_num: .*9.*9/],
    ["n_queens", { n: 6 }, /^max_remove: .*6.*7/],
    ["countdown", { operators: [] }, /^operators: /],
    ["sokoban", { min_w: 4, min_h: 4 }, /^min_w: .*4/],
    ["boxnet", { colour_list: [] }, /^colour_list: /],
    ["boxnet", { colour_list: ["light red"] }, /^colour_list: .*light red/],
    ["coin_flip", { allow_exact: false, allow_at_least: false }, /^allow_exact: .*exact = false/],
  ];
  for (const [task, config, expected] of cases) {
    const errors = validateTaskConfig(task, config);
    assert.equal(errors.length, 1, `${task} ${JSON.stringify(config)}: ${errors}`);
    assert.match(errors[0]!, expected);
    assert.throws(() => createDataset(task, config), UsageError);
  }
  assert.equal(validateTaskConfig("chain_sum", { a: 1, min_terms: "x" }).length, 2);
});

Deno.test("bad size, seed, split and index are refused", () => {
  assert.throws(() => createDataset("chain_sum", { size: 0 }), /size: .*found 0/);
  assert.throws(() => createDataset("chain_sum", { seed: -1 }), /seed: .*found -1/);
  const split = "dev" as "test";
  assert.throws(
    () => createDataset("chain_sum", { split }),
    /split: .*train, validation, test.*"dev"/,
  );
  assert.throws(() => createDataset("chain_sum", { seed: 1 }).entry(-1), /index .*found -1/);
});

Deno.test("parameters that are too large for the engine are reported", () => {
  const sums = createDataset("decimal_chain_sum", { seed: 1, max_decimal_places: 1e12 });
  assert.throws(
    () => sums.entry(0),
    /^RgxError: task decimal_chain_sum: entry 0 is too large .* with max_decimal_places = 10{12}$/,
  );
});

Deno.test("missing parameters get copies of their defaults", () => {
  const config = resolveTaskConfig("basic_arithmetic", { max_terms: 3 });
  assert.equal(config["max_terms"], 3);
  assert.equal(config["min_terms"], 2);
  (config["operators"] as string[]).push("%");
  assert.deepEqual(resolveTaskConfig("basic_arithmetic", {})["operators"], ["+", "-", "*", "/"]);
});

Deno.test("an entry that does not name a known task can not be scored", () => {
  assert.throws(() => scoreAnswer("1", { answer: "1" }), RgxError);
  assert.throws(
    () => scoreAnswer("1", { metadata: { source_dataset: "nothing" } }),
    /unknown task/,
  );
});

Deno.test("curriculum levels out of range and unknown attributes are refused", () => {
  const task = getTask("chain_sum");
  const at = (levels: Record<string, number>) => () => curriculumConfig(task, levels);
  assert.throws(at({ num_terms: 11 }), /levels .* are 0 to 10, found 11/);
  assert.throws(at({ num_term: 1 }), /did you mean num_terms\?/);
  assert.throws(at({ "*": -1 }), /at least 0, found -1/);
  assert.throws(() => curriculumConfig(getTask("gsm_symbolic"), {}), /no difficulty levels/);
});

Deno.test("a level for all attributes, and another one for a named attribute", () => {
  const task = getTask("chain_sum");
  const limits = (levels: Record<string, number>) => {
    const { min_terms, max_terms, min_digits, max_digits } = curriculumConfig(task, levels);
    return [min_terms, max_terms, min_digits, max_digits];
  };
  assert.deepEqual(limits({}), [2, 2, 1, 1]);
  assert.deepEqual(limits({ "*": 3, num_digits: 1 }), [2, 5, 1, 2]);
  assert.deepEqual(limits({ "*": 99 }), [2, 12, 1, 10]);
});

Deno.test("a level beyond a field's bound is clamped and reported", () => {
  const task = toyTask("toy_clamped");
  task.params = { min_n: int(1, "smallest", { min: 1 }), max_n: int(5, "largest", { max: 8 }) };
  task.curriculum = [
    { name: "n", levels: [2, 20], lowerField: "min_n", upperField: "max_n", description: "n" },
  ];
  const notes: string[] = [];
  const onClamp = (note: string) => notes.push(note);
  assert.deepEqual(curriculumConfig(task, { n: 1 }, { onClamp }), { min_n: 2, max_n: 8 });
  assert.deepEqual(notes, ["max_n: 20 is above its maximum, 8 is used"]);
});
