/**
 * A benchmark of a checkpoint on its run's held-out problems gives the run's own evaluation, item
 * by item.
 */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { MULTI_TURN } from "../configs/schema/multi_turn_keys.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { renderYaml } from "../configs/to_yaml.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import type { Device } from "../kernels/device.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { assemble } from "../training/assemble.ts";
import { evaluate } from "../training/evaluation/before_and_after.ts";
import { runPrompts } from "./evaluation/prompt_encoder.ts";
import { tinyRunConfig, trainOn } from "../training/testing.ts";
import { tinyModelFolder } from "../training/tiny_model_testing.ts";
import { planModels } from "./plan/model_plan.ts";
import type { TrainSummary } from "../training/run/events.ts";
import type { Accuracy } from "./evaluation/accuracy.ts";
import type { ExampleResult } from "./results/result_file.ts";
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
  const base = `${folder}/base`, tokenizer = `${folder}/tokenizer`, run = `${folder}/run`;
  for (const place of [base, tokenizer]) await tinyModelFolder(place);
  const template = "{% for m in messages %}{{ m['content'] }}{% endfor %} =";
  await Deno.writeTextFile(`${tokenizer}/chat_template.jinja`, template);
  const config = tinyRunConfig(run, {
    model: {
      model_name_or_path: base,
      init: null,
      tokenizer_name_or_path: tokenizer,
      dtype: "bfloat16",
    },
    lora: LORA,
    eval: { num_examples: 9, temperature: null, batch_size: 7 },
    training: {
      learning_rate: 0.02,
      repetition_penalty: 1.2,
      min_new_tokens: 2,
      stop: ["a", "e"],
    },
  });
  const summary = await trained(device, config);
  assert.ok(summary.eval_after !== null && summary.eval_before !== null);
  const items = await itemsOf(config, run, device);

  const { training, data: { task_name: task } } = config;
  const common = { ...askedAs(config), models: [run], device };
  const ask = (temperature: number, outputDir: string) =>
    collected({
      ...common,
      outputDir,
      sampling: { temperature, top_p: training.top_p, top_k: training.top_k },
    });
  const sampled = await ask(training.temperature, `${folder}/sampled`);
  const greedy = await ask(0, `${folder}/greedy`);
  for (
    const [done, expected, asked] of [
      [sampled, summary.eval_after, items.sampled],
      [greedy, summary.eval_after.greedy, items.greedy],
    ] as const
  ) {
    const result = done.result.tasks[task!]!.models[run]!;
    const { from, add_instructions, format } = result.prompt;
    assert.deepEqual([from, add_instructions, format], ["checkpoint", false, "chat"]);
    assert.deepEqual(numbers(result), numbers(expected));
    assert.deepEqual(result.examples.map(itemOf), asked);
  }
  const models = sampled.result.tasks[task!]!.models;
  assert.deepEqual(Object.keys(models), [run, base]);
  assert.equal(models[run]!.overlap, 0);
  assert.equal(models[base]!.prompt.format, "chat");
  assert.doesNotMatch(JSON.stringify(sampled.events), /different prompts/);
  const [own, before] = [run, base].map((name) => models[name]!.examples.map(itemOf));
  assert.notDeepEqual(own, before);
  const asPlanned = {
    seed: 1,
    includeBase: true,
    remote: { address: "", format: "chat" },
  } as const;
  for (const { where } of (await planModels([run], asPlanned)).models) {
    const held = where.kind === "local" && where.storage;
    assert.deepEqual(held, { dtype: "bfloat16", quantize: null });
  }
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
  const alone = { ...common, outputDir: `${folder}/without`, includeBase: false };
  assert.deepEqual(Object.keys((await collected(alone)).result.average), [run]);
  const goesOn = () => collected({ ...alone, resume: true });
  assert.equal((await goesOn()).evaluated, 0);
  await Deno.utime(`${base}/model.safetensors`, 1, 1);
  assert.equal((await goesOn()).evaluated, 9, "the base of the adapter is another now");

  // The file of a reward may be gone; the prompts are still those of the run.
  await Deno.writeTextFile(
    `${run}/config.yaml`,
    text.replace(/^rewards:\n(?: .*\n)+/m, "rewards: [{path: gone.ts}]\n"),
  );
  const again = await collected({ ...common, outputDir: `${folder}/again`, numExamples: 2 });
  assert.equal(again.result.tasks[task!]!.models[run]!.prompt.from, "checkpoint");
});

test.inFolder("a benchmark plays the dialogues of the run's own evaluation", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  const config = tinyRunConfig(`${folder}/run`, {
    environment: { name: "second_tries" },
    multi_turn: { ...defaultsOf(MULTI_TURN), max_turn_tokens: 4 },
    eval: { num_examples: 12, temperature: null, batch_size: 7 },
    training: { max_steps: 1, max_completion_length: 60, stop: [..."abcdefghi "] },
  });
  const summary = await trained(device, config);
  const ask = async (dialogues?: null) => {
    const done = await collected({
      ...askedAs(config),
      models: [config.training.output_dir],
      includeBase: false,
      sampling: { temperature: config.training.temperature },
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
  const summary = await trained(device, config);
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
  assert.deepEqual(own.examples.map(itemOf), items.map(itemOf));
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

test.inFolder("a run from a seed is compared with its first model, as in eval_before", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  const run = `${folder}/from_seed`;
  const config = tinyRunConfig(run, {
    sft: null,
    eval: { num_examples: 12, temperature: null, batch_size: 5 },
    training: { learning_rate: 0.02 },
  });
  const summary = await trained(device, config);
  assert.ok(summary.eval_before !== null);
  const { training: { temperature, top_p }, data: { task_name: task } } = config;
  const options = {
    ...askedAs(config),
    models: [run],
    sampling: { temperature, top_p },
    outputDir: `${folder}/out`,
    device,
  };
  const done = await collected(options), { models, comparisons } = done.result.tasks[task!]!;
  const base = "from_seed (untrained)";
  assert.deepEqual(Object.keys(models), [run, base]);
  assert.deepEqual(
    comparisons.map(({ first, second }) => [first, second]),
    [[base, run]],
    "a gain",
  );
  assert.deepEqual(numbers(models[base]!), numbers(summary.eval_before));
  assert.deepEqual(numbers(models[run]!), numbers(summary.eval_after!));
  assert.equal(models[base]!.prompt.from, "checkpoint");
  const isToldDifferent = /different/.test(JSON.stringify(done.events));
  assert.ok(!isToldDifferent, "it is asked as its base is");
  const again = await collected({ ...options, resume: true });
  assert.deepEqual([again.evaluated, again.resumed], [0, 24]);
  const named = await collected({ ...options, models: [`mine=${run}`], resume: true });
  assert.deepEqual(Object.keys(named.result.average), ["mine", "mine (untrained)"]);
  assert.equal(named.evaluated, 0, "the answers are those of the same models");
  const without = await collected({ ...options, includeBase: false, resume: true });
  assert.deepEqual(Object.keys(without.result.average), [run]);
});

/** The numbers that a run's evaluation and a benchmark have in common. */
function numbers(
  { accuracy, correct, total, ci95, mean_score, format_rate, truncated_rate, ...rest }: Accuracy,
): Accuracy {
  const { mean_completion_tokens } = rest, rates = { format_rate, truncated_rate };
  return { accuracy, correct, total, ci95, mean_score, ...rates, mean_completion_tokens };
}

type Item = Pick<ExampleResult, "question" | "completion" | "extracted" | "score" | "truncated">;

function itemOf({ question, completion, extracted, score, truncated }: Item): Item {
  return { question, completion, extracted, score, truncated };
}

async function trained(device: Device, config: RunConfig): Promise<TrainSummary> {
  return (await trainOn(device, config, { configText: renderYaml(config, {}, new Map()) })).summary;
}

/** How a benchmark asks what the evaluation of a run has asked. */
function askedAs({ data, eval: { num_examples: numExamples }, training }: RunConfig) {
  return {
    tasks: [{ name: data.task_name!, parameters: data.task_config }],
    numExamples,
    seed: data.seed,
    samplingSeed: training.seed,
    // Prompts and lengths come from the run's own configuration.
    prompt: {},
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
  const sampled: Item[] = [], greedy: Item[] = [];
  try {
    await evaluate(parts.problems.heldOut, {
      model: parts.model,
      prompts: runPrompts(parts.tokenizer, config, parts.eosIds),
      training: config.training,
      eval: config.eval,
      shouldStop: () => false,
      onItem: (item) => void (item.temperature === 0 ? greedy : sampled).push(itemOf(item)),
    });
  } finally {
    parts.model.dispose();
    await parts.rubric.close();
  }
  return { sampled, greedy };
}
