/** Recipes of open-r1: what their names of rewards mean, and what is refused. */
import assert from "node:assert/strict";
import { assertErrorsMatch, assertLoads, errorsOf, load } from "../testing.ts";

const DATA = { "d.jsonl": '{"problem": "1 + 1 =", "solution": "$2$"}\n' };
const RECIPE = "model_name_or_path: m\ndataset_name: d.jsonl\ndataset_prompt_column: problem\n";

const rewards = async (yaml: string, overrides: readonly string[] = []) => {
  const { config, notes } = await load(yaml, { overrides }, DATA);
  return { notes, rewards: config.rewards.map(({ name, params }) => [name, params]) };
};

Deno.test("the rewards of a recipe are open-r1's, with its keys as their parameters", async () => {
  const { rewards: found, notes } = await rewards(
    RECIPE + "reward_funcs: [accuracy, cosine, repetition_penalty, length, code_format,\n" +
      "  soft_overlong_punishment, reasoning_steps]\ncosine_max_len: 500\n" +
      "cosine_max_value_wrong: -1\nrepetition_n_grams: 2\ncode_language: cpp\n" +
      "soft_punish_cache: 64\n",
  );
  const correct = { min_value_correct: 0.5, max_value_correct: 1 };
  assert.deepEqual(found, [
    ["accuracy_reward", {}],
    ["open_r1_cosine", { max_len: 500, min_value_wrong: 0, max_value_wrong: -1, ...correct }],
    ["open_r1_repetition_penalty", { ngram_size: 2, max_penalty: -1 }],
    ["open_r1_length", {}],
    ["open_r1_code_format", { language: "cpp" }],
    // open-r1's own default of the longest completion.
    ["soft_overlong", { max_completion_len: 16384, soft_punish_cache: 64 }],
    ["open_r1_reasoning_steps", {}],
  ]);
  assert.equal(notes.length, 1);
  assert.match(notes[0]!, /^f\.yaml:4:15: reward_funcs: the names are open-r1's: accuracy is accu/);
});

Deno.test("names are open-r1's only in a file of open-r1", async () => {
  const names = async (yaml: string) => (await rewards(yaml)).rewards.map(([name]) => name);
  const start = "model: m\ntask: chain_sum\n";
  const rgx = ["correctness", "format_answer"];
  assert.deepEqual(await names(start + "reward_funcs: [accuracy, format]\n"), rgx);
  assert.deepEqual(await names(RECIPE + "rewards: [accuracy, format]\n"), rgx);
  const openR1 = ["accuracy_reward", "open_r1_format"];
  assert.deepEqual(await names(RECIPE + "reward_funcs: [accuracy, format]\n"), openR1);
  const all = [...openR1, "open_r1_tag_count"];
  assert.deepEqual(await names(start + "reward_funcs: [accuracy, format, tag_count]\n"), all);
  const [error] = await errorsOf(start + "rewards: [tag_count]\n");
  assert.match(error!, /"tag_count" has two meanings: write open_r1_tag_count .* or rg_tag_count/);
});

Deno.test("a parameter without its reward is noted", async () => {
  const recipe = RECIPE + "reward_funcs: [accuracy]\ncosine_max_len: 9\n";
  assert.match((await rewards(recipe)).notes.join("\n"), /cosine_max_len: .* does not name cosine/);
  const replaced = await rewards(recipe, ["rewards=[correctness]"]);
  assert.match(replaced.notes.join("\n"), /cosine_max_len: accepted, has no effect/);
  assert.deepEqual(replaced.rewards, [["correctness", { binary: false }]]);
  const { notes } = await rewards(RECIPE + "rewards: [correctness]\ncosine_max_len: 9\n");
  assert.match(notes[0]!, /f\.yaml:5:17: cosine_max_len: .*beside the reward's name/);
});

Deno.test("what open-r1 does and rgx does not is refused with its line", async () => {
  const refused: readonly [yaml: string, expected: RegExp][] = [
    ["reward_funcs: [code, format]", /f\.yaml:4:16: rewards\.0: there is no reward "code": .*net/],
    ["reward_funcs: [cf_code]", /rewards\.0: there is no reward "cf_code"/],
    [
      "reward_funcs: [repetition_penalty]\nrepetition_max_penalty: 1",
      /f\.yaml:5:25: rewards\.0\.max_penalty: must be at most 0/,
    ],
    ["reward_funcs: [cosine]\ncosine_max_len: long", /f\.yaml:5:17: .*max_len: .*integer/],
  ];
  await assertErrorsMatch(refused, RECIPE, DATA);
  const quiet = "reward_funcs: [accuracy_reward]\nbenchmarks: []\ncode_provider: e2b\n";
  const plain = RECIPE.replace(/dataset_prompt_column.*\n/, "");
  assert.deepEqual((await rewards(plain + quiet)).notes, []);
  const { config } = await load(plain + quiet + "hub_model_revision: v1\n", {}, DATA);
  assert.equal(config.training.hub_revision, "v1");
  const around = "benchmarks: [math_500]\ncallbacks: [push_to_hub_revision]\n" +
    "push_to_hub_revision: true\n";
  const { notes } = await rewards(RECIPE + "reward_funcs: [accuracy_reward]\n" + around);
  assert.match(notes[0]!, /^f\.yaml:5:1: benchmarks: accepted, has no effect in rgx; rgx bench/);
  assert.match(notes[1]!, /callbacks: .*hub_strategy: every_save/);
  assert.match(notes[2]!, /push_to_hub_revision: .*push_to_hub: true/);
});

Deno.test("a mixture of one data set is that data set, and a larger one is refused", async () => {
  const start = "model: m\nreward_funcs: [accuracy, tag_count]\n";
  const one = "datasets: [{id: d.jsonl, columns: [problem, solution], weight: 1.0}], seed: 0";
  await assertLoads(
    `
dataset_mixture: {${one}, test_split_size: 0.25}
  data.dataset_name: d.jsonl, data.train_ratio: 0.75
dataset_mixture: {datasets: [{id: d.jsonl, split: 'train[:9]'}]}
  data.dataset_train_split: "train[:9]"
`,
    start,
    DATA,
  );
  const refused: readonly [inside: string, expected: RegExp][] = [
    ["datasets: [{id: d.jsonl}, {id: e.jsonl}]", /:3:\d+: dataset_mixture: .*join the files/],
    ["datasets: [{id: d.jsonl, weight: 0.5}]", /weight: all rows are read; max_examples/],
    ["datasets: [{id: d.jsonl, split: 'train['}]", /:3:51: data\.dataset_train_split: "train\["/],
    ["datasets: [{config: a}]", /id, the name of the data set, is missing/],
    [`${one}, test_split_size: 2`, /test_split_size: expected a share/],
    [`${one}, test: 2`, /unknown key test \(known: datasets, seed/],
  ];
  await assertErrorsMatch(
    refused.map(([inside, says]) => [`dataset_mixture: {${inside}}`, says]),
    start,
    DATA,
  );
});
