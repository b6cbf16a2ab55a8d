/** Names from a server that would lead out of the cache are refused. */
import assert from "node:assert/strict";
import { exists } from "../core/paths.ts";
import { bytesOf, COMMIT, failure, get, modelFiles, WEIGHTS, withHub } from "./testing.ts";

Deno.test("names that lead out of the cache are refused before anything is written", async () => {
  const bad = [
    "../evil.safetensors",
    "a/../../evil.safetensors",
    "/etc/evil.safetensors",
    "..\\evil",
    "C:/evil.safetensors",
    "a//b",
    "./a",
    "a/./b",
    "x\0.safetensors",
    "\x1b[2J.safetensors",
    "",
  ];
  for (const name of bad) {
    await withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      hub.listing = ({ commit, files }) => ({
        sha: commit,
        siblings: [...files, { name }].map(({ name }) => ({ rfilename: name })),
      });
      const text = await failure(get(hub));
      assert.match(text, /its list of files holds the name ".*": .*; nothing was downloaded/, name);
      assert.ok(!text.includes("\x1b"));
      assert.equal(await exists(hub.cache), false);
    });
  }
});

Deno.test("a file that is also a folder, a tag that is a path, a link: refused", async () => {
  await withHub(async (hub) => {
    hub.add("models/org/tiny", [
      ...modelFiles(WEIGHTS),
      { name: "config.json/x.json", bytes: bytesOf("x"), lfs: false },
    ]);
    assert.match(await failure(get(hub)), /a part of it is a file itself/);
  });
  await withHub(async (hub) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    for (const etag of ['"../../evil"', '"a/b"', '".."', '"x.incomplete"']) {
      hub.misbehave = ({ method }) =>
        method === "HEAD"
          ? new Response(null, { headers: { etag, "x-repo-commit": COMMIT } })
          : null;
      assert.match(await failure(get(hub)), /the entity tag ".*" is no name for a file/);
    }
    assert.equal(await exists(hub.cache), false);
  });
  await withHub(async (hub) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const snapshot = `${hub.cache}/models--org--tiny/snapshots/${COMMIT}`,
      outside = `${hub.cache}-outside`;
    await Deno.mkdir(outside, { recursive: true });
    await Deno.mkdir(snapshot, { recursive: true });
    await Deno.symlink(outside, `${snapshot}/onnx`);
    const selection = { files: ["onnx/model.safetensors"], include: [], exclude: [] };
    assert.match(await failure(get(hub, { selection })), /it is a link, expected a folder/);
    assert.deepEqual([...Deno.readDirSync(outside)], []);
  });
});
