/** Keys of the prompts: whose questions they have, and the chat template. */
import assert from "node:assert/strict";
import { promptsText } from "../cli/train/train_text.ts";
import { runPromptSettings } from "../bench/evaluation/prompt_settings.ts";
import { errorsOf, load } from "./testing.ts";

const FILE = "model: weights\nrewards: [correctness]\ndataset_name: p.jsonl\n";
const FILES = {
  "p.jsonl": '{"question": "q", "answer": "1"}\n',
  "t.jinja": "{{ messages[0].content }}",
};
const TASK = FILE.replace("dataset_name: p.jsonl", "task: chain_sum");

Deno.test("the instruction is left out before questions of others, unless it is written", async () => {
  const data = async (yaml: string) => (await load(yaml, {}, FILES)).config.data;
  const cases: [string, boolean, RegExp][] = [
    [FILE, false, /^the data's own, as they are, without rgx's instruction/],
    [`${FILE}add_instructions: true\n`, true, /^the data's own, as they are, with rgx's/],
    [TASK, true, /^rgx's own questions, with rgx's instruction/],
    [`${TASK}add_instructions: false\n`, false, /^rgx's own questions, without/],
    ["model: weights\nrewards: [correctness]\ntask: gsm8k\n", false, /^the data's own/],
    [
      FILE.replace("dataset_name: p.jsonl", "tasks: [chain_sum]"),
      true,
      /^rgx's own questions, with/,
    ],
  ];
  for (const [yaml, isThere, text] of cases) {
    const found = await data(yaml);
    assert.equal(found.add_instructions, isThere, yaml);
    assert.match(promptsText(found), text);
  }
  const plain = await data(`${FILE}prompt_format: plain\n`);
  assert.match(promptsText(plain), /continued as plain text, without the chat template$/);
  assert.match(
    promptsText(await data(FILE), false),
    /continued as plain text, for the model has no/,
  );
  assert.match(promptsText(await data(FILE)), /\(data\.prompt_format=plain continues it, as TRL/);
  const errors = await errorsOf(`${FILE}prompt_format: plane\n`, {}, FILES);
  assert.match(
    errors[0]!,
    /:4:16: data\.prompt_format: expected chat or plain, found text "plane"/,
  );
  // The configuration that a run writes says the same.
  const again = await load((await load(FILE, {}, FILES)).yaml, {}, FILES);
  assert.equal(again.config.data.add_instructions, false);
});

Deno.test("a chat template is a file, under TRL's names too, or the text itself", async () => {
  const template = async (line: string) =>
    (await load(`${FILE}${line}\n`, {}, FILES)).config.model.chat_template;
  assert.equal(await template("chat_template_path: t.jinja"), "t.jinja");
  const nested = FILE.replace("model: weights", "model: { name: weights, chat_template: t.jinja }");
  assert.equal((await load(nested, {}, FILES)).config.model.chat_template, "t.jinja");
  const text = "{{ messages[0].content }}";
  assert.equal(await template(`chat_template_path: "${text}"`), text);
  assert.equal(await template(""), null);
  const missing = await errorsOf(`${FILE}chat_template_path: tt.jinja\n`, {}, FILES);
  assert.match(
    missing.join(),
    /:4:\d+: model\.chat_template: no such file: tt\.jinja .*Jinja template, or the template itself/,
  );
  const { config } = await load(
    `${FILE}chat_template_kwargs: { enable_thinking: false }\n`,
    {},
    FILES,
  );
  assert.deepEqual(config.training.chat_template_kwargs, { enable_thinking: false });
});

Deno.test("developer_role is the role of the system prompt, also in a run's benchmarks", async () => {
  const roleOf = async (yaml: string) => {
    const { config } = await load(TASK + yaml, {}, FILES);
    return [config.data.developer_role, runPromptSettings(config).system_role];
  };
  assert.deepEqual(await roleOf(""), ["system", undefined]);
  assert.deepEqual(await roleOf("developer_role: system\n"), ["system", undefined]);
  const recipe = "reasoning_gym: {developer_prompt: simple, developer_role: developer}\n";
  assert.deepEqual(await roleOf(recipe), ["developer", "developer"]);
  assert.deepEqual(await roleOf("data: {system_prompt: simple, system_role: user}\n"), [
    "user",
    "user",
  ]);
  assert.deepEqual(await errorsOf(`${TASK}developer_role: developer\n`, {}, FILES), [
    "f.yaml:4:17: data.developer_role: the role of the system prompt, and there is none: " +
    "data.system_prompt",
  ]);
  const [wrong] = await errorsOf(`${TASK}system_prompt: simple\ndeveloper_role: dev\n`, {}, FILES);
  assert.match(wrong!, /^f\.yaml:5:17: data\.developer_role: expected system, developer or user/);
});
