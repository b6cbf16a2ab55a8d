/**
 * Adapters that PEFT 0.21.2 made on small models of rgx's, with its log-probabilities of one
 * sequence, with and without the adapter (tests/golden/peft). They cover all linear layers with
 * patterns, exclusions and modules saved in full, on a tied head; and adapters on the head itself,
 * tied and not, with their gradients.
 */
import assert from "node:assert/strict";
import { IDS, SIZES, writeBase } from "./adapter_testing.ts";
import { assertWithin, largest } from "../kernels/testing.ts";
import { CausalLM } from "./causal_lm.ts";
import { exportModel } from "./export/export.ts";
import { readSafetensors, type SafetensorsFile } from "./formats/safetensors/safetensors.ts";
import { type LoadedModel, loadModel } from "./load_model.ts";
import { writeFiles } from "../core/testing.ts";
import { encodePeftAdapter } from "./folder_testing.ts";
import { readModelFolder } from "./model_folder.ts";
import { loraOptions, type PeftConfig, readPeftAdapter } from "./network/adapters/peft_adapter.ts";
import { gradients, test } from "./testing.ts";
import type { ModelConfig } from "./architectures/model_config.ts";

const TIED = { ...SIZES, tieWordEmbeddings: true };
const MODELS: Record<string, ModelConfig> = {
  llama: TIED,
  gpt2: { ...TIED, architecture: "gpt2", numKvHeads: 4 },
  "head-tied": TIED,
  "head-untied": SIZES,
};

async function logProbabilities(
  { model }: LoadedModel,
  adapter: boolean,
): Promise<number[]> {
  const all: number[] = [];
  await model.positionLogits(IDS, (_, logits) => {
    const z = Float64Array.from(logits), lse = Math.log(z.reduce((sum, x) => sum + Math.exp(x), 0));
    for (const x of z) all.push(x - lse);
  }, { adapter });
  return all;
}

function assertNear(found: readonly number[], wanted: Float32Array, what: string): void {
  assert.equal(found.length, wanted.length, what);
  found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]!) < 2e-5, `${what}, ${i}: ${x}`));
}

/** Writes an adapter that was read to another folder, or to its own. */
async function writeAgain(
  config: PeftConfig,
  weights: SafetensorsFile,
  folder: string,
): Promise<void> {
  const all = [...weights.tensors.values()].map(async ({ name, shape }) => {
    return { name, shape, data: await weights.float32(name) };
  });
  const files = await encodePeftAdapter(config, await Promise.all(all));
  await writeFiles(folder, Object.fromEntries(files));
}

for (const [name, config] of Object.entries(MODELS)) {
  test.inFolder(
    `${name}: an adapter that PEFT made has PEFT's log-probabilities, also merged`,
    async (folder, device) => {
      await writeBase(config, folder);
      const golden = new URL(`../tests/golden/peft/${name}/`, import.meta.url),
        adapter = `${folder}/a`;
      await Deno.mkdir(adapter);
      for (const file of ["adapter_config.json", "adapter_model.safetensors"]) {
        await Deno.copyFile(new URL(file, golden), `${adapter}/${file}`);
      }
      const theirs = await Deno.readFile(new URL("logprobs.f32", golden));
      const wanted = new Float32Array(theirs.buffer), half = wanted.length / 2;
      const on = wanted.subarray(0, half), off = wanted.subarray(half);
      const check = async (path: string, hasAdapter: boolean) => {
        const loaded = await loadModel(path, device);
        assertNear(await logProbabilities(loaded, true), on, path);
        if (hasAdapter) assertNear(await logProbabilities(loaded, false), off, path);
        loaded.model.dispose();
      };
      await check(adapter, true);
      for (const to of ["hf", "gguf"] as const) {
        const { path } = await exportModel(adapter, { to, output: `${folder}/${to}` });
        await check(path, false);
      }
      // Written again, it is the same adapter.
      const { config: peft, weights } = await readPeftAdapter(adapter);
      await writeAgain(peft, weights, adapter);
      await check(adapter, true);
    },
  );
}

for (const name of ["head-tied", "head-untied"]) {
  test.inFolder(`${name}: an adapter on the head has PEFT's gradients`, async (folder, device) => {
    await writeBase(MODELS[name]!, folder);
    const golden = new URL(`../tests/golden/peft/${name}/`, import.meta.url).pathname;
    const { config, weights } = await readPeftAdapter(golden);
    const base = await readModelFolder(`${folder}/base`);
    const model = await CausalLM.create(device, base.config, base.files, {
      trainable: "lora",
      lora: loraOptions(config),
    });
    for (const { name } of model.trainable) {
      model.writeParameter(name, await weights.float32(name));
    }
    const groups = [{ promptIds: IDS.slice(0, 1), branches: [IDS.slice(1)] }];
    await model.forward(groups, { temperature: 1, train: true });
    model.backward(Float64Array.from({ length: IDS.length - 1 }, (_, i) => Math.cos(2.1 * i)));
    const wanted = await readSafetensors(`${golden}gradients.safetensors`);
    const found = await gradients(model);
    assert.deepEqual([...found.keys()].sort(), [...wanted.tensors.keys()].sort());
    for (const [tensor, grad] of found) {
      const theirs = await wanted.float32(tensor);
      assert.ok(largest(theirs) > 0, tensor);
      assertWithin(grad, theirs, 1e-6 * Math.max(1, largest(theirs)), tensor);
    }
    model.dispose();
  });
}

test.inFolder("an adapter with a head of its own is refused", async (folder) => {
  // This base's head is its embedding, while the adapter's copy is of an untied head.
  await writeBase(TIED, folder);
  const golden = new URL("../tests/golden/peft/head-untied/", import.meta.url).pathname;
  const { config, weights } = await readPeftAdapter(golden);
  await writeAgain(config, weights, `${folder}/a`);
  await assert.rejects(
    readModelFolder(`${folder}/a`),
    /has a head of its own: .*lm_head\.base_layer\.weight has .* at \[0, 0\], the head of/,
  );
});
