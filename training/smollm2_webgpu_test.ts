/**
 * SmolLM2-135M-Instruct on webgpu, with dequantised weights and with the 4-bit blocks of its file:
 * generation, and a GRPO step through an adapter, as on the CPU. A software adapter takes minutes
 * for it, so it runs only with RGX_TEST_SMOLLM2_WEBGPU=1. RGX_TEST_MODEL may name another copy of
 * the GGUF file.
 */
import assert from "node:assert/strict";
import { defaultsOf } from "../configs/types/key_spec.ts";
import { TRAINING } from "../configs/schema/schema.ts";
import type { Device } from "../kernels/device.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { createWebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { webgpuTest } from "../kernels/devices/webgpu/testing.ts";
import { CausalLM } from "../models/causal_lm.ts";
import { readModelFolder } from "../models/model_folder.ts";
import { gradients } from "../models/testing.ts";
import type { Completion } from "../models/generation/types.ts";
import { AdamW } from "./step/optimizer.ts";
import { accumulateGradients } from "./step/gradient_accumulation.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { largeModel } from "../tests/large_model.ts";

const wanted = Deno.env.get("RGX_TEST_SMOLLM2_WEBGPU") === "1";
const chosen = Deno.env.get("RGX_TEST_MODEL");
const path = !wanted || chosen === "" ? null : chosen ?? largeModel();

/** A text that the tokenizer can encode. */
const PROMPT = [1, 4093, 198, 1780, 314, 216, 34, 1232, 216, 35, 47, 2, 198, 1, 520, 9531, 198];

interface Outcome {
  sampled: Completion[];
  gradients: Map<string, Float64Array>;
  norm: number;
  before: Float64Array;
  after: Float64Array;
}

type Dtype = "float32" | "auto";

async function outcome(device: Device, dtype: Dtype): Promise<Outcome> {
  const { config, files } = await readModelFolder(path!);
  const model = await CausalLM.create(device, config, files, {
    trainable: "lora",
    lora: { r: 4, alpha: 1, targetModules: "all-linear", init: "false", seed: 3 },
    weights: { dtype },
  });
  const optimizer = new AdamW(device, model, {
    adam_beta1: 0.9,
    adam_beta2: 0.999,
    adam_epsilon: 1e-8,
    weight_decay: 0,
    max_grad_norm: 1,
  });
  try {
    const [sampled] = await model.generate([{ promptId: 0, promptIds: PROMPT, n: 4 }], {
      maxNewTokens: 6,
      temperature: 0.7,
      seed: 11,
      eosIds: [],
    });
    // The step has fixed completions, so that it does not depend on sampling.
    const branches = [[788, 216, 34], [504, 3575, 314, 216], [2], [788, 314, 253, 1123]];
    const rows = branches.map((ids, branch) => ({
      group: 0,
      promptId: 0,
      branch,
      promptIds: PROMPT,
      ids,
      advantage: branch % 2 === 0 ? 1 : -1,
      oldLogp: null,
    }));
    const logp = async () => {
      const group = { promptIds: PROMPT, branches };
      return Float64Array.from(
        (await model.forward([group], { temperature: 1, train: false })).logp,
      );
    };
    const before = await logp();
    await accumulateGradients(model, rows, {
      microBatchSize: rows.length,
      temperature: 1,
      settings: defaultsOf(TRAINING),
      maxCompletionLength: 6,
      reference: null,
    });
    const norm = await optimizer.gradNorm(), found = await gradients(model);
    await optimizer.apply(1e-4, norm);
    return { sampled: sampled!, gradients: found, norm, before, after: await logp() };
  } finally {
    optimizer.dispose();
    model.dispose();
  }
}

async function on(create: () => Promise<Device>, dtype: Dtype): Promise<Outcome> {
  using device = await create();
  return await outcome(device, dtype);
}

/** Tolerance of a log-probability. */
const TOLERANCE = 2e-3;

function assertNear(found: ArrayLike<number>, wanted: ArrayLike<number>, limit: number): void {
  assert.equal(found.length, wanted.length);
  for (let i = 0; i < wanted.length; i++) {
    assert.ok(Math.abs(found[i]! - wanted[i]!) <= limit, `${i}: ${found[i]}, not ${wanted[i]}`);
  }
}

for (const [dtype, what] of [["float32", "in float32"], ["auto", "in its blocks"]] as const) {
  webgpuTest(
    `SmolLM2 ${what} generates and trains on webgpu as on the CPU`,
    async () => {
      const cpu = await on(
        () => createWasmDevice({ threads: navigator.hardwareConcurrency }),
        dtype,
      );
      const gpu = await on(() => createWebgpuDevice(), dtype);
      assert.deepEqual(gpu.sampled.map(({ ids }) => ids), cpu.sampled.map(({ ids }) => ids));
      gpu.sampled.forEach(({ logprobs }, i) =>
        assertNear(logprobs, cpu.sampled[i]!.logprobs, TOLERANCE)
      );
      assertNear(gpu.before, cpu.before, TOLERANCE);
      assert.ok(Math.abs(gpu.norm / cpu.norm - 1) < 1e-3, `${gpu.norm}, not ${cpu.norm}`);
      assert.equal(gpu.gradients.size, 2 * 7 * 30);
      for (const [name, grad] of cpu.gradients) {
        const largest = grad.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
        assert.ok(largest > 0, name);
        assertNear(gpu.gradients.get(name)!, grad, 2e-3 * largest);
      }
      assertNear(gpu.after, cpu.after, TOLERANCE);
      assert.ok(cpu.after.some((x, i) => Math.abs(x - cpu.before[i]!) > 10 * TOLERANCE));
    },
    () =>
      needs(wanted, "SmolLM2 on webgpu takes minutes (RGX_TEST_SMOLLM2_WEBGPU=1)") ||
      needs(path !== null, NEEDED.largeModel),
  );
}
