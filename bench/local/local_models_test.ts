/** Models with shared weights stay on the device, and their answers do not depend on it. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { PEFT, SIZES, writeAdapter, writeBase } from "../../models/adapter_testing.ts";
import { LocalModels } from "./local_model.ts";
import { planModels } from "../plan/model_plan.ts";
import { createTestSet } from "../plan/test_set.ts";
import type { Answerer, Question } from "../answerer.ts";
import { type ModelRequest, sharedWeights } from "../plan/model_request.ts";

test.inFolder("adapters and their base are read once and answer as they do alone", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  await writeBase(SIZES, folder);
  const peft = { ...PEFT, r: 2, targetModules: ["v_proj"] };
  const one = await writeAdapter(SIZES, folder, device, { name: "one" });
  const other = await writeAdapter(SIZES, folder, device, { name: "other", peft });
  const { models } = await planModels([one, other], {
    seed: 1,
    includeBase: true,
    remote: { address: "", format: "chat" },
    prompt: { add_instructions: false },
    sampling: { max_new_tokens: 8 },
  });
  assert.deepEqual(models.map(({ isBase }) => isBase), [false, true, false]);
  assert.equal(new Set(models.map(sharedWeights)).size, 1);
  const where = { ...models[0]!.where, storage: { dtype: "float16" } } as ModelRequest["where"];
  assert.notEqual(sharedWeights({ where }), sharedWeights(models[0]!));
  const set = createTestSet({ name: "chain_sum" }, { seed: 1, size: 3, fewShot: 0 });
  const questions = set.entries.map((_, index) => ({ set, index, samples: [0] }));
  const alone: string[][] = [];
  for (const model of models) {
    const apart = new LocalModels(device);
    alone.push(await answersOf(await apart.open(model), questions));
    apart.close();
    assert.equal(device.allocatedBytes, 0);
  }
  assert.equal(new Set(alone.map(String)).size, 3);

  const shared = new LocalModels(device);
  await shared.open(models[0]!);
  // The file of the base is not needed any more, since its weights are loaded.
  await Deno.rename(`${folder}/base/model.safetensors`, `${folder}/weights`);
  const empty = new Uint8Array(await Deno.readFile(`${folder}/weights`)).fill(0, 4096);
  await Deno.writeFile(`${folder}/base/model.safetensors`, empty);
  const together: string[][] = [];
  for (const model of models) {
    together.push(await answersOf(await shared.open(model), questions));
  }
  assert.deepEqual(together, alone);
  shared.close();
  assert.equal(device.allocatedBytes, 0);
});

async function answersOf(model: Answerer, questions: readonly Question[]): Promise<string[]> {
  const answers: string[] = [];
  await model.answer(
    questions,
    ({ index }, _, { completion }) => void (answers[index] = completion),
    () => false,
  );
  return answers;
}
