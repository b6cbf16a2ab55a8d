import assert from "node:assert/strict";
import { assertErrors, load } from "../testing.ts";

const START = "model: base\ntask: chain_sum\nrewards: [correctness]\n";
const ADAPTER = {
  peft_type: "LORA",
  base_model_name_or_path: "../base",
  r: 4,
  lora_alpha: 6,
  lora_dropout: 0.1,
  target_modules: ["v_proj", "q_proj"],
  use_rslora: true,
  rank_pattern: { q_proj: 2 },
};
const FILES = {
  "base/config.json": "{}",
  "old/adapter_config.json": JSON.stringify(ADAPTER),
  "other/adapter_config.json": JSON.stringify({ ...ADAPTER, base_model_name_or_path: "org/x" }),
  "ia3/adapter_config.json": JSON.stringify({ ...ADAPTER, peft_type: "IA3" }),
  "broken/adapter_config.json": "{",
};

Deno.test("a saved adapter that is trained further says its shape", async () => {
  const loraOf = async (yaml: string, expectedNotes: string[] = []) => {
    const { config, notes, yaml: resolved } = await load(START + yaml, {}, FILES);
    assert.deepEqual(notes, expectedNotes);
    // The configuration that a run keeps is read the same way.
    assert.deepEqual((await load(resolved, {}, FILES)).config.lora, config.lora);
    return config.lora!;
  };
  const lora = await loraOf("adapter_name_or_path: old\n");
  assert.deepEqual([lora.r, lora.lora_alpha, lora.lora_dropout], [4, 6, 0.1]);
  assert.deepEqual(lora.target_modules, ["v_proj", "q_proj"]);
  assert.deepEqual([lora.use_rslora, lora.rank_pattern], [true, { q_proj: 2 }]);
  const written = "adapter_name_or_path: old\n" +
    "lora: {r: 4, target_modules: [q_proj, v_proj], lora_dropout: 0.25}\n";
  assert.equal((await loraOf(written)).lora_dropout, 0.25);
  // The general values of rgx's own files are not those of an adapter.
  assert.equal((await loraOf("_base_: rgx:base.yaml\nadapter_name_or_path: old\n")).r, 4);
  const onAnother = "f.yaml:4:23: model.adapter_name_or_path: the adapter was trained on org/x, " +
    "not on base";
  assert.equal((await loraOf("adapter_name_or_path: other\n", [onAnother])).r, 4);
});

/** YAML after START, and deeper its errors. */
const REFUSED = String.raw`
adapter_name_or_path: old\nlora_r: 8\nlora: {use_rslora: false, init_lora_weights: false}
  f.yaml:5:9: lora_r: the adapter old has 4: leave the key out
  f.yaml:6:20: lora.use_rslora: the adapter old has true: leave the key out
  f.yaml:6:46: lora.init_lora_weights: the weights of the adapter old are read: leave the key out
adapter_name_or_path: old\nlora: {target_modules: all-linear}
  f.yaml:5:24: lora.target_modules: the adapter old has ["v_proj","q_proj"]: leave the key out
adapter_name_or_path: old\nuse_peft: false
  f.yaml:5:11: use_peft: false, and adapter_name_or_path names an adapter to train
adapter_name_or_path: base
  f.yaml:4:23: model.adapter_name_or_path: base: a whole model and no adapter; name it in
    model_name_or_path
adapter_name_or_path: ia3
  f.yaml:4:23: model.adapter_name_or_path: ia3: an adapter of the type "IA3", only "LORA" is
    supported
adapter_name_or_path: broken
  f.yaml:4:23: …adapter_config.json: not valid JSON…
`;

Deno.test("keys that an adapter contradicts, and folders without one, are refused", () =>
  assertErrors(REFUSED, START, FILES));
