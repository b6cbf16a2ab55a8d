/** Names from a server that would lead out of the cache are refused. */
import assert from "node:assert/strict";
import { exists } from "../core/paths.ts";
import { bytesOf, COMMIT, failure, get, test } from "./testing.ts";

test.withTiny("names that lead out of the cache are refused before anything is written", async (hub) => {
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
    hub.listing = ({ commit, files }) => ({
      sha: commit,
      siblings: [...files, { name }].map(({ name }) => ({ rfilename: name })),
    });
    const text = await failure(get(hub));
    assert.match(text, /its list of files holds the name ".*": .*; nothing was downloaded/, name);
    assert.ok(!text.includes("\x1b"));
    assert.equal(await exists(hub.cache), false);
  }
});

test.withTiny("a file that is also a folder, a tag that is a path, a link: refused", async (hub) => {
  for (const etag of ['"../../evil"', '"a/b"', '".."', '"x.incomplete"']) {
    hub.misbehave = ({ method }) =>
      method === "HEAD" ? new Response(null, { headers: { etag, "x-repo-commit": COMMIT } }) : null;
    assert.match(await failure(get(hub)), /the entity tag ".*" is no name for a file/);
  }
  hub.misbehave = () => null;
  const { files } = hub.repositories.get("models/org/tiny")!;
  files.push({ name: "config.json/x.json", bytes: bytesOf("x"), lfs: false });
  assert.match(await failure(get(hub)), /a part of it is a file itself/);
  files.pop();
  assert.equal(await exists(hub.cache), false);
  const snapshot = `${hub.cache}/models--org--tiny/snapshots/${COMMIT}`;
  const outside = `${hub.cache}-outside`;
  await Deno.mkdir(outside, { recursive: true });
  await Deno.mkdir(snapshot, { recursive: true });
  await Deno.symlink(outside, `${snapshot}/onnx`);
  const selection = { files: ["onnx/model.safetensors"], include: [], exclude: [] };
  assert.match(await failure(get(hub, { selection })), /it is a link, expected a folder/);
  assert.deepEqual([...Deno.readDirSync(outside)], []);
});
