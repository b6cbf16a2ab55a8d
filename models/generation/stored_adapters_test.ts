/** Generation with adapters beside stored weights, whose A are packed (packed_weights.ts). */
import assert from "node:assert/strict";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { CausalLM } from "../causal_lm.ts";
import { initWeights } from "../network/weights/init.ts";
import { tinyConfig } from "../testing.ts";
import type { GenerateOptions } from "./types.ts";

const config = { ...tinyConfig(true), hiddenSize: 64, intermediateSize: 192 };
const options: GenerateOptions = { maxNewTokens: 9, temperature: 1, seed: 3, eosIds: [] };

/** Prompts of 5 and 12 tokens with 1, 3 and 12 completions: 1 to 16 rows in one product. */
const requests = [1, 3, 12].map((n, promptId) => ({
  promptId,
  promptIds: Array.from({ length: n === 3 ? 12 : 5 }, (_, i) => (3 * i + n) % 19),
  n,
}));

async function withModel(test: (model: CausalLM) => Promise<void>): Promise<void> {
  const device = await createWasmDevice({ threads: 2 });
  const model = await CausalLM.create(device, config, initWeights(config, 1, 0.3), {
    trainable: "lora",
    lora: { r: 4, alpha: 8, targetModules: "all-linear", init: "false" },
    weights: { dtype: "float16" },
  });
  try {
    await test(model);
  } finally {
    model.dispose();
    device.close();
  }
}

Deno.test("packed adapters give the bits of adapters that are read where they are", () =>
  withModel(async (model) => {
    for (const asked of [requests, ...requests.map((request) => [request])]) {
      const inPlace = await model.generate(asked, options, { copyBytes: 0 });
      assert.deepEqual(await model.generate(asked, options), inPlace);
    }
  }));

Deno.test("an open generation takes an adapter that has changed since its last request", () =>
  withModel(async (model) => {
    const room = { branches: 16, promptRows: 40, maxNewTokens: 9 };
    const generation = model.openGeneration(room, options), request = requests[2]!;
    const before = await generation.add(request);
    await generation.idle();
    const name = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight";
    const values = await model.readParameter(name);
    model.writeParameter(name, values.map((value) => 5 - 3 * value));
    const after = await generation.add(request);
    assert.notDeepEqual(after, before);
    await generation.idle();
    assert.deepEqual(after, (await model.generate([request], options))[0]);
  }));
