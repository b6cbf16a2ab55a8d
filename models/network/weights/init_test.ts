import assert from "node:assert/strict";
import { initWeights } from "./init.ts";
import { modelTensors } from "../../architectures/mod.ts";
import { tinyConfig } from "../../testing.ts";

const config = { ...tinyConfig(false), hiddenSize: 64, vocabSize: 200 };

function deviation(data: Float32Array): number {
  return Math.sqrt(data.reduce((sum, x) => sum + x * x, 0) / data.length);
}

Deno.test("initial weights are normal with the given range, and norms are ones", () => {
  const weights = initWeights(config, 3, 0.02);
  assert.deepEqual([...weights.keys()], modelTensors(config).map((t) => t.name));
  for (const [name, data] of weights) {
    if (name.endsWith("norm.weight")) assert.ok(data.every((x) => x === 1), name);
    else assert.ok(Math.abs(deviation(data) / 0.02 - 1) < 0.1, `${name}: ${deviation(data)}`);
  }
});

Deno.test("a tensor's initial weights depend only on the seed and its name", () => {
  const name = "model.layers.1.self_attn.v_proj.weight";
  const first = initWeights(config, 3, 0.02).get(name)!;
  const deeper = initWeights({ ...config, numLayers: 5, vocabSize: 7 }, 3, 0.02).get(name)!;
  assert.deepEqual(deeper, first);
  assert.notDeepEqual(initWeights(config, 4, 0.02).get(name), first);
  const other = initWeights(config, 3, 0.02).get("model.layers.0.self_attn.v_proj.weight");
  assert.notDeepEqual(other, first);
});
