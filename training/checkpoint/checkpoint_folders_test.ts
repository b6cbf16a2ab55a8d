import assert from "node:assert/strict";
import { namesIn, test } from "../../core/testing.ts";
import { RgxError } from "../../core/errors.ts";
import {
  checkpointDamage,
  findNewestValid,
  listCheckpoints,
  openCheckpoint,
  saveCheckpoint,
} from "./checkpoint_folders.ts";

const files = (step: number) =>
  new Map([
    ["adapter_model.safetensors", new Uint8Array(5000).fill(step)],
    ["rgx_state.json", new TextEncoder().encode(JSON.stringify({ global_step: step }))],
    ["trainer_state.json", new TextEncoder().encode("{}")],
  ]);

async function steps(folder: string): Promise<number[]> {
  return (await listCheckpoints(folder)).map(({ step }) => step);
}

test.inFolder("a checkpoint is saved, linked, listed and opened", async (folder) => {
  assert.deepEqual(await findNewestValid(`${folder}/none yet`), { newest: null, skipped: [] });
  for (const step of [5, 10, 100]) await saveCheckpoint(folder, step, files(step));
  assert.deepEqual(await steps(folder), [5, 10, 100]);
  assert.equal(await Deno.readLink(`${folder}/latest`), "checkpoint-100");
  assert.deepEqual(await findNewestValid(folder), {
    newest: { path: `${folder}/checkpoint-100`, step: 100 },
    skipped: [],
  });
  const checkpoint = await openCheckpoint(`${folder}/latest`);
  assert.deepEqual([...checkpoint.files].sort(), ["SHA256SUMS", ...files(1).keys()]);
  assert.deepEqual(
    await checkpoint.read("adapter_model.safetensors"),
    files(100).values().next().value,
  );
  assert.equal(await checkpoint.readText("rgx_state.json"), `{"global_step":100}`);
  await assert.rejects(checkpoint.read("optimizer.safetensors"), /holds no optimizer\.safetensors/);
  assert.deepEqual(
    namesIn(folder),
    ["checkpoint-10", "checkpoint-100", "checkpoint-5", "latest"],
  );
});

test.inFolder("the limit deletes the oldest checkpoints, never the best or the newest", async (folder) => {
  const save = (step: number, saveTotalLimit: number, bestStep: number | null = null) =>
    saveCheckpoint(folder, step, files(step), { saveTotalLimit, bestStep });
  for (const step of [1, 2, 3]) await save(step, 10);
  assert.deepEqual((await save(4, 2)).removed, [
    `${folder}/checkpoint-1`,
    `${folder}/checkpoint-2`,
  ]);
  assert.deepEqual(await steps(folder), [3, 4]);
  await save(5, 2, 3);
  assert.deepEqual(await steps(folder), [3, 5]);
  await save(6, 1, 3);
  assert.deepEqual(await steps(folder), [3, 6]);
  await save(7, 1);
  assert.deepEqual(await steps(folder), [7]);
  assert.equal(await Deno.readLink(`${folder}/latest`), "checkpoint-7");
});

test.inFolder("damaged checkpoints are neither counted nor deleted", async (folder) => {
  for (const step of [1, 2, 3]) await saveCheckpoint(folder, step, files(step));
  await Deno.remove(`${folder}/checkpoint-2/SHA256SUMS`);
  await saveCheckpoint(folder, 4, files(4), { saveTotalLimit: 2 });
  assert.deepEqual(await steps(folder), [2, 3, 4]);
});

test.inFolder("a damaged checkpoint is skipped with a warning", async (folder) => {
  for (const step of [1, 2, 3, 4, 5, 6]) await saveCheckpoint(folder, step, files(step));
  const at = (step: number, name: string) => `${folder}/checkpoint-${step}/${name}`;
  // A changed bit; a truncated file; a missing file; no checksums; the mark of transformers.
  const bytes = await Deno.readFile(at(6, "adapter_model.safetensors"));
  bytes[4000]! ^= 1;
  await Deno.writeFile(at(6, "adapter_model.safetensors"), bytes);
  await Deno.truncate(at(5, "adapter_model.safetensors"), 4999);
  await Deno.remove(at(4, "trainer_state.json"));
  await Deno.remove(at(3, "SHA256SUMS"));
  await Deno.writeTextFile(at(2, "checkpoint-is-incomplete.txt"), "");
  const { newest, skipped } = await findNewestValid(folder);
  assert.deepEqual(newest, { path: `${folder}/checkpoint-1`, step: 1 });
  assert.deepEqual(
    skipped,
    [
      [6, "adapter_model.safetensors does not have the checksum that it was written with"],
      [5, "adapter_model.safetensors does not have the checksum that it was written with"],
      [4, "trainer_state.json is missing"],
      [3, "SHA256SUMS is missing"],
      [2, "checkpoint-is-incomplete.txt says that it was not finished"],
    ].map(([step, reason]) => ({ path: `${folder}/checkpoint-${step}`, reason })),
  );
  await assert.rejects(openCheckpoint(`${folder}/checkpoint-4`), (error) => {
    assert.ok(error instanceof RgxError && error.advice);
    assert.match(error.message, /checkpoint-4: .* cannot be used: trainer_state\.json is missing/);
    return true;
  });
  await assert.rejects(openCheckpoint(`${folder}/checkpoint-9`), /there is no such folder/);
  // The run resumes from step 1, reaches step 6 again and replaces the damaged checkpoint.
  await saveCheckpoint(folder, 6, files(6));
  assert.equal((await findNewestValid(folder)).newest?.step, 6);
});

test.inFolder("checkpoints of other trainers need no checksums", async (folder) => {
  const path = `${folder}/checkpoint-8`;
  await Deno.mkdir(path);
  assert.equal(await checkpointDamage(path), "SHA256SUMS is missing");
  await Deno.writeTextFile(`${path}/trainer_state.json`, `{"global_step": 8`);
  assert.equal(await checkpointDamage(path), "trainer_state.json is not valid JSON");
  await Deno.writeTextFile(`${path}/trainer_state.json`, `{"global_step": 8}`);
  assert.equal(await checkpointDamage(path), null);
  assert.deepEqual([...(await openCheckpoint(path)).files], ["trainer_state.json"]);
});
