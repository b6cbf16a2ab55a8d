/**
 * The memory plan compared with the memory that runs take, and the choice to recompute activations
 * that depends on it.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { loadConfig } from "../../configs/load.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { createDevice } from "../../kernels/mod.ts";
import { assemble } from "../assemble.ts";
import { type ConfigChanges, tinyRunConfig, varying, weightsOf } from "../testing.ts";
import { GrpoTrainer } from "../trainer.ts";
import { checkPositions } from "./run_memory.ts";
import { goldenPath } from "../../tests/golden.ts";

const SMALL_MODEL = goldenPath("models/tinystories-656k");

interface Taken {
  planned: number;
  measured: number;
  recompute: boolean;
  weights: Uint8Array | null;
}

/**
 * Runs a configuration with completions of maximum length, which the plan assumes.
 * @param isMeasured whether its speed is measured before it begins, which takes some seconds
 */
async function take(
  config: RunConfig,
  options: { availableBytes?: number; phases?: "sft" } = {},
  isMeasured = false,
): Promise<Taken> {
  using device = await createDevice("wasm", { threads: 2 });
  return await withFolder(async (dir) => {
    const training = {
      ...config.training,
      output_dir: `${dir}/run`,
      save_strategy: "no" as const,
    };
    const parts = await assemble({ ...config, training }, device, options);
    const trainer = new GrpoTrainer({
      config: { ...config, training },
      configText: "",
      device,
      ...parts,
      ...varying,
      eosIds: [],
      ...(options.phases && { phases: options.phases }),
    });
    if (isMeasured) await trainer.estimateSeconds();
    const summary = await trainer.run();
    const weights = await weightsOf(`${dir}/run`).catch(() => null);
    parts.model.dispose();
    return {
      // The device measures neither parts of a checkpoint, which are on the host, nor the packed
      // operands of a product.
      planned: summary.memory_planned_bytes! - parts.memory.parts.checkpoint -
        parts.memory.parts.panels,
      measured: summary.peak_memory_bytes,
      recompute: parts.model.sizes.recompute,
      weights,
    };
  });
}

function assertPlanned({ planned, measured }: Taken): void {
  const ratio = measured / planned;
  assert.ok(ratio > 0.9 && ratio <= 1.001, `${measured} of ${planned} bytes: ${ratio}`);
}

const SHORT = { max_steps: 2, per_device_train_batch_size: 8, num_generations: 8 };
const ADAPTED = { sft: null, model: { init: null, model_name_or_path: SMALL_MODEL } };
const adapted = (lora: ConfigChanges["lora"], training: ConfigChanges["training"]) =>
  tinyRunConfig("", {
    ...ADAPTED,
    lora: { r: 16, lora_alpha: 32, ...lora },
    training: { ...SHORT, beta: 0.04, max_completion_length: 96, ...training },
  });
const quickstart = async (...more: string[]) => {
  const overrides = ["training.max_steps=2", "sft.max_steps=2", "eval.num_examples=40", ...more];
  return (await loadConfig("quickstart", { overrides, env: {} })).config;
};
const initOf = (hidden_size: number, intermediate_size: number, num_hidden_layers: number) => ({
  ...tinyRunConfig("").model.init!,
  hidden_size,
  intermediate_size,
  num_hidden_layers,
  num_attention_heads: 4,
  num_key_value_heads: 2,
});
const QV = { target_modules: ["q_proj", "v_proj"] };

const CASES: Record<string, () => RunConfig | Promise<RunConfig>> = {
  "an adapter with a KL term": () => adapted(QV, {}),
  "an adapter on the head": () =>
    adapted({ lora_dropout: 0.1, target_modules: ["lm_head", "q_proj"] }, {}),
  "activations of sampling": () => adapted(QV, { use_rollout_activations: true }),
  "activations of sampling, for the first of two steps": () =>
    adapted(QV, { use_rollout_activations: true, num_iterations: 2 }),
  "the quickstart": () => quickstart(),
  "products in bfloat16": () => quickstart("bf16=true"),
};

for (const [what, config] of Object.entries(CASES)) {
  Deno.test(`the measured peak is within 10 % of the plan: ${what}`, async () => {
    const isMeasured = what === "the quickstart" || what === "activations of sampling";
    assertPlanned(await take(await config(), {}, isMeasured));
  });
}

Deno.test("the supervised part alone does not take more than its plan", async () => {
  for (const num_examples of [40, 1]) {
    // A generation and a GRPO step would take more.
    const config = await quickstart(`eval.num_examples=${num_examples}`);
    const { planned, measured } = await take(config, { phases: "sft" });
    assert.ok(measured <= planned, `${measured} of ${planned} bytes`);
  }
});

Deno.test("the measured peak is within 10 % of the plan: kinds of full fine-tuning", async () => {
  const init = initOf(192, 512, 3);
  const taken = [];
  for (
    const [model, kind] of [
      [{}, {}],
      [{}, { optim: "adamw_8bit" }],
      [{ dtype: "bfloat16" }, { optim: "adamw_8bit" }],
      [{ dtype: "bfloat16" }, { bf16_rounding: "kahan" }],
    ] as const
  ) {
    const run = await take(tinyRunConfig("", {
      model: { init, ...model },
      sft: null,
      eval: { num_examples: 2 },
      training: { ...SHORT, beta: 0.04, ...kind },
    }));
    assertPlanned(run);
    taken.push(run.measured);
  }
  // A quarter of the moments; then half of the weights and of the reference.
  assert.ok(taken[1]! < taken[0]! - 6e6 && taken[2]! < taken[1]! - 6e6, `${taken}`);
});

Deno.test("the measured peak is within 10 % of the plan: long completions, activations recomputed", async () => {
  const config = tinyRunConfig("", {
    ...ADAPTED,
    eval: { num_examples: 2 },
    training: { ...SHORT, num_iterations: 2, max_completion_length: 250 },
  });
  const roomy = await take(config);
  assert.equal(roomy.recompute, false);
  // Half of the available memory is less than the run would take: it recomputes, with the same
  // result.
  const tight = await take(config, { availableBytes: 1.9 * roomy.planned });
  assert.equal(tight.recompute, true);
  assertPlanned(roomy);
  assertPlanned(tight);
  assert.ok(tight.planned < 0.9 * roomy.planned, `${tight.planned} ${roomy.planned}`);
  assert.deepEqual(tight.weights, roomy.weights);
  using device = await createDevice("wasm", { threads: 1 });
  const kept = { ...config, training: { ...config.training, gradient_checkpointing: false } };
  const { model } = await assemble(kept, device, { availableBytes: 1.9 * roomy.planned });
  assert.equal(model.sizes.recompute, false);
  model.dispose();
});

Deno.test("a model that does not fit is refused before it is created", async () => {
  const { model } = tinyRunConfig("");
  const huge = { hidden_size: 16_384, intermediate_size: 262_144, num_hidden_layers: 8 };
  using device = await createDevice("wasm", { threads: 1 });
  const config = tinyRunConfig("", { model: { init: { ...model.init!, ...huge } } });
  await assert.rejects(
    assemble(config, device),
    /the run needs \d\.\d\d TB, \d\.\d\d GB available/,
  );
  assert.equal(device.peakBytes, 0);
});

Deno.test("of a prompt that is too long, rgx's own instruction can be taken away", () => {
  for (
    const [add_instructions, advice] of [
      [true, /\(data\.add_instructions=false\), leave such problems out, or cut/],
      [false, /too long for this model: leave such problems out, or cut/],
    ] as const
  ) {
    const config = tinyRunConfig("run", { data: { add_instructions } });
    const lengths = { prompt: 175, answer: 1 };
    assert.throws(() => checkPositions(config, 128, lengths, "all"), { advice });
  }
});
