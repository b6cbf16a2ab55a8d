/** Content with a wrong checksum is refused and kept under another name. */
import assert from "node:assert/strict";
import { exists } from "../core/paths.ts";
import {
  bytesOf,
  content,
  failure,
  get,
  isContent,
  modelFiles,
  noise,
  places,
  settingsFor,
  test,
  WEIGHTS,
  withHub,
} from "./testing.ts";

test.withTiny("a file with a wrong checksum is kept under another name and not used", async (hub) => {
  const at = places(hub), wrong = noise(300_000, 5);
  hub.misbehave = (seen) => isContent(seen) ? content(seen, wrong, {}) : null;
  const text = await failure(get(hub));
  assert.match(
    text,
    /^1 org\/tiny: model\.safetensors: its checksum is wrong \(sha256: expected/,
  );
  assert.ok(text.includes(`kept as ${at.wrong}`));
  assert.deepEqual(await Deno.readFile(at.wrong), wrong);
  const left = await Promise.all([at.blob, at.incomplete, at.weights, at.ref].map(exists));
  assert.deepEqual(left, [false, false, false, false]);
  hub.misbehave = () => null;
  await get(hub);
  assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
});

test.withTiny("small files are checked against git's checksum", async (hub) => {
  hub.misbehave = (seen) =>
    seen.method === "GET" && seen.path.endsWith("/config.json")
      ? content(seen, bytesOf('{"model_type": "LLAMA"}\n'), { etag: '"x"' })
      : null;
  assert.match(await failure(get(hub)), /config\.json: its checksum is wrong \(git-sha1/);
});

test.withTiny("wrong bytes left by another program cause a second download, no failure", async (hub) => {
  const at = places(hub);
  await Deno.mkdir(at.incomplete.replace(/[^/]+$/, ""), { recursive: true });
  await Deno.writeFile(at.incomplete, noise(50_000, 99));
  await get(hub);
  assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
  // The incomplete file is longer than the file: the download cannot go on from there.
  await Deno.remove(at.blob);
  await Deno.writeFile(at.incomplete, noise(400_000, 99));
  await get(hub);
  assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
  // A blob that was truncated by a crash of the machine.
  await Deno.truncate(at.blob, 1000);
  await get(hub);
  assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
});

test.withTiny("a response with too many bytes is refused before it fills the disk", async (hub) => {
  hub.misbehave = (seen) => isContent(seen) ? new Response(noise(2_000_000)) : null;
  assert.match(await failure(get(hub)), /more than 300000 bytes came: it is not used/);
});

Deno.test("--verify finds a damaged file in the cache and fetches it again", async () => {
  for (const symlinks of [true, false]) {
    await withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      const settings = settingsFor(hub, { symlinks });
      const { path } = await get(hub, { settings });
      const file = await Deno.open(`${path}/model.safetensors`, { write: true });
      await file.write(new Uint8Array([1, 2, 3]));
      file.close();
      assert.equal((await get(hub, { settings })).downloaded_bytes, 0, "nobody looks");
      const again = await get(hub, { settings, verify: true });
      assert.equal(again.downloaded_bytes, 300_000);
      assert.deepEqual(await Deno.readFile(`${path}/model.safetensors`), WEIGHTS);
      assert.equal((await get(hub, { settings, verify: true })).downloaded_bytes, 0);
    });
  }
});
