/** The YAML file of `rgx eval` in both styles. */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import type { UsageError } from "../../core/errors.ts";
import { readEvalConfig } from "./eval_config.ts";

/** One message says all of this, and it is a mistake of the user. */
const refused = (reading: Promise<unknown>, ...patterns: RegExp[]) =>
  assert.rejects(reading, ({ message, exitCode }: UsageError) => {
    assert.equal(exitCode, 2);
    for (const pattern of patterns) assert.match(message, pattern);
    return true;
  });

async function read(yaml: string) {
  return await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/eval.yaml`, yaml);
    return await readEvalConfig(`${folder}/eval.yaml`);
  });
}

Deno.test("the style for a local model: repeats, developer prompt, full scores only", async () => {
  const { options, saveMetadata } = await read(`
model_path: ../utils/qwen3b_500
max_tokens: 2048
top_p: 0.9
temperature: 0.6
dtype: bfloat16
developer_prompt: DeepSeekZero
developer_role: system
chat_template_kwargs: { enable_thinking: false }
output_dir: results
save_metadata: true
eval_repeats: 3
categories:
  - category: algorithmic
    datasets:
      - dataset: spell_backward
        size: 100
        params: { min_word_len: 3 }
      - dataset: letter_jumble
        size: 50
        seed: 7
  - category: harder
    datasets:
      - dataset: spell_backward
        min_word_len: 8
        max_word_len: 9
      - chain_sum
`);
  assert.deepEqual(options.models, ["../utils/qwen3b_500"]);
  assert.deepEqual(options.sampling, {
    temperature: 0.6,
    top_p: 0.9,
    max_new_tokens: 2048,
    samples: 3,
  });
  assert.deepEqual(options.prompt, {
    system_prompt: "DeepSeekZero",
    system_role: "system",
    add_instructions: false,
    chat_template_kwargs: { enable_thinking: false },
  });
  assert.ok(saveMetadata);
  const tasks = options.tasks.map((task) => typeof task === "string" ? { name: task } : task);
  assert.equal(
    tasks.map(({ label }) => label).join(),
    "algorithmic_spell_backward,letter_jumble,harder_spell_backward,chain_sum",
  );
  assert.deepEqual(tasks[2]!.parameters, { min_word_len: 8, max_word_len: 9 });
  assert.deepEqual(tasks.map(({ size }) => size), [100, 50, undefined, undefined]);
  assert.deepEqual(tasks.map(({ seed }) => seed), [undefined, 7, undefined, undefined]);
  assert.ok(tasks.every(({ binary }) => binary === true));
  assert.equal(options.numExamples, 500);
});

Deno.test("the style for a remote model has other defaults; models may have prompts", async () => {
  const { options } = await read(`
model: meta-llama/llama-3.3-70b-instruct
provider: Hyperbolic
base_url: http://localhost:9/v1
max_concurrent: 4
default_size: 20
default_seed: 45
models:
  - openai:other
  - { name: mine, system_prompt: direct }
  - { name: base, system_prompt: null }
  - { name: other, system_prompt: "" }
categories:
  - category: arithmetic
    datasets: [chain_sum]
`);
  const remote = ["openai:meta-llama/llama-3.3-70b-instruct", "openai:other"];
  assert.deepEqual(options.models, [...remote, "mine", "base", "other"]);
  assert.deepEqual(options.systemPrompts, { mine: "direct", base: null, other: null });
  assert.deepEqual(options.sampling, { temperature: 0.6, top_p: 0.95, max_new_tokens: 32768 });
  assert.deepEqual(options.prompt, { system_prompt: "default", add_instructions: false });
  assert.deepEqual(options.remote, {
    baseUrl: "http://localhost:9/v1",
    concurrency: 4,
    provider: "Hyperbolic",
  });
  assert.deepEqual([options.seed, options.numExamples], [45, 20]);
  assert.equal((options.tasks[0] as { binary: boolean }).binary, false);
});

test.inFolder("models and files may be in the folder of the description", async (folder) => {
  await Deno.mkdir(`${folder}/mine`);
  await Deno.writeTextFile(`${folder}/sums.jsonl`, "");
  await Deno.writeTextFile(
    `${folder}/eval.yaml`,
    `
models: [{ name: mine, system_prompt: direct }, other]
categories: [{ category: x, datasets: [{ dataset: file, path: sums.jsonl }] }]
`,
  );
  const { options } = await readEvalConfig(`${folder}/eval.yaml`);
  assert.deepEqual(options.models, [`${folder}/mine`, "other"]);
  assert.deepEqual(options.systemPrompts, { [`${folder}/mine`]: "direct" });
  assert.equal((options.tasks[0] as { path: string }).path, `${folder}/sums.jsonl`);
  // The command line names the tasks of a file that has only models.
  await Deno.writeTextFile(
    `${folder}/eval.yaml`,
    "models: [{ name: mine, system_prompt: direct }]",
  );
  await assert.rejects(readEvalConfig(`${folder}/eval.yaml`), /categories: missing/);
  assert.deepEqual(
    (await readEvalConfig(`${folder}/eval.yaml`, { tasksElsewhere: true })).options.tasks,
    [],
  );
});

Deno.test("a configuration of training is refused with its command", async () => {
  await assert.rejects(
    read("model: a\ntraining: { max_steps: 3 }\nrewards: [correctness]\n"),
    /eval\.yaml:2:1: training: this is a configuration of training/,
  );
});

Deno.test("all mistakes are reported together, with lines and the nearest names", async () => {
  await refused(
    read(`
model_path: a
temprature: 1
max_tokens: many
system_prompt_id: defualt
top_p: 0
eval_repeats: 0
output_dir: 2024
dtype: bflaot16
chat_template_kwargs: thinking
categories:
  - category: x
    datasets:
      - dataset: chainsum
      - dataset: chain_sum
        min_terms: 0
        size: -3
      - { dataset: chain_sum, params: 5, path: sums.jsonl }
      - dataset:
`),
    /eval\.yaml:3:1: temprature: unknown key, did you mean temperature\?/,
    /:4:13: max_tokens: expected an integer ≥ 1, found text "many"/,
    /:5:19: system_prompt_id: unknown system prompt, did you mean default\?/,
    /:6:8: top_p: expected a number > 0 and ≤ 1, found 0/,
    /:7:15: eval_repeats: expected an integer ≥ 1 and ≤ 4096, found 0/,
    /:8:13: output_dir: expected text, found 2024; put it in quotes/,
    /:9:8: dtype: expected auto, float32, .* float or half, found text "bflaot16"/,
    /:10:23: chat_template_kwargs: expected a map, found text "thinking"/,
    /:14:18: categories\.0\.datasets\.0\.dataset: unknown task "chainsum", did you mean chain_sum\?/,
    /:16:9: categories\.0\.datasets\.1: .*min_terms/,
    /:17:15: categories\.0\.datasets\.1\.size: expected an integer ≥ 1, found -3/,
    /:18:39: categories\.0\.datasets\.2\.params: expected a map, found 5/,
    /:18:42: categories\.0\.datasets\.2\.path: only data sets have one/,
    /:19:9: categories\.0\.datasets\.3\.dataset: missing/,
  );
  await assert.rejects(read("model_path: a\n"), /categories: missing/);
  await assert.rejects(read("model_path: a\ncategories: []\n"), /:2:13: categories: empty, exp/);
  const one = (inside: string) => read(`model_path: a\ncategories: [{ category: x${inside} }]\n`);
  await assert.rejects(one(""), /:2:14: categories\.0\.datasets: missing, expected a list of data/);
  await assert.rejects(one(", datasets: []"), /:2:14: categories\.0\.datasets: empty, expected a/);
  await refused(read("categories: { category: x }\n"), /expected a list, found a map$/);
  await assert.rejects(readEvalConfig("/no/such.yaml"), /cannot read \/no\/such\.yaml/);
});

Deno.test("a key that is written twice, in two spellings or places, is refused", async () => {
  await refused(
    read(`
model: a
seed: 1
default_seed: 2
eval_repeats: 2
samples: 3
categories:
  - category: x
    datasets:
      - { dataset: chain_sum, min_terms: 2, params: { min_terms: 3 } }
      - { dataset: chain_sum, parms: { min_terms: 3 } }
      - { dataset: gcd, sede: 3, min_number: 4 }
  - { name: y, datasets: [gcd] }
`),
    /:4:1: default_seed: the same as seed, which is given at .*eval\.yaml:3:1/,
    /:5:1: eval_repeats: the same as samples, which is given at .*eval\.yaml:6:1/,
    /:10:31: categories\.0\.datasets\.0\.min_terms: also in params/,
    /:11:31: categories\.0\.datasets\.1\.parms: unknown key, did you mean params\?/,
    /:12:25: categories\.0\.datasets\.2\.sede: unknown key, did you mean seed\?/,
    /:12:34: categories\.0\.datasets\.2: min_number: unknown field of task gcd, did you mean min_numbers\?/,
    /:13:7: categories\.1\.name: unknown key, expected category or datasets/,
  );
});

test.inFolder("a file has bases and variables, as configurations of training have", async (folder) => {
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder}/${name}`, text);
  await write(
    "base.yaml",
    "model_path: a\ntemperature: 0.6\ndtype: bfloat16\nmax_tokens: ${oc.env:RGX_NO_SUCH,9}\n" +
      "categories: [{ category: x, datasets: [{ dataset: gcd, size: 3 }] }]\n",
  );
  await write(
    "eval.yaml",
    "_base_: base.yaml\ntemperature: 1\noutput_dir: r/{{ fileBasenameNoExtension }}\n" +
      "system_prompt: Be short.\nsystem_prompt_id: simple\n",
  );
  const { options, notes } = await readEvalConfig(`${folder}/eval.yaml`);
  assert.deepEqual(options.models, ["a"]);
  assert.deepEqual(options.sampling, { temperature: 1, max_new_tokens: 9 });
  assert.equal(options.outputDir, "r/eval");
  assert.deepEqual(notes.map((note) => note.replace(/^.*\//, "")), [
    "eval.yaml:5:1: system_prompt_id: no effect beside system_prompt",
    "base.yaml:3:1: dtype: no effect: weights stay as they are stored, products are in float32",
  ]);
  const refuse = (text: string, message: RegExp) =>
    write("eval.yaml", text).then(() =>
      assert.rejects(readEvalConfig(`${folder}/eval.yaml`), message)
    );
  await refuse("_base_: none.yaml\n", /eval\.yaml:1:9: _base_: no such file: none\.yaml/);
  await refuse("_base_: eval.yaml\n", /eval\.yaml:1:9: _base_: leads back to itself/);
  await refuse("_base_: base.yaml\nmodel: ${nowhere}\n", /eval\.yaml:2:8: model: .*nowhere/);
  await refuse("_base_: base.yaml\ntop_p: 2\n", /^.*eval\.yaml:2:8: top_p: expected [^\n]*$/);
});

test.inFolder("one category of a file can be chosen", async (folder) => {
  const path = `${folder}/eval.yaml`;
  await Deno.writeTextFile(
    path,
    "model: a\ncategories:\n" +
      "  - { category: algebra, datasets: [gcd] }\n  - { category: words, datasets: [gcd, ab] }\n",
  );
  const { options } = await readEvalConfig(path, { category: "words" });
  assert.deepEqual(options.tasks.map((task) => (task as { label: string }).label), ["gcd", "ab"]);
  await assert.rejects(
    readEvalConfig(path, { category: "word" }),
    /eval\.yaml:3:3: categories: none is named "word", did you mean words\? \(algebra, words\)/,
  );
});

Deno.test("an embedded evaluation is found by its name, unless there is a file", async () => {
  for (const name of ["eval_algorithmic_composite", "rgx:eval_algorithmic_composite.yaml"]) {
    const { options } = await readEvalConfig(name);
    assert.deepEqual(options.models, ["experiments/algorithmic_qwen_3b"]);
    assert.equal(options.tasks.length, 12);
    assert.equal(options.sampling?.samples, 3);
    assert.equal(options.prompt?.system_prompt, "DeepSeekZero");
  }
  await assert.rejects(
    readEvalConfig("eval_algoritmic_composite"),
    (error: UsageError) =>
      /cannot read .*, did you mean eval_algorithmic_composite\?/.test(error.message) &&
      error.advice === "embedded evaluations: eval_algorithmic_composite",
  );
});

test.inFolder("environments, tools and limits have the keys of training", async (folder) => {
  await Deno.writeTextFile(`${folder}/game.ts`, "export default { step: () => 'on' };");
  await Deno.writeTextFile(
    `${folder}/eval.yaml`,
    `models: [m]
environment: game.ts
tools: []
multi_turn: { max_assistant_turns: 3, on_parse_error: { retry: { max: 2 } } }
max_tool_calling_iterations: 4
`,
  );
  const { options } = await readEvalConfig(`${folder}/eval.yaml`);
  const { environment, tools, limits } = options.dialogues!;
  assert.deepEqual(options.tasks, [], "the environment makes the problems");
  assert.deepEqual([environment!.path?.endsWith("game.ts"), environment!.sha256?.length], [
    true,
    64,
  ]);
  assert.deepEqual(tools, []);
  assert.equal(limits!.max_assistant_turns, 3);
  assert.equal(limits!.max_tool_calling_iterations, 4);
  const { on_parse_error: rule } = limits!;
  assert.equal(rule !== "end" && rule!.retry.max, 2);
  const game = await read("models: [m]\nenvironment: n_queens\n");
  assert.deepEqual([game.options.tasks, game.options.dialogues], [[], {
    environment: { name: "n_queens" },
  }]);
  // A null takes away what the run of a model had.
  const none = await read(
    "models: [m]\nenvironment: null\nmax_tool_calling_iterations: null\n" +
      "categories: [{datasets: [chain_sum]}]",
  );
  assert.deepEqual(none.options.dialogues, {
    environment: null,
    limits: { max_tool_calling_iterations: null },
  });
  await refused(
    read(
      "models: [m]\nenvironment: second_try\nmulti_turn: {max_turn: 2}\n" +
        "categories: [{datasets: [chain_sum]}]",
    ),
    /:2:14: environment: no environment "second_try", did you mean/,
    /:3:14: multi_turn\.max_turn: unknown key, did you mean max_/,
  );
});
