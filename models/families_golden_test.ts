/**
 * Compares with transformers and PEFT: the tiny random models of tests/golden/tiny-models and
 * tests/golden/families (logits, loss, every gradient, greedy continuation, an adapter) and the two
 * small trained models of tests/golden/models, on the float64 reference, on the CPU device and on a
 * GPU; and the families' configuration and adapter written by rgx. For the families transformers
 * computed angles and most norms in float32, so the reference agrees with it in six digits.
 */
import assert from "node:assert/strict";
import { namesIn } from "../core/testing.ts";
import { assertWithin, largest } from "../kernels/testing.ts";
import { goldenPath, readGoldenJson } from "../tests/golden.ts";
import { readHfConfig, writeHfConfig } from "./architectures/hf_config.ts";
import { CausalLM } from "./causal_lm.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { fileTensors, modelTensors } from "./architectures/mod.ts";
import { transposeEach } from "./formats/expert_files.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import { readSafetensors } from "./formats/safetensors/safetensors.ts";
import { mergedConfig } from "./export/merged_weights.ts";
import { mergedMap } from "./folder_testing.ts";
import { logSumExp } from "./logits.ts";
import { readModelFolder } from "./model_folder.ts";
import { initWeights } from "./network/weights/init.ts";
import { loraOptions } from "./network/adapters/peft_adapter.ts";
import { gradients } from "./testing.ts";

interface Expected {
  input_ids: number[][];
  loss: { f64: number };
  greedy: number[][];
}

/** Recorded families; programs stand beside them. */
const FAMILIES = namesIn(goldenPath("families")).filter((name) => !name.includes("."));
assert.equal(FAMILIES.length, 19);

/** Bounds of logits, of the loss, and of gradients beside their largest value. */
interface Bounds {
  logits: number;
  loss: number;
  gradient: number;
}

/** Logits, loss, gradients and text of a recorded model are transformers'. */
function likeTransformers(name: string, reference: Bounds, others: Bounds): void {
  const folder = goldenPath(name)!;
  Deno.test(`${name} has transformers' logits, loss, gradients and text`, () =>
    onEachDevice(async (device, exact) => {
      const bounds = exact ? reference : others;
      const { config, files } = await readModelFolder(folder);
      const golden = await readSafetensors(`${folder}/expected.safetensors`);
      const expected = readGoldenJson<Expected>(`${name}/expected.json`);
      const model = await CausalLM.create(device, config, files, { trainable: "full" });
      for (const [s, ids] of expected.input_ids.entries()) {
        const logits = await golden.float64(`logits64.${s}`);
        for (const n of isEmulated(device) ? [ids.length] : [1, 2, 7, ids.length]) {
          const row = logits.subarray((n - 1) * config.vocabSize, n * config.vocabSize);
          const found = await model.lastLogits(ids.slice(0, n));
          assertWithin(found, row, bounds.logits, `logits of sequence ${s}, row ${n - 1}`);
        }
      }
      const groups = expected.input_ids.map((ids) => ({
        promptIds: ids.slice(0, 3),
        branches: [ids.slice(3)],
      }));
      const first = expected.input_ids.map((ids) => ({
        promptIds: ids.slice(0, 1),
        branches: [ids.slice(1, 3)],
      }));
      const stored = new Map(
        modelTensors(config).map((tensor) => [tensor.name, fileTensors(config, tensor)[0]!]),
      );
      let loss = 0;
      // The loss is a sum, so the first tokens may be a batch of their own.
      for (const batch of [first, groups]) {
        const { logp } = await model.forward(batch, { temperature: 1, train: true });
        for (const x of logp) loss -= x;
        model.backward(new Float64Array(logp.length).fill(-1));
      }
      assertWithin([loss], [expected.loss.f64], bounds.loss, "loss");
      for (const [tensor, grad] of await gradients(model)) {
        // Parameters of experts have no ".weight" in transformers, and gpt-oss transposes them.
        const name = golden.tensors.has(`grad.${tensor}`)
          ? tensor
          : tensor.replace(".weight", "").replace(".bias", "_bias");
        const { transposed = false } = stored.get(tensor) ?? {};
        const given = await golden.float64(`grad.${name}`), { shape } = golden.info(`grad.${name}`);
        const wanted = transposed ? transposeEach(given, shape[0]!, shape[1]!) : given;
        assertWithin(grad, wanted, bounds.gradient * largest(wanted), `gradient of ${tensor}`);
      }
      const completions = await model.generate(
        expected.input_ids.map((promptIds, promptId) => ({ promptId, promptIds, n: 1 })),
        { maxNewTokens: expected.greedy[0]!.length, temperature: 0, seed: 0, eosIds: [] },
      );
      assert.deepEqual(completions.map(([c]) => c!.ids), expected.greedy);
    }));
}

for (const family of ["llama", "llama3", "smollm2", "mistral", "qwen2", "qwen3", "gpt2"]) {
  // The recorded gradients are float32 themselves.
  const exact = { logits: 1e-11, loss: 5e-9, gradient: 5e-6 };
  likeTransformers(`tiny-models/${family}`, exact, { logits: 1e-4, loss: 5e-4, gradient: 1e-4 });
}

for (const family of FAMILIES) {
  const name = `families/${family}`, folder = goldenPath(name)!;
  const exact = { logits: 2e-5, loss: 1e-3, gradient: 2e-5 };
  likeTransformers(name, exact, { logits: 2e-4, loss: 5e-3, gradient: 2e-4 });

  Deno.test(`a config.json of ${family} that was written is read as the same model`, async () => {
    const { config } = await readModelFolder(folder);
    // Of a model that also sees, the text model is written.
    const { wrapped: _, ...text } = config;
    const balanced = config.experts && { experts: { ...config.experts, balance: 1 } };
    const hf = { modelConfig: { ...config, ...balanced }, bosId: 1, eosIds: [2], padId: 0 };
    const written = JSON.parse(writeHfConfig(hf));
    assert.doesNotMatch(writeHfConfig(hf), /(softcapping|swiglu_limit|aux_loss_coef)": \d+,?$/m);
    assert.deepEqual(readHfConfig(written, "written").modelConfig, { ...text, ...balanced });
  });

  Deno.test(`an adapter on the tiny ${family} model has PEFT's tensors and logits, also merged`, () =>
    onEachDevice(async (device, exact) => {
      // All kinds of adapters run there, too (peft_variants_test.ts).
      if (isEmulated(device)) return;
      const base = await readModelFolder(`${folder}/adapter`), { config, adapter } = base;
      const golden = await readSafetensors(`${folder}/adapter/expected.safetensors`);
      const { input_ids: [ids] } = readGoldenJson<Expected>(`${name}/expected.json`);
      const wanted = await golden.float64("logits64");
      const check = async (model: CausalLM, what: string) => {
        const found: number[] = [];
        await model.positionLogits(ids!, (_, logits) => found.push(...logits));
        assertWithin(found, wanted, exact ? 2e-5 : 2e-4, what);
        model.dispose();
      };
      const lora = loraOptions(adapter!.config);
      const model = await CausalLM.create(device, config, base.files, { trainable: "lora", lora });
      const shapes = (tensors: Iterable<{ name: string; shape: readonly number[] }>) =>
        [...tensors].map(({ name, shape }) => `${name} ${shape}`).sort();
      const { weights } = adapter!;
      assert.deepEqual(shapes(model.trainable), shapes(weights.tensors.values()));
      for (const { name } of model.trainable) {
        model.writeParameter(name, await weights.float32(name));
      }
      await check(model, "the adapter's logits");
      const merged = await mergedMap(base), none = { trainable: "none" } as const;
      await check(
        await CausalLM.create(device, mergedConfig(base), merged, none),
        "the merged model's logits",
      );
    }));
}

for (const family of ["qwen3_moe", "mixtral", "gpt_oss"]) {
  const name = `families/${family}`, folder = goldenPath(name)!;
  Deno.test(`the loss that balances experts of ${family} and its gradients are transformers'`, () =>
    onEachDevice(async (device, exact) => {
      if (isEmulated(device) && family !== "gpt_oss") return;
      const { config: given, files } = await readModelFolder(folder);
      const golden = await readSafetensors(`${folder}/balance.safetensors`);
      const { input_ids: [ids] } = readGoldenJson<Expected>(`${name}/expected.json`);
      const config = { ...given, experts: { ...given.experts!, balance: 0.5 } };
      for (const recompute of [false, true]) {
        const options = { trainable: "full", recompute } as const;
        const model = await CausalLM.create(device, config, files, options);
        const group = { promptIds: ids!.slice(0, 3), branches: [ids!.slice(3)] };
        const { logp, balance } = await model.forward([group], { temperature: 1, train: true });
        const bound = exact ? 2e-5 : 2e-4, [loss] = await golden.float64("balance");
        assertWithin([balance!], [loss! / 2], bound, "balance");
        model.backward(new Float64Array(logp.length), undefined, 2);
        const found = await gradients(model);
        for (const tensor of modelTensors(config)) {
          const parameter = `balance.${tensor.name}`;
          if (!golden.tensors.has(parameter)) continue;
          const wanted = await golden.float64(parameter), grad = found.get(tensor.name)!;
          assertWithin(grad, wanted, bound * largest(wanted), `gradient of ${tensor.name}`);
        }
        model.dispose();
      }
    }));
}

Deno.test("a vocabulary of 262,144 words is computed in chunks and as all logits alike", async () => {
  const { config } = await readModelFolder(goldenPath("families/gemma3_text"));
  const sizes = { ...config, vocabSize: 262_144 }, device = await createWasmDevice({ threads: 2 });
  try {
    const weights = initWeights(sizes, 1, 0.3);
    const model = await CausalLM.create(device, sizes, weights, { trainable: "none" });
    const prompt = [5, 262_143], branch = [100_000, 200_001];
    const group = { promptIds: prompt, branches: [branch] };
    const { logp } = await model.forward([group], { temperature: 1, train: false });
    const logits = await model.lastLogits([...prompt, branch[0]!]);
    assertWithin([logp[1]!], [logits[branch[1]!]! - logSumExp(logits)], 1e-5, "log-probability");
  } finally {
    device.close();
  }
});

const TRAINED = [
  {
    name: "tinystories-656k",
    prompt: [1, 80, 147, 201, 282, 57],
    text: "a little girl named Lily lived in a small house",
    top5: [[313, 17.3808], [8, 13.7726], [1773, 13.7435], [404, 12.6918], [547, 11.3585]],
  },
  {
    name: "stories260k",
    prompt: [1, 403, 407, 261, 378],
    text: "there was a little girl named Lily. She loved to play outside in the park.",
    top5: [[432, 17.7994], [383, 14.2813], [322, 9.7097], [353, 9.5873], [323, 9.1342]],
  },
];

for (const { name, prompt, text, top5 } of TRAINED) {
  Deno.test(`${name} reproduces its published logits and greedy text`, () =>
    onEachDevice(async (device) => {
      const { config, files, tokenizer } = await readModelFolder(goldenPath(`models/${name}`));
      assert.deepEqual(tokenizer!.encode("Once upon a time"), prompt);
      const model = await CausalLM.create(device, config, files, { trainable: "none" });
      const logits = await model.lastLogits(prompt);
      const best = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, 5);
      assert.deepEqual(best, top5.map(([id]) => id));
      assertWithin(best.map((id) => logits[id]!), top5.map(([, z]) => z!), 2e-4, "top logits");
      const [completions] = await model.generate(
        [{ promptId: 0, promptIds: prompt, n: 1 }],
        { maxNewTokens: 32, temperature: 0, seed: 0, eosIds: [] },
      );
      const found = tokenizer!.decode([...prompt, ...completions![0]!.ids], {
        skipSpecialTokens: true,
      });
      assert.ok(found.trimStart().startsWith(`Once upon a time, ${text}`), found);
    }));
}
