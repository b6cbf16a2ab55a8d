/** Pulls without a network, and pulls without free disk space. */
import assert from "node:assert/strict";
import { exists } from "../core/paths.ts";
import { COMMIT, failure, get, places, settingsFor, test, WEIGHTS } from "./testing.ts";

test.inHub("without a network, the message says how to continue without one", async (hub) => {
  const closed = Deno.listen({ port: 0, hostname: "127.0.0.1" }), { port } = closed.addr;
  closed.close();
  const settings = { ...settingsFor(hub), endpoint: `http://127.0.0.1:${port}` };
  const text = await failure(get(hub, { settings, attempts: 2 }));
  assert.match(
    text,
    /^1 org\/tiny: http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*refused.*\(2 att/i,
  );
  assert.match(text, /HTTPS_PROXY.*HF_ENDPOINT.*Without the Hub: copy models--org--tiny/);
  assert.doesNotMatch(text, /os error|client error/);
});

test.withTiny("in offline mode no request is sent, and missing files are named", async (hub) => {
  const settings = settingsFor(hub, { offline: "HF_HUB_OFFLINE" });
  const nothing = await failure(get(hub, { settings }));
  assert.match(nothing, /^1 org\/tiny: HF_HUB_OFFLINE is set, and revision main of it is not in/);
  assert.match(nothing, /HF_HUB_OFFLINE=0 rgx pull org\/tiny/);
  assert.equal(hub.seen.length, 0);

  const online = await get(hub);
  hub.seen.length = 0;
  const offline = await get(hub, { settings });
  assert.deepEqual([offline.path, offline.bytes], [online.path, online.bytes]);
  assert.ok(offline.offline);
  const asked = { files: ["README.md"], include: [], exclude: [] };
  const one = await failure(get(hub, { settings, selection: asked }));
  assert.match(one, /a file is not in the cache: README\.md \(looked in/);
  assert.match(one, /HF_HUB_OFFLINE=0 rgx pull org\/tiny README\.md\./);
  await Deno.remove(places(hub).blob);
  assert.match(await failure(get(hub, { settings })), /in the cache: model\.safetensors/);
  await Deno.remove(places(hub).weights);
  await Deno.writeTextFile(
    `${online.path}/model.safetensors.index.json`,
    JSON.stringify({ weight_map: { a: "m-1-of-2.safetensors", b: "m-2-of-2.safetensors" } }),
  );
  await Deno.writeTextFile(`${online.path}/m-1-of-2.safetensors`, "x");
  assert.match(await failure(get(hub, { settings })), /in the cache: m-2-of-2\.safetens/);
  await Deno.mkdir(`${hub.cache}/models--org--tiny/trees`);
  await Deno.writeTextFile(
    `${hub.cache}/models--org--tiny/trees/${COMMIT}.json`,
    JSON.stringify({ format_version: 1, files: { "merges.txt": {}, "README.md": {} } }),
  );
  assert.match(
    await failure(get(hub, { settings })),
    /files are not .*: merges\.txt, m-2/,
  );
  assert.equal(hub.seen.length, 0);
});

test.withTiny("too large downloads are refused; a full disk keeps downloaded bytes", async (hub) => {
  const small = await failure(get(hub, { freeBytes: () => Promise.resolve(1e6) }));
  assert.match(small, /300 kB are to be downloaded, and .* has 1\.00 MB free; nothing was down/);
  assert.match(small, /HF_HUB_CACHE/);
  assert.equal(await exists(hub.cache), false);

  let room = 120_000;
  const write = async (file: Deno.FsFile, bytes: Uint8Array) => {
    if ((room -= bytes.length) < 0) {
      throw Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
    }
    await file.write(bytes);
  };
  const full = await failure(get(hub, { write }));
  // Files are downloaded in parallel: the error names the first one that finds the disk full.
  assert.match(full, /^1 org\/tiny: \S+: the disk is full: .*\n.*pull again: what came/);
  assert.equal(await exists(places(hub).weights), false);
  const kept = (await Deno.stat(places(hub).incomplete)).size;
  assert.ok(kept <= 120_000);
  await get(hub);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
});
