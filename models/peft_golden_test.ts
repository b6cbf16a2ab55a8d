/**
 * Adapters that PEFT 0.21.2 made on small models of rgx's, with its log-probabilities of one
 * sequence, with and without the adapter (tests/golden/peft). They cover all linear layers with
 * patterns, exclusions and modules saved in full, on a tied head.
 */
import assert from "node:assert/strict";
import { IDS, inTempFolder, SIZES, writeBase } from "./adapter_testing.ts";
import { exportModel } from "./export/export.ts";
import { type LoadedModel, loadModel } from "./load_model.ts";
import { encodePeftAdapter, readPeftAdapter } from "./network/adapters/peft_adapter.ts";
import { withReference } from "./testing.ts";
import type { ModelConfig } from "./architectures/model_config.ts";

const TIED = { ...SIZES, tieWordEmbeddings: true };
const MODELS: Record<string, ModelConfig> = {
  llama: TIED,
  gpt2: { ...TIED, architecture: "gpt2", numKvHeads: 4 },
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

for (const [name, config] of Object.entries(MODELS)) {
  Deno.test(`${name}: an adapter that PEFT made has PEFT's log-probabilities, also merged`, () =>
    inTempFolder((folder) =>
      withReference(async (device) => {
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
        const tensors = await Promise.all(
          [...weights.tensors.values()].map(async ({ name, shape }) => ({
            ...{ name, shape, data: await weights.float32(name) },
          })),
        );
        for (const [file, bytes] of encodePeftAdapter(peft, tensors)) {
          await Deno.writeFile(`${adapter}/${file}`, bytes);
        }
        await check(adapter, true);
      })
    ));
}
