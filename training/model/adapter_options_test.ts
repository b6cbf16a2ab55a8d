import assert from "node:assert/strict";
import { tinyConfig } from "../../models/testing.ts";
import { loraOptions, type PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import { placeLora } from "../../models/network/weights/model_weights.ts";
import { tinyRunConfig } from "../testing.ts";
import { peftConfig } from "./adapter_options.ts";

const model = tinyConfig(true);

/** What is written for a section `lora` with these keys. */
function written(
  target_modules: string | string[],
  layers_to_transform: number[] | null,
  continued?: PeftConfig,
): PeftConfig {
  const config = tinyRunConfig("out", { lora: { target_modules, layers_to_transform } });
  return peftConfig(config, config.lora!, model, continued);
}

const paths = (config: PeftConfig) => placeLora(model, loraOptions(config)).map(({ path }) => path);

Deno.test("an adapter's file names its modules, as PEFT requires with layers_to_transform", () => {
  const names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
  for (const layers of [null, [0, 2]]) {
    const { targetModules, layersToTransform } = written("all-linear", layers);
    assert.deepEqual([...targetModules].sort(), names.toSorted());
    assert.deepEqual(layersToTransform, layers);
  }
  assert.equal(paths(written("all-linear", [0, 2])).length, 2 * 7);
  // A regular expression stays one, unless layers are chosen.
  assert.equal(written(".*[qv]_proj", null).targetModules, ".*[qv]_proj");
  const some = written(".*[qv]_proj", [1]);
  assert.deepEqual(some.targetModules, [
    "model.layers.1.self_attn.q_proj",
    "model.layers.1.self_attn.v_proj",
  ]);
  assert.equal(some.layersToTransform, null);
  assert.deepEqual(paths(some), some.targetModules);
  // An adapter that is trained further keeps its modules, by name.
  const before = { ...some, targetModules: "all-linear", layersToTransform: [1] };
  const again = written("all-linear", null, before);
  assert.deepEqual(paths(again), paths(before));
  assert.ok(Array.isArray(again.targetModules));
});
