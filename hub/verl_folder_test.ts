/** Models in checkpoints of verl. */
import assert from "node:assert/strict";
import { findModel } from "./find_model.ts";
import { isVerlFolder, modelInVerlFolder } from "./verl_folder.ts";

Deno.test("a checkpoint of verl stands for the Hugging Face model in it", async () => {
  const step = `${await Deno.makeTempDir()}/global_step_400`, inside = `${step}/actor/huggingface`;
  await Deno.mkdir(inside, { recursive: true });
  await Deno.writeTextFile(`${inside}/config.json`, "{}");
  // Without weights they are in the parts of verl's processes, beside this folder.
  assert.equal(await modelInVerlFolder(step), null);
  await Deno.writeTextFile(`${inside}/model.safetensors`, "");
  for (const folder of [step, `${step}/actor`]) {
    assert.equal(await modelInVerlFolder(folder), inside);
    assert.equal((await findModel(folder)).path, inside);
    assert.ok(await isVerlFolder(folder));
  }
  assert.equal((await findModel(inside)).path, inside);
  assert.ok(!await isVerlFolder(inside));
  await Deno.remove(step, { recursive: true });
});
