/**
 * Compares variants of LoRA with PEFT 0.21.2 (tests/golden/peft/variants): logits, loss and every
 * gradient of an adapter after its initialisation and after its weights changed, on the float64
 * reference, the CPU device and a GPU; the same adapter merged, as a GGUF file, and written and
 * read again.
 */
import assert from "node:assert/strict";
import { assertWithin, largest } from "../kernels/testing.ts";
import { goldenPath } from "../tests/golden.ts";
import { CausalLM } from "./causal_lm.ts";
import { namesIn, withFolder, writeFiles } from "../core/testing.ts";
import { IDS } from "./adapter_testing.ts";
import { encodePeftAdapter, mergedMap } from "./folder_testing.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import { ggufMetadata, ggufTensors } from "./export/gguf_export.ts";
import { mergedConfig, mergedWeights } from "./export/merged_weights.ts";
import { readSafetensors, type SafetensorsFile } from "./formats/safetensors/safetensors.ts";
import { writeGguf } from "./formats/gguf/gguf_writer.ts";
import { loadIdModel } from "./load_model.ts";
import { readModelFolder } from "./model_folder.ts";
import {
  loraOptions,
  type PeftConfig,
  readPeftConfig,
  writePeftConfig,
} from "./network/adapters/peft_adapter.ts";
import { isTaken } from "./network/adapters/lora.ts";
import { gradients, test, withReference } from "./testing.ts";
import type { Group, Parameter } from "./network/types.ts";

const CASES = namesIn(goldenPath("peft/variants"));
assert.equal(CASES.length, 18);
const GROUPS: Group[] = [{ promptId: 0, promptIds: IDS.slice(0, 1), branches: [IDS.slice(1)] }];

async function logitsOf(model: CausalLM, adapter = true): Promise<number[]> {
  const found: number[] = [];
  await model.positionLogits(IDS, (_, logits) => void found.push(...logits), { adapter });
  return found;
}

/** Logits, loss and gradients of the model are those that PEFT recorded under `prefix`. */
async function checkStep(
  model: CausalLM,
  golden: SafetensorsFile,
  prefix: "" | "init.",
  bound: number,
): Promise<void> {
  assertWithin(
    await logitsOf(model),
    await golden.float64(`${prefix}logits`),
    10 * bound,
    "logits",
  );
  model.zeroGrad();
  const { logp } = await model.forward(GROUPS, { temperature: 1, train: true });
  const loss = -[...logp].reduce((sum, x) => sum + x, 0);
  assertWithin([loss], await golden.float64(`${prefix}loss`), 100 * bound, `${prefix}loss`);
  model.backward(new Float64Array(logp.length).fill(-1));
  const found = await gradients(model);
  const recorded = [...golden.tensors.keys()].filter((name) => name.startsWith(`${prefix}grad.`));
  assert.deepEqual(
    [...found.keys()].map((name) => `${prefix}grad.${name}`).sort(),
    recorded.sort(),
  );
  for (const [tensor, grad] of found) {
    const wanted = await golden.float64(`${prefix}grad.${tensor}`);
    const most = Math.max(largest(wanted), 1e-2);
    assertWithin(grad, wanted, 10 * bound * most, `${prefix}gradient of ${tensor}`);
  }
}

for (const name of CASES) {
  const folder = goldenPath(`peft/variants/${name}`)!;
  Deno.test(`${name}: PEFT's logits, loss and gradients, also merged`, () =>
    onEachDevice(async (device, exact) => {
      const base = await readModelFolder(folder), { config, files, adapter } = base;
      const golden = await readSafetensors(`${folder}/expected.safetensors`);
      const { config: peft, weights } = adapter!, rough = name.startsWith("pissa");
      // PEFT computes singular vectors in float32.
      const bound = exact && !rough ? 2e-6 : rough ? 4e-5 : 2e-5;
      for (const recompute of isEmulated(device) ? [false] : [false, true]) {
        const model = await CausalLM.create(device, config, files, {
          trainable: "lora",
          lora: loraOptions(peft),
          recompute,
        });
        const off = await golden.float64("base.logits");
        assertWithin(await logitsOf(model), off, 10 * bound, "logits before training");
        for (const { name } of model.trainable) {
          const init = await golden.float32(`init.${name}`);
          if (name.endsWith("magnitude_vector") && !peft.useRslora) {
            assertWithin(await model.readParameter(name), init, 1e-6, `first ${name}`);
          }
          model.writeParameter(name, init);
        }
        await checkStep(model, golden, "init.", bound);
        for (const { name } of model.trainable) {
          model.writeParameter(name, await weights.float32(name));
        }
        await checkStep(model, golden, "", bound);
        assertWithin(await logitsOf(model, false), off, 10 * bound, "logits of the base");
        model.dispose();
      }
      if (isEmulated(device)) return;
      const wanted = await golden.float64("logits");
      const loaded = await loadIdModel(folder, device);
      assertWithin(await logitsOf(loaded.model), wanted, 10 * bound, "logits when loaded");
      const choices = [...wanted.subarray(-config.vocabSize)];
      const texts = await loaded.model.generate(
        [{ promptId: 0, promptIds: IDS, n: 1 }],
        { maxNewTokens: 2, temperature: 0, seed: 0, eosIds: [] },
      );
      assert.equal(
        texts[0]![0]!.ids[0],
        choices.indexOf(Math.max(...choices)),
        "what it generates",
      );
      loaded.model.dispose();
      if (name === "lora-bias") {
        // PEFT cannot merge it either: down_proj has no bias.
        assert.throws(() => mergedWeights(base), /down_proj has no bias that lora_bias/);
        return;
      }
      const merged = await CausalLM.create(device, mergedConfig(base), await mergedMap(base), {
        trainable: "none",
      });
      assertWithin(await logitsOf(merged), wanted, 10 * bound, "logits when merged");
      merged.dispose();
      if (!exact) return;
      await withFolder(async (temporary) => {
        const path = `${temporary}/merged.gguf`, whole = mergedConfig(base);
        const tensors = ggufTensors(whole, mergedWeights(base), "f32");
        await writeGguf(path, ggufMetadata(whole, "f32", "m", path), tensors);
        const { model } = await loadIdModel(path, device);
        assertWithin(await logitsOf(model), wanted, 10 * bound, "logits of a GGUF file");
        model.dispose();
      });
    }));

  Deno.test(`${name}: its configuration is the same when it was written and read`, async () => {
    const { adapter } = await readModelFolder(folder);
    const again = readPeftConfig(JSON.parse(writePeftConfig(adapter!.config)), "written");
    const sorted = (config: PeftConfig) => ({
      ...config,
      targetModules: [...config.targetModules].sort(),
    });
    assert.deepEqual(sorted(again), sorted(adapter!.config));
  });
}

for (const name of ["pissa", "olora"]) {
  test.inFolder(
    `${name}: what it took out of the weights is read, if there is a file of it`,
    async (folder, device) => {
      const source = goldenPath(`peft/variants/${name}`);
      const { config, files, adapter } = await readModelFolder(source);
      const golden = await readSafetensors(`${source}/expected.safetensors`);
      const wanted = await golden.float64("logits");
      const baseModel = await Deno.realPath(`${source}/${adapter!.config.baseModel}`);
      const peft = { ...adapter!.config, baseModel }, lora = loraOptions(peft);
      const model = await CausalLM.create(device, config, files, { trainable: "none", lora });
      const valuesOf = ({ name, shape }: Parameter) =>
        model.readParameter(name).then((data) => ({ name, shape, data }));
      const written = [...adapter!.weights.tensors.values()].map(async ({ name, shape }) => {
        return { name, shape, data: await adapter!.weights.float32(name) };
      });
      const tensors = await Promise.all(written);
      const taken = await Promise.all(
        model.parameters.filter(({ name }) => isTaken(name)).map(valuesOf),
      );
      model.dispose();
      const write = async (initial: typeof taken) =>
        await writeFiles(
          folder,
          Object.fromEntries(await encodePeftAdapter(peft, tensors, initial)),
        );
      /** The largest difference from PEFT's logits, loaded and merged. */
      const differences = async () => {
        const weights = await mergedMap(await readModelFolder(folder));
        const { model: loaded } = await loadIdModel(folder, device);
        const merged = await CausalLM.create(device, config, weights, { trainable: "none" });
        const logits = [await logitsOf(loaded), await logitsOf(merged)];
        loaded.dispose();
        merged.dispose();
        return logits.map((one) => largest(one.map((x, i) => x - wanted[i]!)));
      };
      await write(taken);
      for (const difference of await differences()) assert.ok(difference < 4e-4);
      await write(taken.map((one) => ({ ...one, data: one.data.map(() => 0) })));
      for (const difference of await differences()) assert.ok(difference > 1e-2);
      await write(taken.slice(1));
      await assert.rejects(readModelFolder(folder), /initial_A" has shape \[\], expected \[/);
    },
  );
}

for (const name of ["dora", "pissa", "tokens-tied"]) {
  Deno.test(`${name}: an empty copy that gets the trained tensors is the same model`, () =>
    withReference(async (device) => {
      const { config, files, adapter } = await readModelFolder(
        goldenPath(`peft/variants/${name}`)!,
      );
      const lora = loraOptions(adapter!.config);
      const model = await CausalLM.create(device, config, files, { trainable: "lora", lora });
      for (const { name } of model.trainable) {
        model.writeParameter(name, await adapter!.weights.float32(name));
      }
      const copy = await model.frozenCopy({ storage: model.sizes.storage, empty: true });
      for (const { name } of model.trainable) {
        copy.writeParameter(name, await model.readParameter(name));
      }
      assert.deepEqual(await logitsOf(copy), await logitsOf(model));
      copy.dispose();
      model.dispose();
    }));
}
