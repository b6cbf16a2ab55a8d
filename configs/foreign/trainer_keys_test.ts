/** Every key of the classes of TRL, transformers and PEFT that configure a training run. */
import assert from "node:assert/strict";
import { stringify } from "yaml";
import type { Json } from "../documents/node.ts";
import { meaningOf } from "../reading/key_names.ts";
import { errorsOf, load, MINIMAL } from "../testing.ts";
import { readGoldenJson } from "../../tests/golden.ts";

type Class = Record<string, Json>;

/** Class → its fields with their defaults; GRPOConfig and SFTConfig without what they inherit. */
const golden = readGoldenJson<
  Record<
    | "TrainingArguments"
    | "GRPOConfig"
    | "SFTConfig"
    | "ModelConfig"
    | "ScriptArguments"
    | "LoraConfig",
    Class
  >
>("trainer_keys.json");

Deno.test("every field of TRL's, transformers' and PEFT's classes is a key, or is in a list", () => {
  const { versions: _, ...classes } = golden as Record<string, Class>;
  for (const [name, fields] of Object.entries(classes)) {
    assert.ok(Object.keys(fields).length > 5, name);
    for (const field of Object.keys(fields)) {
      const written = name === "LoraConfig" ? `lora.${field}` : field;
      const { kind } = meaningOf(written);
      assert.ok(["key", "prefix", "notObeyed"].includes(kind), `${name}.${field}: ${kind}`);
    }
  }
});

/** The defaults that a file can have: null only where rgx takes it. */
function defaults(fields: Class): Class {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

Deno.test("all defaults of GRPOConfig and ModelConfig load, without a note on what they leave off", async () => {
  const { TrainingArguments, GRPOConfig, ModelConfig, ScriptArguments } = golden;
  const yaml = stringify({
    ...defaults({ ...TrainingArguments, ...GRPOConfig, ...ModelConfig, ...ScriptArguments }),
    task: "chain_sum",
    rewards: ["correctness"],
    model_name_or_path: "m",
  });
  const { config, notes } = await load(yaml);
  const written = golden.GRPOConfig as Record<string, unknown>;
  assert.equal(config.training.learning_rate, written["learning_rate"]);
  assert.equal(config.training.num_generations, written["num_generations"]);
  assert.equal(config.lora, null);
  for (const note of notes) {
    assert.match(note, /accepted, has no effect in rgx/);
    assert.doesNotMatch(note, /: (false|null)/);
  }
});

Deno.test("what is expected to act and does not is noted with what rgx does instead", async () => {
  const noted: readonly [yaml: string, expected: RegExp][] = [
    [
      "fsdp: full_shard auto_wrap",
      /f\.yaml:4:1: fsdp: accepted, has no effect.*not divided over cards.*--ranks N/,
    ],
    ["training: {fsdp_config: {min_num_params: 1}}", /training\.fsdp_config: accepted/],
    ["deepspeed: zero3.json", /deepspeed: accepted.*not divided over cards/],
    ["trackio_space_id: me/space", /trackio_space_id: .*; .*rgx curves/],
    ["log_completions_hub_repo: me/data", /log_completions_hub_repo: .*run's folder/],
    ["dataset_streaming: true", /dataset_streaming: .*data\.max_examples/],
    ["training: {dataset_streaming: true}", /training\.dataset_streaming: .*read whole/],
    ["model: {name: m, bnb_4bit_quant_storage: uint8}", /bnb_4bit_quant_storage: .*rgx's own/],
    ["optim_args: betas=(0.9,0.95)", /optim_args: .*adam_beta1/],
    ["train_sampling_strategy: sequential", /shuffle_dataset alone/],
    ["group_by_length: true", /group_by_length: .*shuffle_dataset/],
  ];
  const plain = await load(MINIMAL);
  for (const [yaml, expected] of noted) {
    const text = yaml.startsWith("model:") ? MINIMAL.replace("model: m\n", "") : MINIMAL;
    const { notes, yaml: merged } = await load(`${text}${yaml}\n`);
    assert.equal(notes.length, 1, yaml);
    assert.match(notes[0]!, expected);
    assert.equal(merged, plain.yaml, yaml);
  }
  assert.match((await errorsOf(`${MINIMAL}packing: true\n`)).join(), /packing: .*warm start/);
  const neutral = "fsdp: []\ndeepspeed: null\ntrackio_space_id: trackio\n" +
    "dataset_streaming: false\noptim_args: ''\n";
  assert.deepEqual((await load(MINIMAL + neutral)).notes, []);
});

Deno.test("a flat key and the same key in its section are one, and the later one counts", async () => {
  const files = {
    "base.yaml": "training: {neftune_noise_alpha: 5, auto_find_batch_size: true}\n",
  };
  const yaml =
    `_base_: base.yaml\n${MINIMAL}neftune_noise_alpha: null\nauto_find_batch_size: false\n`;
  assert.deepEqual(await errorsOf(yaml, {}, files), []);
  const overrides = ["--neftune-noise-alpha", "null", "training.auto_find_batch_size=false"];
  assert.deepEqual(await errorsOf(`_base_: base.yaml\n${MINIMAL}`, { overrides }, files), []);
});
