/**
 * Where models are looked for: paths, then the Hugging Face cache with its branches and snapshots.
 */
import assert from "node:assert/strict";
import { refusal, test, withFolder } from "../core/testing.ts";
import { UsageError } from "../core/errors.ts";
import { checkpointNotes, findModel, nameAndRevision, requireModel } from "./find_model.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

async function withCache(
  body: (cache: string, repository: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (cache) => {
    const repository = `${cache}/models--org--some-model`;
    await Deno.mkdir(`${repository}/snapshots/${COMMIT}`, { recursive: true });
    await body(cache, repository);
  });
}

const only = (key: string, value: string) => (name: string) => name === key ? value : undefined;

Deno.test("a Hub name is found in the cache by branch, commit or only snapshot", async () => {
  await withCache(async (cache, repository) => {
    const env = only("HF_HUB_CACHE", cache), snapshot = `${repository}/snapshots/${COMMIT}`;
    assert.equal((await findModel("org/some-model", env)).path, snapshot);
    assert.equal((await findModel(`org/some-model@${COMMIT}`, env)).path, snapshot);
    assert.equal((await findModel("org/some-model@v1", env)).path, null);
    await Deno.mkdir(`${repository}/refs`);
    await Deno.writeTextFile(`${repository}/refs/v1`, `${COMMIT}\n`);
    assert.equal((await findModel("org/some-model@v1", env)).path, snapshot);
    const { path, lookedAt } = await findModel("org/some-model@v2", env);
    assert.equal(path, null);
    assert.equal(lookedAt.at(-1), `${repository}/snapshots/v2 (revisions here: v1)`);
    // Two snapshots and no branch: it is not clear which one is meant.
    await Deno.mkdir(`${repository}/snapshots/${"f".repeat(40)}`);
    const unclear = await findModel("org/some-model", env);
    assert.equal(unclear.path, null);
    assert.match(unclear.lookedAt.at(-1)!, /main \(revisions here: v1, f{40}\)$/);
    await Deno.writeTextFile(`${repository}/refs/main`, COMMIT);
    assert.equal((await findModel("org/some-model", env)).path, snapshot);
  });
});

Deno.test("an existing path has priority; other names than the Hub's are paths only", async () => {
  await withCache(async (cache) => {
    const env = only("HF_HUB_CACHE", cache);
    assert.deepEqual(await findModel(cache, env), { path: cache, lookedAt: [cache] });
    for (
      const name of ["/no/such/folder", "./model", "a/b/c", "../model", "a/..", "a b", "a.gguf"]
    ) {
      assert.deepEqual(await findModel(name, env), { path: null, lookedAt: [name] }, name);
    }
  });
});

Deno.test("a repository's only GGUF file is the model; of several, one must be named", async () => {
  await withCache(async (cache, repository) => {
    const env = only("HF_HUB_CACHE", cache), snapshot = `${repository}/snapshots/${COMMIT}`;
    await Deno.writeTextFile(`${snapshot}/a.gguf`, "");
    assert.equal((await findModel("org/some-model", env)).path, `${snapshot}/a.gguf`);
    await Deno.writeTextFile(`${snapshot}/b.gguf`, "");
    assert.equal((await findModel("org/some-model", env)).path, snapshot);
    assert.equal((await findModel("hf://org/some-model/b.gguf", env)).path, `${snapshot}/b.gguf`);
    for (const name of ["c.gguf", "../x", "../../../../../../../../etc/passwd"]) {
      assert.equal((await findModel(`hf://org/some-model/${name}`, env)).path, null, name);
    }
  });
});

Deno.test("a missing model: where it was looked for, and the command to fetch it", async () => {
  const cases: [name: string, message: RegExp, advice: RegExp][] = [
    [
      "no-org/no@v2",
      /looked for no-org\/no@v2 and for .*models--no-org--no/,
      /pull no-org\/no@v2 f/,
    ],
    ["hf://no-org/no/x.gguf", /models--no-org--no/, /: rgx pull no-org\/no x\.gguf f/],
    ["/no/such/folder", /^\/no\/such\/folder: no such model folder$/, /^Give the path of a folder/],
  ];
  for (const [name, message, advice] of cases) {
    await assert.rejects(requireModel(name), refusal(message, UsageError, { advice }));
  }
});

test.inFolder("a run without a final model stands for its newest checkpoint", async (run) => {
  const place = async () => {
    const found = await findModel(`${run}/`);
    return [found.path, checkpointNotes("run", found).length];
  };
  const write = async (folder: string, name: string) => {
    await Deno.mkdir(`${run}/${folder}`, { recursive: true });
    await Deno.writeTextFile(`${run}/${folder}/${name}`, "{}");
  };
  assert.deepEqual(await place(), [`${run}/`, 0]);
  await write("warm-start/checkpoint-8", "config.json");
  assert.deepEqual(await place(), [`${run}/warm-start/checkpoint-8`, 1]);
  await write("checkpoint-9", "adapter_config.json");
  await write("checkpoint-10", "adapter_config.json");
  await write("checkpoint-11", "optimizer.safetensors");
  assert.deepEqual(await place(), [`${run}/checkpoint-10`, 1]);
  await write("", "adapter_config.json");
  assert.deepEqual(await place(), [`${run}/`, 0]);
});

Deno.test("a name and its revision apart, as PEFT's files have them; a path stays whole", () => {
  const cases: [text: string, name: string, revision: string | null][] = [
    ["org/name@v1", "org/name", "v1"],
    ["hf://org/name@pr%2F3", "org/name", "pr/3"],
    ["org/name", "org/name", null],
    ["hf://org/name@v1/a.gguf", "hf://org/name@v1/a.gguf", null],
    ["./org/name@v1", "./org/name@v1", null],
  ];
  for (const [text, name, revision] of cases) {
    assert.deepEqual(nameAndRevision(text), { name, revision });
  }
});
