import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { refusal } from "../core/testing.ts";
import { assertWithin, largest } from "../kernels/testing.ts";
import { initWeights } from "./network/weights/init.ts";
import { CausalLM, type CausalLMOptions } from "./causal_lm.ts";
import { assertGradientsAreSlopes } from "./finite_differences_testing.ts";
import { isSavedModule } from "./network/adapters/modules_to_save.ts";
import { onEachDevice } from "./each_device_testing.ts";
import {
  assertSameStep,
  assertStepIsPlanned,
  namesIn,
  randomModel,
  sampledLogprobs,
  scored,
  test,
  TINY_MODELS,
  tinyConfig,
  type TrainStep,
  trainStep,
  weighted,
} from "./testing.ts";
import type { Group } from "./network/types.ts";
import type { ModelConfig } from "./architectures/model_config.ts";

const groups: Group[] = [
  { promptIds: [1, 2, 3, 4], branches: [[5, 6, 7], [8], [9, 10, 11, 12, 13]] },
  { promptIds: [14], branches: [[2, 2, 18]] },
];

const { dlogp, dentropy, weigh } = weighted(12);

function options(modulesToSave: readonly string[], targets: readonly string[]): CausalLMOptions {
  return {
    trainable: "lora",
    lora: { r: 2, alpha: 4, targetModules: targets, modulesToSave, seed: 3 },
  };
}

/**
 * Modules saved in full with different adapters: the lowest trained layer, norms, parents of
 * modules, embedding and head.
 */
const CASES: [modules: string[], targets: string[]][] = [
  [["lm_head"], ["v_proj"]],
  [["embed_tokens"], ["q_proj"]],
  [["lm_head", "embed_tokens"], ["layers.2.mlp.up_proj"]],
  [["norm"], ["layers.1.self_attn.o_proj"]],
  [["layers.1.input_layernorm"], ["layers.2.mlp.down_proj"]],
  [["layers.1.post_attention_layernorm"], ["layers.2.mlp.down_proj"]],
  [["mlp", "q_proj"], ["v_proj", "up_proj", "q_proj"]],
];
const GPT2_CASES: [modules: string[], targets: string[]][] = [
  [["lm_head", "wpe"], ["c_attn"]],
  [["wte"], ["h.2.mlp.c_fc"]],
  [["ln_1", "ln_f"], ["h.1.attn.c_proj"]],
  [["h.1.mlp"], ["c_proj"]],
];

async function objective(model: CausalLM): Promise<number> {
  return weigh(await model.forward(groups, { temperature: 0.8, train: false }));
}

/** Changes every full copy, so that it differs from its original. */
async function moveCopies(model: CausalLM): Promise<void> {
  for (const { name } of model.trainable) {
    if (/lora_[AB]/.test(name)) continue;
    const data = await model.readParameter(name);
    model.writeParameter(name, data.map((x, i) => x + 0.2 * Math.cos(i * 0.7 + name.length)));
  }
}

/** Where a model is a Llama with other parts, these show that its names and parts are copied. */
const FEW = [CASES[2]!, CASES[6]!];

for (const [part, config] of TINY_MODELS) {
  const isLlama = config.architecture === undefined && config.ropeScaling === null;
  const cases = config.architecture === "gpt2" ? GPT2_CASES : isLlama ? CASES : FEW;
  test.onReference(`modules saved in full have the gradients of finite differences, with ${part}`, async (device) => {
    for (const [modules, targets] of cases) {
      const names = [modules, targets].map((list) => namesIn(config, list));
      const model = await randomModel(device, config, options(names[0]!, names[1]!));
      await moveCopies(model);
      const { grads } = await trainStep(model, groups, { dlogp, dentropy });
      await assertGradientsAreSlopes(model, grads, () => objective(model), `${modules}:`);
      model.dispose();
      assert.equal(device.allocatedBytes, 0);
    }
  });
}

const ON_DEVICES = ["qwen2", "qwen3", "gpt2", "gemma4_text", "phi3"];

for (const [part, config] of TINY_MODELS) {
  if (!ON_DEVICES.includes(config.architecture ?? "llama")) continue;
  Deno.test(`every device has the same gradients of full copies and of the head's adapter, with ${part}`, async () => {
    const gpt2 = config.architecture === "gpt2", tied = config.tieWordEmbeddings;
    const saved = ["embed_tokens", "norm", "layers.1.mlp", ...tied ? ["lm_head"] : []];
    const given = gpt2
      ? options(["wte", "wpe", "lm_head", "ln_1", "h.1.mlp"], ["c_attn"])
      : options(namesIn(config, saved), [
        ...namesIn(config, ["v_proj"]),
        ...tied ? [] : ["lm_head"],
      ]);
    let exactly: TrainStep | undefined;
    await onEachDevice(async (device) => {
      const model = await randomModel(device, config, given);
      await moveCopies(model);
      const found = await trainStep(model, groups, { dlogp, dentropy });
      assertSameStep(found, exactly ??= found, 1e-4, { least: 1e-2 });
      for (const [name, grad] of found.grads) assert.ok(largest(grad) > 0, name);
      model.dispose();
    });
  });
}

test.onReference("the model is its base before the first step and whenever the adapter is off", async (device) => {
  for (const tied of [true, false]) {
    const config = tinyConfig(tied), weights = initWeights(config, 1, 0.4);
    const base = await CausalLM.create(device, config, weights, { trainable: "none" });
    const model = await CausalLM.create(
      device,
      config,
      weights,
      options(["lm_head", "embed_tokens", "norm", "mlp"], ["q_proj"]),
    );
    const ids = [3, 1, 4, 1, 5], wanted = await base.lastLogits(ids);
    const ask = { maxNewTokens: 6, temperature: 0, seed: 1, eosIds: [] };
    const request = [{ promptId: 0, promptIds: ids, n: 1 }];
    assert.deepEqual(await model.lastLogits(ids), wanted);
    await moveCopies(model);
    assert.notDeepEqual(await model.lastLogits(ids), wanted);
    assert.deepEqual(await model.lastLogits(ids, { adapter: false }), wanted);
    const off = { temperature: 1, train: false, adapter: false };
    assert.deepEqual(await model.forward(groups, off), await base.forward(groups, off));
    const [ours, theirs] = [
      await model.generate(request, { ...ask, adapter: false }),
      await base.generate(request, ask),
    ];
    assert.deepEqual(ours, theirs);
    // Generation reports the same log-probabilities that a forward computes.
    const sampled = await model.generate(request, { ...ask, temperature: 1 });
    const logp = await scored(model, request, sampled);
    assertWithin(sampledLogprobs(sampled), logp, 1e-9, "log-probabilities");
    base.dispose();
    model.dispose();
  }
});

test.onReference("the copy of a weight in a storage type begins with the stored values", async (device) => {
  for (const tied of [true, false]) {
    const config = { ...tinyConfig(tied), hiddenSize: 16 };
    const given = options(["lm_head", "embed_tokens", "layers.1.mlp"], ["q_proj"]);
    for (const weights of [{ dtype: "bfloat16" }, { dtype: "float16" }] as const) {
      const source = initWeights(config, 1, 0.4);
      const model = await CausalLM.create(device, config, source, { ...given, weights });
      const up = model.parameters.find(({ name }) => name.endsWith("layers.0.mlp.up_proj.weight"))!;
      assert.notEqual(up.storage, null, "the base is held in halves");
      const ids = [3, 1, 4, 1, 5], plain = await model.lastLogits(ids, { adapter: false });
      assert.deepEqual(await model.lastLogits(ids), plain);
      await moveCopies(model);
      assert.notDeepEqual(await model.lastLogits(ids), plain);
      assert.deepEqual(await model.lastLogits(ids, { adapter: false }), plain);
      model.dispose();
    }
  }
  assert.equal(device.allocatedBytes, 0);
});

test.onReference("copies are planned, trained and named as PEFT names them", async (device) => {
  const config = { ...tinyConfig(true), maxPositions: 256 };
  const names = async (modules: string[]) => {
    const model = await CausalLM.create(
      device,
      config,
      initWeights(config, 1, 0.1),
      options(modules, ["layers.0.self_attn.q_proj", "layers.0.mlp.up_proj"]),
    );
    await assertStepIsPlanned(model);
    const found = model.trainable.map(({ name, decay }) => [name, decay] as const)
      .filter(([name]) => !/lora_[AB]/.test(name));
    assert.equal(model.trainable.length - found.length, modules.includes("mlp") ? 2 : 4);
    model.dispose();
    return Object.fromEntries(found);
  };
  assert.deepEqual(await names(["lm_head"]), { "base_model.model.lm_head.weight": true });
  assert.deepEqual(await names(["embed_tokens", "model.norm"]), {
    "base_model.model.model.embed_tokens.weight": true,
    "base_model.model.model.norm.weight": false,
  });
  assert.equal(Object.keys(await names(["mlp"])).length, 9);
});

Deno.test("a name selects every module whose path ends with it, and everything in it", () => {
  const saved = (path: string, name: string) => isSavedModule(path, [name]);
  assert.ok(saved("lm_head", "lm_head"));
  assert.ok(saved("model.layers.1.mlp.up_proj", "mlp"));
  assert.ok(saved("model.layers.1.input_layernorm", "norm"), "PEFT asks how the path ends");
  assert.ok(!saved("model.layers.1.input_layernorm", "input"));
  assert.ok(!saved("model.layers.1.mlp.up_proj", "layers.0.mlp"));
});

test.onReference("a module that the model does not have is refused by name", async (device) => {
  const create = (config: ModelConfig, modules: string[], targets: string[]) =>
    CausalLM.create(device, config, initWeights(config, 1, 0.1), options(modules, targets));
  await assert.rejects(
    create(tinyConfig(true), ["lm_haed"], ["q_proj"]),
    refusal(/^modules_to_save: "lm_haed" is no module of this model/, UsageError, {
      advice: /did you mean "lm_head"/,
    }),
  );
  await assert.rejects(
    create(tinyConfig(true), ["q_proj"], ["q_proj"]),
    /select no module/,
  );
  assert.equal(device.allocatedBytes, 0);
});
