/** The formulas of counted times, against numbers that are worked out by hand. */
import assert from "node:assert/strict";
import { createDevice } from "../../kernels/mod.ts";
import type { Ops } from "../../kernels/ops/ops.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { goldenPath } from "../../tests/golden.ts";
import { parameterBytes } from "../../models/network/counted_network.ts";
import { modelSizes } from "../../models/network/weights/model_sizes.ts";
import { countedSpeed, decodeBytes, forwardFlops } from "./counted_speed.ts";

/** A Llama with layers of 2·(64·64)·2 + 2·(64·32)·2 + 3·(64·128)·2 = 73,728 operations a token. */
const CONFIG: ModelConfig = {
  vocabSize: 1000,
  hiddenSize: 64,
  intermediateSize: 128,
  numLayers: 3,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 16,
  maxPositions: 512,
  ropeTheta: 10_000,
  ropeScaling: null,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: true,
};
const LORA = {
  r: 8,
  alpha: 16,
  dropout: 0,
  rslora: false,
  targetModules: ["q_proj" as const],
  modulesToSave: [],
};
const DEVICE = { products: 4e12, bandwidth: 6e11, start: 4e-6 };

Deno.test("a forward pass has two operations for each weight and token, and attention's", () => {
  const full = modelSizes(CONFIG, { trainable: "full" });
  assert.deepEqual(forwardFlops(full, 100), {
    layers: 3 * 73_728,
    repeated: 2 * (73_728 - 2 * 64 * 128),
    attention: 4 * 3 * 64 * 100,
    head: 2 * 1000 * 64,
  });
});

Deno.test("a decode step reads each weight once in its type, and the keys and values", () => {
  const weights = 3 * 73_728 / 2 + 1000 * 64, cache = 5 * 20 * 3 * 2 * 32 * 4;
  assert.equal(decodeBytes(modelSizes(CONFIG, { trainable: "full" }), 5, 20), 4 * weights + cache);
  const storage = new Map([["model.embed_tokens.weight", "bf16" as const]]);
  const narrow = modelSizes(CONFIG, { trainable: "none", storage });
  assert.equal(decodeBytes(narrow, 5, 20), 4 * weights + cache - 2 * 1000 * 64);
});

Deno.test("training costs three forwards, two without weight gradients, one more recomputed", () => {
  const work = { promptTokens: 0, completionTokens: 100, group: 4, lanes: 8, moments: 1e6 };
  const seconds = (options: Parameters<typeof modelSizes>[1]) =>
    countedSpeed(DEVICE, modelSizes(CONFIG, options), work);
  const rate = DEVICE.products;
  const layers = 3 * 73_728, attention = 4 * 3 * 64 * 50, head = 2 * 1000 * 64;
  const near = (a: number, b: number) => assert.ok(Math.abs(a / b - 1) < 1e-9, `${a} is not ${b}`);
  const full = seconds({ trainable: "full" });
  near(full.forwardRow, (layers + attention + head) / rate);
  near(full.trainedRow, (3 * layers + 3.5 * attention + 4 * head) / rate);
  const again = seconds({ trainable: "full", recompute: true });
  const repeated = 2 * (73_728 - 2 * 64 * 128);
  near(again.trainedRow, (3 * layers + repeated + 4.5 * attention + 4 * head) / rate);
  const adapters = 3 * 2 * 8 * (64 + 64);
  const lora = seconds({ trainable: "lora", lora: LORA });
  near(lora.trainedRow, (2 * (layers + adapters) + 3.5 * attention + 2 * head) / rate);
  const { gradients } = parameterBytes(modelSizes(CONFIG, { trainable: "lora", lora: LORA }));
  near(lora.update, (3 * gradients + 2e6) / (DEVICE.bandwidth));
});

Deno.test("decoding is limited by memory, by products with many lanes, or by the host", () => {
  const sizes = modelSizes(
    { ...CONFIG, hiddenSize: 4096, intermediateSize: 16384, headDim: 1024 },
    {
      trainable: "none",
    },
  );
  const work = { promptTokens: 100, completionTokens: 100, group: 4, moments: 0 };
  const one = countedSpeed(DEVICE, sizes, { ...work, lanes: 1 });
  assert.equal(one.newToken, decodeBytes(sizes, 1, 150) / (DEVICE.bandwidth));
  const many = countedSpeed(DEVICE, sizes, { ...work, lanes: 4096 });
  const { layers, attention, head } = forwardFlops(sizes, 150);
  const products = (layers + attention + head) / (DEVICE.products);
  assert.ok(Math.abs(many.newToken / products - 1) < 1e-9);
  const tiny = countedSpeed(DEVICE, modelSizes(CONFIG, { trainable: "none" }), {
    ...work,
    lanes: 1,
  });
  assert.ok(Math.abs(tiny.newToken - 3 * 17 * 4e-6) < 1e-9, `${tiny.newToken}`);
});

Deno.test("the products that a device is asked for are those of the formulas", async () => {
  const folder = await readModelFolder(goldenPath("models/tinystories-656k"));
  for (const trainable of ["full", "lora"] as const) {
    for (const recompute of [false, true]) {
      const device = await createDevice("reference"), run = device.run.bind(device);
      let flops = 0;
      device.run = (op, args) => {
        if (op === "matmul") {
          const { m, n, k } = args as Ops["matmul"];
          flops += 2 * m * n * k;
        }
        run(op, args);
      };
      const lora = trainable === "lora" ? { lora: LORA } : {};
      const options = { trainable, recompute, ...lora };
      const model = await CausalLM.create(device, folder.config, folder.files, options);
      const promptIds = [1, 2, 3, 4, 5, 6, 7, 8], branches = Array(4).fill([...promptIds]);
      // The last token of a completion predicts nothing.
      const rows = 8 + 4 * 7, group = { promptId: 0, promptIds, branches };
      const { logp } = await model.forward([group], { temperature: 1, train: true });
      model.backward(new Float64Array(logp.length).fill(1e-3));
      const { layers, repeated } = forwardFlops(model.sizes, 0);
      const formula = layers * (trainable === "full" ? 3 : 2) + (recompute ? repeated : 0);
      const ratio = flops / rows / formula;
      assert.ok(ratio > 0.93 && ratio < 1.001, `${trainable} ${recompute}: ${ratio}`);
      model.dispose();
      device.close();
    }
  }
});
