/** Answers on disk: when they are written, what a resume finds, and a full disk. */
import assert from "node:assert/strict";
import { namesIn, refusal, test } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import { type SampleLine, SampleStore } from "./sample_store.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";

const line = (index: number, sample: number, key = "k", completion = "é"): SampleLine => ({
  key,
  index,
  sample,
  model: "m",
  task: "t",
  prompt_tokens: 1,
  device: "d",
  result: { completion, extracted: null, score: 0, truncated: false, completion_tokens: 1 },
});

test.inFolder("answers are on the disk in the next turn, and the rest after closing", async (folder) => {
  const store = await SampleStore.open(folder, { resume: false });
  for (let index = 0; index < 3; index++) store.add(line(index, 0));
  assert.equal(store.get("k", 2, 0)!.index, 2);
  await Promise.resolve();
  const lines = async () => (await Deno.readTextFile(store.path)).split("\n").length - 1;
  assert.equal(await lines(), 3);
  store.add(line(3, 1));
  store.close();
  assert.equal(await lines(), 4);
});

test.inFolder("a resume finds whole samples, and not those that failed", async (folder) => {
  const failed = line(2, 0), tooLong = line(3, 0);
  failed.result.error = "the server is down";
  tooLong.result = { ...tooLong.result, error: "the prompt is long", too_long: true };
  const text = [line(0, 0), line(0, 1), failed, tooLong].map((one) => `${JSON.stringify(one)}\n`);
  const cut = JSON.stringify(line(1, 0)).slice(0, 40);
  await Deno.writeTextFile(`${folder}/samples_1.jsonl`, text.join("") + cut);
  await Deno.writeTextFile(`${folder}/other.jsonl`, `${JSON.stringify(line(9, 9))}\n`);
  const store = await SampleStore.open(folder, { resume: true });
  const known = [[0, 0], [0, 1], [1, 0], [2, 0], [3, 0], [9, 9]]
    .map(([index, sample]) => store.get("k", index!, sample!) !== undefined);
  assert.deepEqual(known, [true, true, false, false, true, false]);
  assert.equal(store.get("other", 0, 0), undefined);
  store.close();
  assert.deepEqual(namesIn(folder), ["other.jsonl", "samples_1.jsonl"], "nothing new, so no file");
  const fresh = await SampleStore.open(folder, { resume: false });
  assert.equal(fresh.get("k", 0, 0), undefined);
  fresh.close();
});

test.inFolder("runs that begin in the same second have different, unused time stamps", async (folder) => {
  const open = (part = "") => SampleStore.open(folder, { part, resume: false });
  const stores = await Promise.all([open(), open(), open(), open()]);
  assert.equal(new Set(stores.map(({ stamp }) => stamp)).size, 4);
  for (const { stamp, path } of stores) {
    assert.match(stamp, /^\d{8}_\d{6}$/);
    assert.equal(path, `${folder}/samples_${stamp}.jsonl`);
  }
  stores[1]!.add(line(0, 0));
  for (const store of stores) store.close();
  assert.deepEqual(namesIn(folder).map((name) => `${folder}/${name}`), [
    stores[1]!.path,
  ]);
  // A stamp in the name of a result file is also taken.
  await Deno.writeTextFile(`${folder}/results_all_tasks_${stores[2]!.stamp}.json`, "{}");
  const later = await Promise.all([open("_part-0-of-2"), open()]);
  const taken = new Set([stores[1]!.stamp, stores[2]!.stamp]);
  for (const { stamp } of later) assert.ok(!taken.has(stamp), stamp);
  for (const store of later) store.close();
});

test.inFolder("an impossible folder is one clear error", async (folder) => {
  await Deno.writeTextFile(`${folder}/file`, "");
  await assert.rejects(
    SampleStore.open(`${folder}/file`, { resume: false }),
    refusal(/file: it is a file/, UsageError),
  );
  await assert.rejects(
    SampleStore.open(`${folder}/file/results`, { resume: false }),
    refusal(/file\/results: cannot write the results: /),
  );
});

test.inFolder("a full disk is reported once, and known samples stay known", async (folder) => {
  const store = await SampleStore.open(folder, { resume: false });
  await Deno.remove(store.path);
  await Deno.symlink("/dev/full", store.path);
  store.add(line(0, 0));
  assert.equal(store.failure, null);
  await Promise.resolve();
  assert.notEqual(store.failure, null);
  store.add(line(1, 0));
  assert.equal(store.get("k", 1, 0)!.index, 1);
  assert.throws(
    () => store.close(),
    refusal(/the disk is full/),
  );
}, needs(Deno.build.os === "linux", NEEDED.system));
