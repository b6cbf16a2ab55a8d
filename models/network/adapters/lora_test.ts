import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { moduleNames } from "../../architectures/mod.ts";
import { placeLora } from "../weights/model_weights.ts";
import { checkLoraOptions, initialLora, loraFor, loraNames, type LoraOptions } from "./lora.ts";
import { tinyConfig } from "../../testing.ts";

const path = "model.layers.3.self_attn.q_proj";
const base: LoraOptions = { r: 8, alpha: 16, targetModules: ["q_proj"] };

Deno.test("targets are module names, path suffixes, one whole-path pattern, or all of them", () => {
  const chosen = (targetModules: LoraOptions["targetModules"], of = path) =>
    loraFor({ ...base, targetModules }, of, 3) !== null;
  assert.ok(chosen(["v_proj", "q_proj"]));
  assert.ok(chosen(["self_attn.q_proj"]));
  assert.ok(chosen([path]));
  assert.ok(!chosen(["_proj"]) && !chosen(["mlp.q_proj"]) && !chosen(["k_proj"]));
  assert.ok(chosen(".*\\.[0-3]\\.self_attn\\..*"));
  assert.ok(!chosen("self_attn"), "a pattern must match the whole path");
  assert.ok(chosen("all-linear"));
  assert.equal(placeLora(tinyConfig(true), { ...base, targetModules: "all-linear" }).length, 21);
});

Deno.test("rank and scale follow the patterns and the rank-stabilised rule", () => {
  const plain = { bias: false, magnitude: false, from: null };
  assert.deepEqual(loraFor(base, path, 3), { r: 8, scale: 2, ...plain });
  const stable = { ...base, useRslora: true, r: 16 };
  assert.deepEqual(loraFor(stable, path, 3), { r: 16, scale: 4, ...plain });
  const patterned = {
    ...base,
    rankPattern: { "layers.2.self_attn.q_proj": 2, "layers.3.*": 4, q_proj: 5 },
    alphaPattern: { "q_proj": 1 },
  };
  assert.deepEqual(loraFor(patterned, path, 3), { r: 4, scale: 0.25, ...plain });
  assert.equal(loraFor({ ...base, layersToTransform: [1, 2] }, path, 3), null);
  const named = { ...base, layersToTransform: [1, 2], targetModules: [path] };
  assert.notEqual(loraFor(named, path, 3), null);
});

Deno.test("A is initialised uniformly in ±1/√in, keyed by seed and PEFT name", () => {
  const { a, b } = loraNames(path);
  assert.equal(a, "base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight");
  assert.equal(b, "base_model.model.model.layers.3.self_attn.q_proj.lora_B.weight");
  const initial = (options: Pick<LoraOptions, "seed" | "init">) =>
    initialLora(options, loraNames(path), 16, [100, 50]);
  const { a: values, b: zeros } = initial({ seed: 7 });
  assert.equal(values.length, 1600);
  assert.ok(values.every((x) => Math.abs(x) <= 0.1));
  assert.ok(Math.max(...values) > 0.099 && Math.min(...values) < -0.099);
  assert.deepEqual(initial({ seed: 7 }).a, values);
  assert.notDeepEqual(initial({ seed: 8 }).a, values);
  assert.ok(zeros.length === 800 && zeros.every((x) => x === 0));

  const { a: normal, b: none } = initial({ seed: 7, init: "gaussian" });
  const deviation = Math.sqrt(normal.reduce((sum, x) => sum + x * x, 0) / normal.length);
  assert.ok(Math.abs(deviation * 16 - 1) < 0.1, "PEFT's deviation is 1/r");
  assert.ok(none.every((x) => x === 0));

  const { a: same, b: other, bias } = initial({ seed: 7, init: "false" });
  assert.deepEqual(same, values);
  assert.ok(other.every((x) => Math.abs(x) <= 0.25) && Math.max(...other) > 0.24);
  assert.ok(bias.length === 50 && bias.every((x) => Math.abs(x) <= 0.25) && bias.some((x) => x));
});

Deno.test("LoRA options that are not supported are refused with the key's name", () => {
  const refused = (change: Partial<LoraOptions>, text: RegExp) =>
    assert.throws(
      () => checkLoraOptions({ ...base, ...change }, moduleNames(tinyConfig(true))),
      refusal(text, UsageError),
    );
  refused({ r: 0 }, /rank r must be an integer of at least 1, got 0/);
  refused({ alpha: 0 }, /lora_alpha/);
  refused({ dropout: 1 }, /lora_dropout must be at least 0 and below 1, got 1/);
  refused({ dropout: -0.1 }, /lora_dropout .* got -0.1/);
  refused({ dropout: NaN }, /lora_dropout .* got NaN/);
  refused({ useDora: true, loraBias: true }, /lora_bias goes with no DoRA/);
  refused({ loraBias: true, init: "gaussian" }, /lora_bias goes with init_lora_weights true/);
  refused({ loraBias: true, init: "olora" }, /lora_bias goes with init_lora_weights .* not olora/);
  refused({ useDora: true, init: "pissa" }, /use_dora goes with no init_lora_weights pissa/);
  refused({ targetModules: [] }, /target_modules of LoRA is empty/);
  refused({ targetModules: ["c_attn"] }, /"c_attn" is no linear module/);
  refused({ targetModules: "(" }, /"\(" is no valid regular expression/);
  assert.throws(
    () => placeLora(tinyConfig(true), { ...base, targetModules: "nothing" }),
    /select no module/,
  );
  for (
    const [key, change] of [["use_dora", { useDora: true }], ["lora_bias", { loraBias: true }]]
  ) {
    assert.throws(
      () =>
        placeLora(tinyConfig(true), { ...base, ...change as object, targetModules: ["lm_head"] }),
      new RegExp(`^UsageError: ${key}: not on the head \\(lm_head\\)`),
    );
  }
});

Deno.test("target modules of another architecture are refused with those of this one", () => {
  assert.throws(
    () => checkLoraOptions(base, moduleNames({ ...tinyConfig(true), architecture: "gpt2" })),
    {
      message: 'target_modules: "q_proj" is no linear module of this model',
      advice: "lora.target_modules=[c_attn,c_proj,c_fc] or some of these, =all-linear for all, " +
        "or =null for " +
        "those that its architecture usually has; lm_head is the head",
    },
  );
});

Deno.test("a pattern that a search would try for years has its answer at once", () => {
  for (const targetModules of ["([a-z_.0-9]+)+X", "(?!.*vision)(([a-z_.0-9]+)+)+X", "(.*)*!"]) {
    assert.equal(loraFor({ ...base, targetModules }, path, 3), null);
  }
  assert.throws(
    () => loraFor({ ...base, targetModules: "(([a-z_.0-9]+)+)\\1X" }, path, 3),
    /^UsageError: target_modules: .* is no valid regular expression: .* a back reference$/,
  );
});

Deno.test("the head gets an adapter where it is named, by path or regular expression", () => {
  const places = (options: Partial<LoraOptions>) =>
    placeLora(tinyConfig(true), { ...base, ...options }).filter(({ layer }) => layer === null);
  const shape = { layer: null, module: "lm_head", path: "lm_head", peftPath: "lm_head" };
  assert.deepEqual(places({ targetModules: ["q_proj", "lm_head"] }), [
    { ...shape, r: base.r, scale: base.alpha / base.r, bias: false, magnitude: false, from: null },
  ]);
  assert.equal(places({ targetModules: ".*q_proj|lm_head" }).length, 1);
  for (const targetModules of ["all-linear", ".*_proj", ["q_proj"]]) {
    assert.deepEqual(places({ targetModules }), [], "PEFT's all-linear leaves the head out, too");
  }
  const named = { targetModules: ["q_proj", "lm_head"], rankPattern: { lm_head: 5 } };
  assert.equal(places({ ...named, useRslora: true })[0]!.scale, base.alpha / Math.sqrt(5));
  // A module that is named by its whole path is not chosen by its layer.
  assert.equal(places({ ...named, layersToTransform: [1] }).length, 1);
  assert.equal(places({ targetModules: ".*q_proj|lm_head", layersToTransform: [1] }).length, 0);
  assert.equal(places({ ...named, excludeModules: ["lm_head"] }).length, 0);
  assert.equal(places({ ...named, modulesToSave: ["lm_head"] }).length, 0);
});

Deno.test("another path of the head is refused with the right one", () => {
  assert.throws(() => checkLoraOptions({ ...base, targetModules: ["model.lm_head"] }, ["q_proj"]), {
    message: 'target_modules: "model.lm_head" is no linear module of this model',
    advice: "the path of the head is lm_head",
  });
});
