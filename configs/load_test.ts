import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RandomStream } from "../core/philox.ts";
import { batchSizes } from "./batch_sizes.ts";
import { EMBEDDED, experimentNames } from "./documents/embedded.ts";
import { withConfigArgument } from "./foreign/config_arguments.ts";
import { LISTED } from "./foreign/foreign_keys.ts";
import { loadConfig } from "./load.ts";
import { KEYS } from "./reading/key_names.ts";
import { renderOrigins } from "./dotted_keys.ts";
import {
  assertErrorsMatch,
  assertLoads,
  assertValues,
  errorsOf,
  load,
  MINIMAL,
  withFiles,
} from "./testing.ts";

const QWEN = `model:
  name: "Qwen/Qwen2.5-7B-Instruct"

lora:
  r: 64
  lora_alpha: 16
  target_modules:
    - q_proj
    - v_proj
    - k_proj
    - o_proj
  lora_dropout: 0.05
  bias: "none"
  task_type: "CAUSAL_LM"
`;

Deno.test("a project in the nested style of the field loads as meant", async () => {
  const files = {
    "configs/base.yaml": "training: {per_device_train_batch_size: 8, learning_rate: 1.0e-5}\n",
    "configs/models/qwen-7b.yaml": QWEN,
    "configs/tasks/leg_counting.yaml": 'data:\n  task_name: "leg_counting"  # any task\n' +
      "  num_examples: 2048\n  seed: 42\n  add_instructions: true  # XML\n\n" +
      'rewards:\n  - name: "correctness"\n    weight: 1.0\n',
    "configs/experiments/x.yaml": `_base_:
  - ../base.yaml
  - ../models/qwen-7b.yaml
  - ../tasks/leg_counting.yaml

training:
  output_dir: "./experiments/x"
  num_epochs: 3
  learning_rate: 2.0e-6
  generation_config: {num_return_sequences: 8}

logging:
  run_name: "x"
  wandb_project: "reasoning-gym"
`,
  };
  await withFiles(files, async (cwd) => {
    const { config, notes, origins } = await loadConfig("configs/experiments/x.yaml", { cwd });
    assertValues(
      config,
      `lora.r: 64, lora.lora_alpha: 16, lora.lora_dropout: 0.05,
      lora.target_modules: [q_proj, v_proj, k_proj, o_proj], model.model_name_or_path: Qwen/Qwen2.5-7B-Instruct, data.task_name: leg_counting,
      data.num_examples: 2048, data.seed: 42, data.add_instructions: true, rewards.length: 1,
      rewards.0.name: correctness, rewards.0.weight: 1, training.output_dir: ./experiments/x,
      training.num_train_epochs: 3, training.learning_rate: 2e-6, training.num_generations: 8,
      logging.run_name: x, logging.project: reasoning-gym, logging.report_to: [wandb]`,
    );
    assert.deepEqual(notes, []);
    assert.equal(origins.get("lora.r"), "configs/models/qwen-7b.yaml:5");
    assert.equal(
      origins.get("training.num_generations"),
      "configs/experiments/x.yaml:10 (training.generation_config.num_return_sequences)",
    );
  });
});

Deno.test("default num_examples: all of a file, 2048 of a task", async () => {
  const yaml = "model: weights\nrewards: [correctness]\ndataset_name: p.jsonl\n";
  const files = { "p.jsonl": '{"question": "q", "answer": "1"}\n' };
  const entries = async (text: string) => (await load(text, {}, files)).config.data.num_examples;
  assert.equal(await entries(yaml), null);
  assert.equal(await entries(`${yaml}num_examples: 10\n`), 10);
  assert.equal(await entries(yaml.replace("dataset_name: p.jsonl", "task: chain_sum")), 2048);
  const again = await load((await load(yaml, {}, files)).yaml, {}, files);
  assert.equal(again.config.data.num_examples, null);
  await assert.rejects(
    load("model: weights\ntask: chain_sum\nnum_examples: null\n"),
    /:3:15: data\.num_examples: a task makes as many problems as it is asked for/,
  );
});

Deno.test("all embedded experiments load; every task file names the task of its name", async () => {
  for (const name of experimentNames()) {
    const { config } = await loadConfig(name);
    assert.equal(config.logging.run_name, name);
    // The recipe keeps its well-known folder.
    const folder = name === "gsm8k" ? "./trl_grpo_outputs" : `./experiments/${name}`;
    assert.equal(config.training.output_dir, folder);
  }
  for (const path of EMBEDDED.keys()) {
    if (!path.startsWith("tasks/")) continue;
    const { config } = await load(`_base_: [base, rgx:${path}]\nmodel: m\n`);
    assert.equal(`tasks/${config.data.task_name}.yaml`, path);
  }
});

Deno.test("the algorithmic recipe is reasoning-gym's, with two steps a generation of 32 problems", async () => {
  const folder = new URL("../tests/golden/foreign_configs/", import.meta.url);
  const { config } = await loadConfig("algorithmic_qwen_3b");
  const sizes = batchSizes(config.training);
  assert.deepEqual([sizes.generationBatchSize, sizes.promptsPerGeneration], [256, 32]);
  assert.equal(sizes.completionsPerOptimizerStep, 128);
  assert.deepEqual([config.lora, config.data.tasks?.length], [null, 10]);
  const { config: theirs } = await loadConfig(
    fileURLToPath(new URL("reasoning_gym_algorithmic.yaml", folder)),
  );
  assert.deepEqual(config.data, theirs.data);
  assert.deepEqual(config.rewards, theirs.rewards);
  const names = ["max_steps", "num_generations", "generation_batch_size", "max_prompt_length"]
    .concat("max_completion_length", "per_device_train_batch_size", "gradient_accumulation_steps")
    .concat("learning_rate", "beta", "entropy_coef", "weight_decay", "epsilon", "max_grad_norm");
  const values = (training: object) => Object.entries(training).filter(([k]) => names.includes(k));
  assert.deepEqual(values(config.training), values(theirs.training));
});

Deno.test("the path of an embedded recipe in a checkout names it anywhere", async () => {
  await withFiles({}, async (cwd) => {
    const { config, notes } = await loadConfig("configs/experiments/leg_counting_qwen7b.yaml", {
      cwd,
    });
    assert.equal(config.logging.run_name, "leg_counting_qwen7b");
    assert.match(notes[0]!, /is not on disk, rgx:experiments\/leg_counting_qwen7b\.yaml is used$/);
    const named = withConfigArgument(
      ["--config-path", "configs", "--config-name", "algorithmic_qwen_3b"],
    );
    assert.equal((await loadConfig(named[0]!, { cwd })).config.data.tasks?.length, 10);
    await assert.rejects(loadConfig("mine/gsm8k.yaml", { cwd }), /did you mean the embedded gsm8k/);
  });
});

Deno.test("the GSM8K recipe has an adapter on any architecture", async () => {
  const { config } = await loadConfig("gsm8k", { overrides: ["model_name=distilgpt2"] });
  assert.equal(config.lora?.target_modules, null);
});

Deno.test("the quickstart is a tiny model on problems of a known tokenizer", async () => {
  const { config, notes } = await loadConfig("quickstart");
  assert.deepEqual(notes, []);
  assertValues(config, "model.init.hidden_size: 96, lora: null, eval.num_examples: 500");
  assert.deepEqual(config.rewards, [{ name: "correctness", weight: 1, params: { binary: true } }]);
});

Deno.test("a total length leaves its rest to the prompt", async () => {
  const yaml = MINIMAL + "model.max_seq_length: 2048\nmax_completion_length: 1024\n";
  const { config, origins } = await load(yaml);
  assert.equal(config.training.max_prompt_length, 1024);
  assert.equal(origins.get("training.max_prompt_length"), "f.yaml:4");
  const both = await load(yaml + "max_prompt_length: 7\n");
  assert.equal(both.config.training.max_prompt_length, 7);
});

Deno.test("the origin of a value in a map is the foreign key of the map", async () => {
  const yaml = MINIMAL + "model_init_kwargs:\n  rope_scaling: {rope_type: linear, factor: 2}\n" +
    "generation_kwargs: {top_p: 0.9}\n";
  const overrides = ["model.rope_scaling.factor=4"];
  const { origins } = await load(yaml, { overrides });
  assert.match(
    origins.get("model.rope_scaling.rope_type")!,
    / \(model_init_kwargs\.rope_scaling\)$/,
  );
  assert.equal(origins.get("model.rope_scaling.factor"), "command line");
  assert.match(
    origins.get("training.top_p")!,
    /^f\.yaml:\d+ \(generation_kwargs\.top_p\)$/,
  );
});

Deno.test("keys of other trainers: silent at neutral values, noted without effect", async () => {
  const silent = "use_vllm: false\neval_strategy: 'no'\nnum_iterations: 1\nreport_to: none\n" +
    "optim: adamw_torch\nbnb_4bit_quant_type: nf4\ncurriculum: {enabled: false, last_k: 20}\n" +
    "scale_rewards: true\nquantization: {load_in_8bit: false}\ndelta: null\n";
  assert.deepEqual((await load(MINIMAL + silent)).notes, []);
  const noted = "cast_lm_head_to_fp32: true\ntraining: {torch_compile: true}\n" +
    "use_bnb_nested_quant: false\n";
  assert.deepEqual((await load(MINIMAL + noted)).notes, [
    "f.yaml:4:1: cast_lm_head_to_fp32: accepted, has no effect in rgx; logits are f32",
    "f.yaml:5:12: training.torch_compile: accepted, has no effect in rgx; rgx has kernels of its own",
    "f.yaml:6:1: use_bnb_nested_quant: accepted, has no effect in rgx; 4-bit weights are NF4 with " +
    "double quantisation",
  ]);
});

Deno.test("transformers' quantization_config is read in each of its sections", async () => {
  const sections = [
    "quantization_config: X",
    "model_init_kwargs: {quantization_config: X}",
    "training: {model_init_kwargs: {quantization_config: X}}",
  ];
  const usual = '{quant_method: bitsandbytes, load_in_4bit: true, bnb_4bit_quant_type: "nf4", ' +
    "bnb_4bit_use_double_quant: true, llm_int8_threshold: 6.0}";
  const advice = /; weights are quantised at load by model\.load_in_4bit=true/;
  for (const section of sections) {
    const lora = `${MINIMAL}lora: {r: 4}\n`;
    const { config, notes } = await load(lora + section.replace("X", usual));
    assert.deepEqual([config.model.load_in_4bit, notes], [true, []]);
    const refused: [values: string, expected: RegExp][] = [
      ["{bnb_4bit_quant_type: fp4}", /quantization_config\.bnb_4bit_quant_type: not .*nf4/],
      ["{bits: 4}", advice],
      ["{quant_method: gptq}", advice],
      ["{load_in_3bit: true}", advice],
    ];
    await assertErrorsMatch(
      refused.map(([value, says]) => [section.replace("X", value), says]),
      lora,
    );
  }
});

Deno.test("a run's folder has its name without odd characters; null is no name, as in TRL", () =>
  assertLoads(String.raw`
run_name: 'Größe 1/2'
  logging.run_name: Größe 1/2, training.output_dir: ./experiments/Gr__e_1_2
run_name: ..
  training.output_dir: ./experiments/_
run_name: null\noutput_dir: null
  logging.run_name: f, training.output_dir: ./experiments/f
`));

Deno.test("~ at the beginning of a path is the home folder, in files and arguments", async () => {
  const home = Deno.env.get("HOME") ?? "~";
  const yaml =
    "model: ~/m\ntokenizer_name_or_path: ~you/t\ntask: chain_sum\nrewards: [correctness]\n";
  const { config } = await load(yaml, { overrides: ["training.output_dir=~/runs/a~/b"] });
  assertValues(
    config,
    `training.output_dir: ${home}/runs/a~/b, model.model_name_or_path: ${home}/m,
    model.tokenizer_name_or_path: ~you/t`,
  );
});

Deno.test("a configuration outside of the working directory may name files beside it", async () => {
  const yaml = "model: weights\nrewards: [correctness]\ndataset_name: p.jsonl\n" +
    "eval_dataset_name: p.jsonl\neval: {num_examples: 1}\n";
  const files = { "there/f.yaml": yaml, "there/p.jsonl": "", "there/weights/config.json": "{}" };
  await withFiles({ ...files, "here/x": "" }, async (folder) => {
    const outside = await loadConfig("../there/f.yaml", { cwd: join(folder, "here") });
    assert.equal(outside.config.data.dataset_name, join(folder, "there/p.jsonl"));
    assert.equal(outside.config.data.eval_dataset_name, join(folder, "there/p.jsonl"));
    assert.equal(outside.config.model.model_name_or_path, join(folder, "there/weights"));
    await assert.rejects(loadConfig("there/f.yaml", { cwd: folder }), /no such file: p\.jsonl/);
  });
});

Deno.test("the written configuration loads to the same run", async () => {
  const random = new RandomStream(11, 0, 0, 0);
  const some: Record<string, string[]> = {
    "training.learning_rate": ["1e-6", "0.5", "0"],
    "training.max_steps": ["-1", "7"],
    "training.warmup_ratio": ["0.1"],
    "training.min_p": ["null", "0.05"],
    "training.epsilon_high": ["0.28"],
    "data.system_prompt": ["null", "'a: b # c'", "'line\n\n  two ${oc.env:V} \\${x}'", "'null'"],
    "data.task_config": ["{}", "{min_terms: 3, allow_negation: true}"],
    "lora": ["null", "{}", "{r: 3, target_modules: all-linear, use_rslora: true}"],
    "sft": ["null", "{max_steps: 3, lr_scheduler_type: cosine}"],
    "eval": ["{num_examples: 3, temperature: 0}"],
    "rewards": ["brevity", "[correctness, {name: format, weight: -0.5}]"],
    "logging.run_name": ["'{{ fileBasenameNoExtension }}-1'", "'007'", "' x '"],
    "model.max_seq_length": ["900"],
  };
  for (let i = 0; i < 20; i++) {
    const overrides = Object.entries(some).filter(() => random.chance(0.5)).map(([key, values]) =>
      `++${key}=${values[random.below(values.length)]}`
    );
    const env = { V: "value" };
    const first = await load(MINIMAL, { overrides, env });
    const again = await load(first.yaml, { env: {} });
    assert.deepEqual(again.config, first.config, overrides.join("\n"));
    assert.deepEqual((await load(again.yaml)).yaml, again.yaml);
  }
  const quickstart = await loadConfig("quickstart");
  assert.deepEqual((await load(quickstart.yaml)).config, quickstart.config);
});

Deno.test("config show has one line a key with value and origin", async () => {
  const loaded = await load(MINIMAL + "data: {task_config: {min_terms: 3}}\n", {
    overrides: ["beta=0.5", "system_prompt=two\nlines ${oc.env:A_TOKEN}"],
    env: { A_TOKEN: "hush" },
  });
  const lines = renderOrigins(loaded).split("\n").map((line) => line.replace(/ {2,}/, " "));
  assert.ok(lines.includes("model.model_name_or_path: m # f.yaml:1"), lines.join("\n"));
  assert.ok(lines.includes("data.task_config.min_terms: 3 # f.yaml:4"));
  assert.ok(lines.includes("training.beta: 0.5 # command line"));
  assert.ok(lines.includes("training.adam_epsilon: 1e-8 # default"));
  assert.ok(lines.includes("lora: null # default"));
  assert.ok(lines.includes("rewards.0.name: correctness # f.yaml:3"));
  assert.ok(!lines.join().includes("hush"));
});

Deno.test("no key of rgx is among those that are not obeyed, and each has a meaning", () => {
  for (const [path, spec] of KEYS) {
    assert.ok(!LISTED.has(path), path);
    assert.ok(spec.doc.length > 3, path);
  }
});

Deno.test("an error in an override does not hide those of the file", async () => {
  const lines = await errorsOf(MINIMAL + "bta: 1\n", { overrides: ["epsiln=1"] });
  assert.deepEqual(lines, [
    "f.yaml:4:1: bta: unknown key, did you mean beta?",
    "command line: epsiln: unknown key, did you mean epsilon?",
  ]);
});
