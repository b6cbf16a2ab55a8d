/** Several tasks in one configuration, and the curriculum: all spellings, and what is refused. */
import assert from "node:assert/strict";
import type { RunConfig } from "./schema/run_config.ts";
import { assertOneError, errorsOf, load } from "./testing.ts";

const HEAD = "model: m\nrewards: [correctness]\n";
const MIX: RunConfig["data"]["tasks"] = [
  { task_name: "chain_sum", weight: 2, config: { max_terms: 3 } },
  { task_name: "leg_counting", weight: 1, config: {} },
];
const FILE = { "f.jsonl": '{"question": "a"}\n' };
const LIST = "[{task_name: chain_sum, weight: 2, config: {max_terms: 3}}, leg_counting]";
const MAP = "{chain_sum: {weight: 2, config: {max_terms: 3}}, leg_counting: {}}";

Deno.test("a mixture is the same in every spelling, and when loaded again", async () => {
  const spellings = [
    `data: {tasks: ${LIST}}`,
    `data: {task_name: composite, tasks: ${LIST}}`,
    `data.tasks: ${MAP}`,
    `reasoning_gym: {dataset_size: 2048, datasets: ${MAP}}`,
    `datasets: ${MAP}`,
    "tasks: [{name: chain_sum, weight: 2, params: {max_terms: 3}}, {dataset: leg_counting}]",
    `task: composite\ntask_config: {datasets: ${LIST.replace("task_name", "name")}}`,
  ];
  for (const spelling of spellings) {
    const { config, yaml } = await load(`${HEAD}${spelling}\n`);
    assert.deepEqual(config.data.tasks, MIX, spelling);
    assert.deepEqual((await load(yaml)).config, config, spelling);
  }
});

Deno.test("a map of tasks is merged with the base's; an override sets one weight", async () => {
  const files = { "base.yaml": `${HEAD}data: {tasks: ${MAP}}\n` };
  const overrides = ["data.tasks.leg_counting.weight=5"];
  const text = "_base_: base.yaml\ndata: {tasks: {spell_backward: {weight: 3}}}\n";
  const { config } = await load(text, { overrides }, files);
  assert.deepEqual(config.data.tasks?.map(({ task_name, weight }) => [task_name, weight]), [
    ["chain_sum", 2],
    ["leg_counting", 5],
    ["spell_backward", 3],
  ]);
});

Deno.test("what is wrong with a mixture is said where it stands", async () => {
  const wrong: [string, RegExp][] = [
    ["tasks: []", /3:8: data\.tasks: expected at least one task/],
    ["tasks: [chain_sun]", /3:9: data\.tasks\.0: unknown task "chain_sun".*chain_sum/],
    ["tasks: [chain_sum, chain_sum]", /chain_sum is there twice/],
    ["tasks: [composite]", /data\.tasks\.0: composite is made of tasks/],
    ["tasks: [{weight: 1}]", /data\.tasks\.0: expected one task_name, found none/],
    ["tasks: {chain_sum: {wieght: 1}}", /tasks\.chain_sum\.wieght: unknown key, did you mean weig/],
    ["tasks: {chain_sum: {weight: 0}}", /chain_sum\.weight: expected a number > 0, found 0/],
    ["tasks: {chain_sum: {config: {max_term: 3}}}", /tasks\.0\.config\.max_term: unknown field/],
    ["tasks: [chain_sum]\ntask: leg_counting", /leg_counting beside data\.tasks: write task_name/],
    [
      "tasks: [chain_sum]\ntask_config: {a: 1}",
      /several tasks have their parameters in data\.tasks/,
    ],
    ["tasks: [chain_sum]\ndataset_name: f.jsonl", /either from a task .* or from a file/],
    ["task: composite", /a composite needs its tasks: data\.tasks/],
    ["tasks: [chain_sum]\nmax_examples: 3", /first rows of a file/],
  ];
  await assertOneError(wrong, HEAD, FILE);
});

Deno.test("a curriculum has reasoning-gym's keys and defaults; off it is null", async () => {
  const { config, yaml } = await load(
    HEAD + "task: chain_sum\ncurriculum:\n  enabled: true\n  schedule: {automatic: true}\n" +
      '  curricula: {chain_sum: {attribute_levels: {"*": 1, num_terms: 2}}}\n',
  );
  assert.deepEqual(config.curriculum, {
    enabled: true,
    schedule: { automatic: true, update_steps: 30 },
    last_k: 20,
    success_threshold: 0.7,
    failure_threshold: 0.1,
    curricula: { chain_sum: { attribute_levels: { "*": 1, num_terms: 2 }, weight: 1 } },
  });
  assert.deepEqual((await load(yaml)).config, config);
  const off = await load(HEAD + "task: chain_sum\ncurriculum: {last_k: 5}\n");
  assert.equal(off.config.curriculum, null);
});

Deno.test("a curriculum alone names the tasks of a run, with their weights", async () => {
  const { config } = await load(
    HEAD + "curriculum: {enabled: true, curricula: {chain_sum: {weight: 2}, spell_backward: {}}}\n",
  );
  assert.deepEqual(config.data.tasks?.map(({ task_name, weight }) => [task_name, weight]), [
    ["chain_sum", 2],
    ["spell_backward", 1],
  ]);
});

Deno.test("a parameter that the levels replace is noted", async () => {
  const { notes } = await load(
    HEAD + "task: chain_sum\ntask_config: {max_terms: 3}\ncurriculum: {enabled: true}\n",
  );
  assert.ok(notes.some((note) => /sets max_terms of chain_sum \(attribute num_terms\)/.test(note)));
});

Deno.test("what is wrong with a curriculum is said", async () => {
  const wrong: [string, RegExp][] = [
    ["curricula: {leg_countin: {}}", /curricula\.leg_countin: unknown task/],
    ["curricula: {leg_counting: {}}", /not a task of this run.*chain_sum/],
    ["curricula: {chain_sum: {attribute_levels: {terms: 1}}}", /no attribute of chain_sum/],
    [
      "curricula: {chain_sum: {attribute_levels: {num_terms: 99}}}",
      /expected a level of 0 to 10, found 99/,
    ],
    ["success_threshold: 0.05", /0\.1 is above success_threshold 0\.05/],
    ["last_k: 0", /expected an integer ≥ 1, found 0/],
  ];
  const sources: typeof wrong = [
    ["task: gsm_symbolic", /none of the run's tasks has levels: gsm_symbolic/],
    ["task: chain_sun", /did you mean chain_sum\?$/],
    ["dataset_name: f.jsonl", /the problems of a file have no levels/],
  ];
  const on = "curriculum: {enabled: true";
  await assertOneError(
    [
      ...wrong.map(([text, says]) => [`task: chain_sum\n${on}, ${text}}`, says] as const),
      ...sources.map(([text, says]) => [`${text}\n${on}}`, says] as const),
    ],
    HEAD,
    FILE,
  );
});

Deno.test("parameters of another task: the error says how to drop them", async () => {
  const base = "data: {task_name: spell_backward, task_config: {max_word_len: 4}}\n";
  const files = { "base.yaml": `${HEAD}${base}` };
  const child = "_base_: base.yaml\ndata: {task_name: chain_sum}\n";
  assert.match((await errorsOf(child, {}, files))[0]!, /; task_config: \{_delete_: true\} takes/);
  const overrides = ["task_name=chain_sum"];
  assert.match((await errorsOf(HEAD + base, { overrides }))[0]!, /; ~data\.task_config takes away/);
  const { config } = await load(HEAD + base, { overrides: [...overrides, "~data.task_config"] });
  assert.deepEqual([config.data.task_name, config.data.task_config], ["chain_sum", {}]);
  const typo = await errorsOf(HEAD + base.replace("max_word_len", "max_wrd_len"));
  assert.match(typo[0]!, /did you mean max_word_len\?[^;]*$/);
});
