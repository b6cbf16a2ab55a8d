/**
 * Memory plans of models that are not on this machine: the sizes are the published ones, and the
 * parts add up.
 */
import assert from "node:assert/strict";
import { refusal, test } from "../../core/testing.ts";
import { loadConfig } from "../../configs/load.ts";
import { embeddedShapes } from "../../configs/model_shapes.ts";
import { UsageError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import { createDevice } from "../../kernels/mod.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import { planFromShape, type ShapePlan } from "./shape_plan.ts";
import { goldenPath } from "../../tests/golden.ts";
import { parameterCount } from "./fitting_settings.ts";

/** Number of parameters of the published weights; tied heads count once. */
const PUBLISHED: Record<string, number> = {
  "Qwen/Qwen2.5-0.5B-Instruct": 494_032_768,
  "Qwen/Qwen2.5-1.5B-Instruct": 1_543_714_304,
  "Qwen/Qwen2.5-3B-Instruct": 3_085_938_688,
  "Qwen/Qwen2.5-7B-Instruct": 7_615_616_512,
  "Qwen/Qwen3-0.6B": 596_049_920,
  "Qwen/Qwen3-1.7B": 1_720_574_976,
  "Qwen/Qwen3-4B": 4_022_468_096,
  "Qwen/Qwen3-8B": 8_190_735_360,
  "meta-llama/Llama-3.2-1B-Instruct": 1_235_814_400,
  "meta-llama/Llama-3.2-3B-Instruct": 3_212_749_824,
  "HuggingFaceTB/SmolLM2-135M-Instruct": 134_515_008,
  "HuggingFaceTB/SmolLM2-360M-Instruct": 361_821_120,
  "HuggingFaceTB/SmolLM2-1.7B-Instruct": 1_711_376_384,
  "distilbert/distilgpt2": 81_912_576,
  "microsoft/DialoGPT-small": 124_439_808,
  "microsoft/DialoGPT-medium": 354_823_168,
  "microsoft/DialoGPT-large": 774_030_080,
  "openai-community/gpt2": 124_439_808,
  "openai-community/gpt2-medium": 354_823_168,
  "openai-community/gpt2-large": 774_030_080,
  "openai-community/gpt2-xl": 1_557_611_200,
  "Qwen/Qwen2.5-14B-Instruct": 14_770_033_664,
  "Qwen/Qwen2.5-32B-Instruct": 32_763_876_352,
  "Qwen/Qwen2.5-72B-Instruct": 72_706_203_648,
  "Qwen/Qwen3-14B": 14_768_307_200,
  "Qwen/Qwen3-32B": 32_762_123_264,
  "meta-llama/Meta-Llama-3-8B": 8_030_261_248,
  "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
  "meta-llama/Llama-3.1-70B-Instruct": 70_553_706_496,
  "mistralai/Mistral-7B-v0.1": 7_241_732_096,
  "mistralai/Mistral-7B-Instruct-v0.2": 7_241_732_096,
  "mistralai/Mistral-7B-Instruct-v0.3": 7_248_023_552,
  "HuggingFaceTB/SmolLM3-3B": 3_075_098_624,
  "google/gemma-3-270m-it": 268_098_176,
  "google/gemma-3-1b-it": 999_885_952,
  "google/gemma-3-4b-it": 3_880_263_168,
  "google/gemma-2-2b-it": 2_614_341_888,
  "google/gemma-2-9b-it": 9_241_705_984,
  "LiquidAI/LFM2-350M": 354_483_968,
  "LiquidAI/LFM2-700M": 742_489_344,
  "LiquidAI/LFM2-1.2B": 1_170_340_608,
  "Qwen/Qwen3.5-0.8B": 752_393_024,
  "Qwen/Qwen3.5-2B": 1_881_825_088,
  "Qwen/Qwen3.5-4B": 4_205_751_296,
  "microsoft/Phi-4-mini-instruct": 3_836_021_760,
  "microsoft/Phi-3-mini-4k-instruct": 3_821_079_552,
  "allenai/OLMo-2-0425-1B": 1_484_916_736,
  "allenai/Olmo-3-1025-7B": 7_298_011_136,
  "ibm-granite/granite-3.3-2b-instruct": 2_533_539_840,
  "ibm-granite/granite-4.0-1b": 1_631_750_144,
  "ibm-granite/granite-4.0-micro": 3_402_836_480,
};

Deno.test("the embedded sizes give the published numbers of parameters", () => {
  const counts = new Map(
    [...embeddedShapes()].map(([name, shape]) => [
      name,
      parameterCount(readHfConfig(shape, name).modelConfig),
    ]),
  );
  for (const [name, count] of Object.entries(PUBLISHED)) {
    assert.equal(counts.get(name), count, name);
  }
  // All others are base models, or versions, with the number of another.
  const numbers = new Set(Object.values(PUBLISHED));
  for (const [name, count] of counts) assert.ok(numbers.has(count), `${name}: ${count}`);
});

async function plan(
  overrides: string[],
  availableBytes: number,
  name = "leg_counting_qwen7b",
): Promise<{ seen: ShapePlan; fits: boolean; error: UsageError | null }> {
  const { config } = await loadConfig(name, { overrides, env: {} });
  const device: Device = await createDevice("wasm", { threads: 1 });
  let seen: ShapePlan | undefined;
  try {
    const result = await planFromShape(config, device, {
      availableBytes,
      onPlan: (plan) => seen = plan,
    });
    assert.deepEqual(result, seen);
    return { seen: seen!, fits: true, error: null };
  } catch (error) {
    if (!(error instanceof UsageError) || seen === undefined) throw error;
    return { seen, fits: false, error };
  } finally {
    device.close();
  }
}

/** The memory on a card, of a plan that fits. */
async function onCard(
  overrides: string[],
  availableBytes: number,
  onPlan: (plan: ShapePlan) => void = () => {},
) {
  const adapter = { name: "a card", software: false };
  const card = { name: "webgpu", float: "f32", adapter, allocatedBytes: 0 } as unknown as Device;
  const { config } = await loadConfig("leg_counting_qwen7b", { overrides, env: {} });
  return (await planFromShape(config, card, { availableBytes, onPlan }))!.memory;
}

Deno.test("on a GPU generation gets half of the free memory, and always fits", async () => {
  const overrides = ["training.num_generations=16", "training.generation_batch_size=64"];
  const small = await onCard(overrides, 30e9), left = small.available - small.peak;
  assert.ok(small.generationLimit > 2 ** 30 && left > 0, `${left}`);
  const large = await onCard(overrides, 80e9);
  // All completions together take less than there is.
  assert.ok(large.generationLimit > 20e9 && large.peak < 60e9, `${large.peak}`);
  assert.ok(large.parts.caches > small.parts.caches);
  let least = 0;
  await assert.rejects(onCard(overrides, 20e9, ({ memory }) => least = memory.peak));
  assert.equal((await onCard(overrides, least)).generationLimit, 2 ** 30);
});

Deno.test("a 7B model is planned from its configuration, and refused with advice", async () => {
  const { seen, fits, error } = await plan([], 4e9);
  assert.equal(fits, false);
  assert.match(
    error!.message,
    /the run needs 2\d\.\d GB, 4\.00 GB available: .*model alone needs 15\.\d GB/,
  );
  assert.match(error!.advice!, /model_name_or_path=Qwen\/Qwen2\.5-0\.5B-Instruct/);
  const { parts, peak } = seen.memory;
  assert.ok(Math.abs(parts.frozen / 2 / 7_615_616_512 - 1) < 1e-3, `${parts.frozen}`);
  const { otherwise, frozenTypes, kept: _, ...bytes } = parts;
  const sum = Object.values(bytes).reduce((total, part) => total + part, 0);
  assert.ok(Math.abs(sum - peak) <= 16, `${sum} of ${peak}`);
  assert.ok(Object.values(bytes).every((part) => part >= 0), JSON.stringify(bytes));
  assert.equal(parts.activations, otherwise.recomputed);
  assert.ok(otherwise.recomputed < otherwise.kept / 5);
  assert.ok(parts.head < otherwise.allLogits / 5);
  assert.deepEqual(frozenTypes, ["bf16"]);
});

Deno.test("a model with few positions is planned with prompts that fit into them", async () => {
  const overrides = ["model_name=microsoft/DialoGPT-medium", "lora.target_modules=[c_attn]"];
  await assert.rejects(
    plan(overrides, 8e9, "gsm8k"),
    (error: UsageError) => error.advice === "Set training.max_completion_length=512 or less.",
  );
  const { seen, fits } = await plan([...overrides, "max_completion_length=256"], 8e9, "gsm8k");
  assert.deepEqual([fits, seen.tokens.longest.prompt], [true, 768]);
});

Deno.test("full fine-tuning of 3B with KL fits 48 GB with 8-bit moments", async () => {
  const base = [
    "model.model_name_or_path=Qwen/Qwen2.5-3B-Instruct",
    "~lora",
    "training.beta=0.04",
    "per_device_train_batch_size=8",
    "num_generations=8",
    "max_completion_length=512",
  ];
  const planned = (bytes: number, ...more: string[]) => onCard([...base, ...more], bytes);
  const bytes = "optim=adamw_8bit", halves = [bytes, "model.dtype=bfloat16"];
  await assert.rejects(planned(48e9), { message: /needs 60\.\d GB/, advice: /optim=adamw_8bit/ });
  const floats = await planned(80e9), small = await planned(48e9, bytes);
  // One copy in the type of the file.
  const { reference, optimizer } = floats.parts, least = small.parts.optimizer;
  assert.ok(Math.abs(reference / 2 / 3.0859e9 - 1) < 1e-2, `${reference}`);
  assert.ok(optimizer > 24e9 && least < 8.3e9, `${least}`);
  await planned(42e9, ...halves);
  await planned(48e9, ...halves, "bf16_rounding=kahan");
});

Deno.test("settings that fit are suggested, and the plan with them fits", async () => {
  const small = "model.model_name_or_path=Qwen/Qwen2.5-0.5B-Instruct";
  const roomy = await plan([small], 4.2e9), room = 0.75 * roomy.seen.memory.peak;
  const { error } = await plan([small], room);
  const setting = /training\.max_completion_length=\d+/.exec(error!.advice!)![0];
  assert.equal((await plan([small, setting], room)).fits, true);
});

Deno.test("a missing model of unknown sizes is an error with the places searched", async () => {
  using device = await createDevice("wasm", { threads: 1 });
  const { config } = await loadConfig("leg_counting_qwen7b", {
    overrides: ["model.model_name_or_path=no-org/no-model"],
    env: {},
  });
  await assert.rejects(
    planFromShape(config, device, {}),
    refusal(/models--no-org--no-model/, UsageError),
  );
});

/** The config.json of a model that no embedded file has. */
const CONFIG_JSON = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  torch_dtype: "bfloat16",
  vocab_size: 32000,
  hidden_size: 1024,
  intermediate_size: 4096,
  num_hidden_layers: 8,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  max_position_embeddings: 4096,
};

test.inFolder("a config.json alone is enough for a plan: its path, or a folder with nothing else", async (dir) => {
  await Deno.writeTextFile(`${dir}/config.json`, JSON.stringify(CONFIG_JSON));
  for (const path of [dir, `${dir}/config.json`]) {
    const { seen, fits } = await plan([`model.model_name_or_path=${path}`], 16e9);
    assert.deepEqual([fits, seen.name, seen.tokens.estimated], [true, path, true]);
    assert.equal(seen.parameters, 2 * 32000 * 1024 + 1024 + 8 * (2048 + 1024 * 14848));
    assert.deepEqual(seen.memory.parts.frozenTypes, ["bf16"]);
  }
  // With the tokenizer beside it, prompts are counted.
  const tokenizer = goldenPath("models/tinystories-656k/tokenizer.json");
  await Deno.copyFile(tokenizer, `${dir}/tokenizer.json`);
  const { seen } = await plan([`model.model_name_or_path=${dir}`], 16e9);
  assert.equal(seen.tokens.estimated, false);
  assert.ok(seen.tokens.typical.promptTokens > seen.tokens.typical.sharedTokens);
});

test.inFolder("a config.json without a needed field is an error that names file and field", async (dir) => {
  const { hidden_size: _, ...rest } = CONFIG_JSON;
  await Deno.writeTextFile(`${dir}/config.json`, JSON.stringify(rest));
  await assert.rejects(
    plan([`model.model_name_or_path=${dir}`], 16e9),
    (error: UsageError) => error.message.includes(`${dir}/config.json: hidden_size`),
  );
  await Deno.writeTextFile(`${dir}/config.json`, "{");
  await assert.rejects(plan([`model.model_name_or_path=${dir}`], 16e9), /not valid JSON/);
});

Deno.test("GSM8K with a 3B model in 4 bits takes 8 GB, and 6 GB at batch 1", async () => {
  const whole = await plan([], 16e9, "gsm8k");
  assert.ok(whole.fits, whole.error?.message);
  assert.ok(whole.seen.memory.peak <= 8e9, `${whole.seen.memory.peak}`);
  // Everything except the weights, and the weights that must be in the kernels' memory.
  const { parts, peak, weightRoom } = whole.seen.memory;
  const parameters = parts.frozen + parts.trained + parts.gradients;
  assert.ok(weightRoom! > 0.6e9 && weightRoom! < parameters, `${weightRoom}`);
  assert.ok(peak - parameters + weightRoom! < 2 ** 32);
  const one = await plan(["--batch-size", "1"], 16e9, "gsm8k");
  assert.ok(one.fits && one.seen.memory.peak <= 6e9, `${one.seen.memory.peak}`);
});
