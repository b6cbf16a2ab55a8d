/** Weights that are read in parts are those that are read at once, in every way to hold them. */
import assert from "node:assert/strict";
import { narrowBF16 } from "../core/half_floats.ts";
import { createWasmDevice } from "../kernels/wasm/device.ts";
import { quantizeQ8 } from "../kernels/weights/quantize.ts";
import { initWeights } from "./init.ts";
import { LlamaModel } from "./llama.ts";
import { llamaTensors } from "./llama_weights.ts";
import { tinyConfig } from "./testing.ts";
import type { LlamaConfig, WeightReader } from "./types.ts";
import type { StorageOptions } from "./weight_storage.ts";

/** Matrices that are longer than a part: [20007, 256] and [20032, 256]. */
const config: LlamaConfig = {
  ...tinyConfig(true),
  architecture: "qwen2",
  ...{ numLayers: 1, hiddenSize: 256, intermediateSize: 20_032, vocabSize: 20_007 },
  ...{ numHeads: 4, numKvHeads: 2, headDim: 64 },
};
const VALUES = initWeights(config, 5, 0.3);

/** A file in a type; what was read of it goes to `seen`. */
function file(type: "bf16" | "q8_0", inParts: boolean, seen: string[] = []): WeightReader {
  const matrices = new Set(
    llamaTensors(config).filter(({ shape }) => shape.length === 2).map(({ name }) => name),
  );
  const bytes = (name: string) => {
    const values = VALUES.get(name)!;
    return type === "q8_0" ? quantizeQ8(values) : new Uint8Array(narrowBF16(values).buffer);
  };
  const reader: WeightReader = {
    label: "a file",
    typeOf: (name) => matrices.has(name) ? type : null,
    values: (name) => Promise.resolve(VALUES.get(name) ?? null),
    bytes: (name) => Promise.resolve(bytes(name)),
  };
  if (!inParts) return reader;
  return {
    ...reader,
    bytesInto(name, _shape, from, out) {
      seen.push(`${name} ${from}`);
      out.set(bytes(name).subarray(from, from + out.length));
      // As of a tensor whose rows are put in another order.
      return Promise.resolve(!name.includes("q_proj"));
    },
  };
}

Deno.test("weights in parts are the same weights", async () => {
  const device = await createWasmDevice({ threads: 2 });
  const ways: ["bf16" | "q8_0", StorageOptions][] = [
    ["bf16", {}],
    ["q8_0", {}],
    ["bf16", { quantize: "nf4" }],
    ["bf16", { quantize: "int8" }],
  ];
  for (const [type, weights] of ways) {
    const seen: string[] = [], models: LlamaModel[] = [];
    for (const source of [file(type, true, seen), file(type, false)]) {
      models.push(await LlamaModel.create(device, config, source, { trainable: "none", weights }));
    }
    assert.ok(seen.filter((part) => part.startsWith("model.layers.0.mlp.up_proj")).length > 1);
    assert.ok(seen.some((part) => part.startsWith("model.embed_tokens") && !part.endsWith(" 0")));
    const [a, b] = models as [LlamaModel, LlamaModel];
    for (const [i, { name, value, storage }] of a.parameters.entries()) {
      assert.equal(b.parameters[i]!.storage, storage);
      assert.deepEqual(await device.read(value), await device.read(b.parameters[i]!.value), name);
    }
    for (const model of models) model.dispose();
  }
  device.close();
});

Deno.test("a value that cannot be quantised is named by its row in the whole tensor", async () => {
  const device = await createWasmDevice({ threads: 1 });
  const source = file("bf16", true), name = "model.layers.0.mlp.up_proj.weight";
  const spoilt: WeightReader = {
    ...source,
    async bytesInto(asked, shape, from, out) {
      const whole = await source.bytesInto!(asked, shape, from, out);
      const at = 2 * (20_000 * 256 + 3) - from;
      if (asked === name && at >= 0 && at < out.length) out.set([0x80, 0x7f], at);
      return whole;
    },
  };
  await assert.rejects(
    LlamaModel.create(device, config, spoilt, { trainable: "none", weights: { quantize: "nf4" } }),
    /a file: tensor "model\.layers\.0\.mlp\.up_proj\.weight": .* element 3 of row 20000 is Infinity/,
  );
  assert.equal(device.allocatedBytes, 0);
  device.close();
});
