/**
 * A benchmark of a checkpoint on its run's held-out problems gives the run's own evaluation, item
 * by item.
 */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { MULTI_TURN } from "../configs/schema/multi_turn_keys.ts";
import { renderYaml } from "../configs/to_yaml.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { assemble } from "../training/assemble.ts";
import { evaluate } from "../training/evaluation/before_and_after.ts";
import { runPrompts } from "./evaluation/prompt_encoder.ts";
import { tinyRunConfig, trainOn } from "../training/testing.ts";
import { tinyModelFolder } from "../training/tiny_model_testing.ts";
import { planModels } from "./plan/model_plan.ts";
import type { ModelResult } from "./results/result_file.ts";
import { collected } from "./testing.ts";

const LORA = {
  r: 4,
  lora_alpha: 8,
  lora_dropout: 0,
  target_modules: "all-linear",
  use_rslora: false,
};

test.inFolder("a benchmark and eval_after agree on every problem, sampled and greedy", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  await tinyModelFolder(`${folder}/base`);
  const run = `${folder}/run`;
  const config = tinyRunConfig(run, {
    model: { model_name_or_path: `${folder}/base`, init: null },
    lora: LORA,
    eval: { num_examples: 20, temperature: null, batch_size: 7 },
    training: {
      learning_rate: 0.02,
      repetition_penalty: 1.2,
      min_new_tokens: 2,
      stop: ["a", "e"],
    },
  });
  const configText = renderYaml(config, {}, new Map());
  const { summary } = await trainOn(device, config, { configText });
  assert.ok(summary.eval_after !== null && summary.eval_before !== null);
  const items = await itemsOf(config, run, device);

  const { data, eval: own, training } = config;
  const common = {
    models: [run],
    tasks: [{ name: data.task_name!, parameters: data.task_config }],
    numExamples: own.num_examples,
    seed: data.seed,
    samplingSeed: training.seed,
    device,
    // Prompts and lengths come from the run's own configuration.
    prompt: {},
  };
  const ask = (temperature: number, outputDir: string) =>
    collected({
      ...common,
      outputDir,
      sampling: { temperature, top_p: training.top_p, top_k: training.top_k },
    });
  const sampled = await ask(training.temperature, `${folder}/sampled`);
  const greedy = await ask(0, `${folder}/greedy`);
  const task = data.task_name!;
  for (
    const [done, expected, asked] of [
      [sampled, summary.eval_after, items.sampled],
      [greedy, summary.eval_after.greedy, items.greedy],
    ] as const
  ) {
    const result = done.result.tasks[task]!.models[run]!;
    assert.equal(result.prompt.from, "checkpoint");
    assert.equal(result.prompt.add_instructions, false);
    assert.deepEqual(numbers(result), numbers(expected));
    assert.deepEqual(
      result.examples.map(({ question, completion, extracted, score, truncated }) => ({
        question,
        completion,
        extracted,
        score,
        truncated,
      })),
      asked,
    );
  }
  const models = sampled.result.tasks[task]!.models;
  assert.deepEqual(Object.keys(models), [run, `${folder}/base`]);
  assert.equal(models[run]!.overlap, 0);
  assert.notDeepEqual(
    models[run]!.examples.map(({ completion }) => completion),
    models[`${folder}/base`]!.examples.map(({ completion }) => completion),
  );
  // The base of two runs is asked with the prompts of the first; a note says so.
  const second = `${folder}/second`;
  await Deno.mkdir(second);
  for (const { name, isFile } of Deno.readDirSync(run)) {
    if (isFile) await Deno.copyFile(`${run}/${name}`, `${second}/${name}`);
  }
  const text = await Deno.readTextFile(`${run}/config.yaml`);
  await Deno.writeTextFile(
    `${second}/config.yaml`,
    text.replace("add_instructions: false", "add_instructions: true"),
  );
  const two = { ...common, outputDir: `${folder}/two`, models: [run, second], numExamples: 2 };
  const both = JSON.stringify((await collected(two)).events);
  assert.match(both, /"[^ ]*second and [^ ]*base, from which .* asked with different prompts"/);
  assert.doesNotMatch(both, /run and [^ ]*base, from which/);
  const without = await collected({
    ...common,
    outputDir: `${folder}/without`,
    includeBase: false,
  });
  assert.deepEqual(Object.keys(without.result.average), [run]);
  const goesOn = () =>
    collected({
      ...common,
      includeBase: false,
      resume: true,
      outputDir: `${folder}/without`,
    });
  assert.equal((await goesOn()).evaluated, 0);
  await Deno.utime(`${folder}/base/model.safetensors`, 1, 1);
  assert.equal((await goesOn()).evaluated, 20, "the base of the adapter is another now");

  // The file of a reward may be gone; the prompts are still those of the run.
  await Deno.writeTextFile(
    `${run}/config.yaml`,
    text.replace(/^rewards:\n(?: .*\n)+/m, "rewards: [{path: gone.ts}]\n"),
  );
  const again = await collected({ ...common, outputDir: `${folder}/again`, numExamples: 2 });
  assert.equal(again.result.tasks[task]!.models[run]!.prompt.from, "checkpoint");
});

test.inFolder("a benchmark plays the dialogues of the run's own evaluation", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  const config = tinyRunConfig(`${folder}/run`, {
    environment: { name: "second_tries" },
    multi_turn: { ...defaultsOf(MULTI_TURN), max_turn_tokens: 4 },
    eval: { num_examples: 12, temperature: null, batch_size: 7 },
    training: { max_steps: 1, max_completion_length: 60, stop: [..."abcdefghi "] },
  });
  const { summary } = await trainOn(device, config, {
    configText: renderYaml(config, {}, new Map()),
  });
  const ask = async (dialogues?: null) => {
    const done = await collected({
      models: [config.training.output_dir],
      includeBase: false,
      tasks: [{ name: config.data.task_name!, parameters: config.data.task_config }],
      numExamples: 12,
      seed: config.data.seed,
      samplingSeed: config.training.seed,
      sampling: { temperature: config.training.temperature },
      prompt: {},
      device,
      outputDir: `${folder}/${dialogues}`,
      ...(dialogues === undefined ? {} : { dialogues }),
    });
    return done.result.tasks[config.data.task_name!]!.models[config.training.output_dir]!;
  };
  const played = await ask(), { dialogues } = played;
  assert.deepEqual(numbers(played), numbers(summary.eval_after!));
  assert.deepEqual(dialogues!.with, ["second_tries"]);
  assert.ok(dialogues!.answers > 1);
  assert.equal((await ask(null)).dialogues, undefined);
});

test.inFolder("a benchmark uses the run's tokenizer and weight types", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  const [base, tokenizer, run] = ["base", "tokenizer", "run"].map((name) => `${folder}/${name}`);
  for (const place of [base!, tokenizer!]) await tinyModelFolder(place);
  const template = "{% for m in messages %}{{ m['content'] }}{% endfor %} =";
  await Deno.writeTextFile(`${tokenizer}/chat_template.jinja`, template);
  const config = tinyRunConfig(run!, {
    model: {
      model_name_or_path: base!,
      init: null,
      tokenizer_name_or_path: tokenizer!,
      dtype: "bfloat16",
    },
    lora: LORA,
    eval: { num_examples: 6, temperature: 1, batch_size: 7 },
    sft: null,
    training: { max_steps: 1 },
  });
  const configText = renderYaml(config, {}, new Map());
  const { summary } = await trainOn(device, config, { configText });
  const { data, training } = config;
  const done = await collected({
    models: [run!],
    numExamples: 6,
    device,
    outputDir: `${folder}/out`,
    tasks: [{ name: data.task_name!, parameters: data.task_config }],
    seed: data.seed,
    samplingSeed: training.seed,
    prompt: {},
    sampling: { temperature: 1 },
  });
  const { models } = done.result.tasks[data.task_name!]!;
  assert.deepEqual(numbers(models[run!]!), numbers(summary.eval_after!));
  assert.deepEqual(numbers(models[base!]!), numbers(summary.eval_before!));
  assert.equal(models[base!]!.prompt.format, "chat");
  const asked = {
    seed: 1,
    includeBase: true,
    remote: { address: "", format: "chat" as const },
  };
  for (const { where } of (await planModels([run!], asked)).models) {
    const held = where.kind === "local" && where.storage;
    assert.deepEqual(held, { dtype: "bfloat16", quantize: null });
  }
  assert.doesNotMatch(JSON.stringify(done.events), /different prompts/);
});

test.inFolder("only the held-out questions of a run's file are asked, as in eval_after", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  const base = `${folder}/base`, run = `${folder}/run`, path = `${folder}/sums.jsonl`;
  await tinyModelFolder(base);
  const rows = Array.from(
    { length: 60 },
    (_, i) => `{"question": "${i} + 1", "answer": "${i + 1}"}`,
  );
  await Deno.writeTextFile(path, rows.join("\n"));
  const config = tinyRunConfig(run, {
    model: { model_name_or_path: base, init: null },
    lora: LORA,
    data: { task_name: null, task_config: {}, dataset_name: path },
    eval: { num_examples: 3, temperature: 1, batch_size: 7 },
    sft: null,
    training: { max_steps: 1 },
  });
  const { summary } = await trainOn(device, config, {
    configText: renderYaml(config, {}, new Map()),
  });
  const ask = (models: string[], outputDir: string, more = {}) =>
    collected({
      models,
      device,
      outputDir,
      tasks: [{ name: "file", path, label: "sums" }],
      samplingSeed: config.training.seed,
      prompt: {},
      sampling: { temperature: 1 },
      ...more,
    });
  const done = await ask([run], `${folder}/out`, { numExamples: 3 });
  const { models, parameters } = done.result.tasks["sums"]!, own = models[run]!;
  const lines = (await Deno.readTextFile(`${run}/eval_after.jsonl`)).trim().split("\n");
  const items = lines.map((line) => JSON.parse(line)).filter((item) => item.temperature === 1);
  assert.deepEqual(
    own.examples.map(({ question, completion, score }) => ({ question, completion, score })),
    items.map(({ question, completion, score }) => ({ question, completion, score })),
  );
  assert.deepEqual(numbers(own), numbers(summary.eval_after!));
  assert.deepEqual(numbers(models[base]!), numbers(summary.eval_before!));
  assert.deepEqual([own.overlap, parameters["split"]], [0, "test"]);
  assert.match(
    JSON.stringify(done.events),
    /3 of its 60 questions are asked, which its training/,
  );
  // No model has trained on the file, so its first problems are asked.
  const others = await ask([base], `${folder}/base_only`, { numExamples: 2 });
  assert.deepEqual(
    others.result.tasks["sums"]!.models[base]!.examples.map(({ question }) => question),
    ["0 + 1", "1 + 1"],
  );
});

function numbers(of: Omit<ModelResult, "samples" | "prompt"> | Parameters<typeof pick>[0]) {
  return pick(of);
}

function pick(
  of:
    & Pick<
      ModelResult,
      "accuracy" | "correct" | "total" | "ci95" | "mean_score" | "format_rate" | "truncated_rate"
    >
    & { mean_completion_tokens: number },
) {
  const { accuracy, correct, total, ci95, mean_score, format_rate, truncated_rate } = of;
  const { mean_completion_tokens } = of;
  return {
    accuracy,
    correct,
    total,
    ci95,
    mean_score,
    format_rate,
    truncated_rate,
    mean_completion_tokens,
  };
}

/** The items of the trainer's evaluation, with the model that the run wrote. */
async function itemsOf(
  config: ReturnType<typeof tinyRunConfig>,
  run: string,
  device: ReturnType<typeof createReferenceDevice>,
) {
  const parts = await assemble(
    { ...config, model: { ...config.model, model_name_or_path: run } },
    device,
  );
  type Item = Record<string, unknown>;
  const sampled: Item[] = [], greedy: Item[] = [];
  try {
    await evaluate(parts.problems.heldOut, {
      model: parts.model,
      prompts: runPrompts(parts.tokenizer, config, parts.eosIds),
      training: config.training,
      eval: config.eval,
      shouldStop: () => false,
      onItem: ({ temperature, question, completion, extracted, score, truncated }) =>
        void (temperature === 0 ? greedy : sampled).push({
          question,
          completion,
          extracted,
          score,
          truncated,
        }),
    });
  } finally {
    parts.model.dispose();
    await parts.rubric.close();
  }
  return { sampled, greedy };
}
