import assert from "node:assert/strict";
import { test } from "./testing.ts";
import { exists, fileName, folderOf, isAbsent, isFile, isFolder } from "./paths.ts";

test.inFolder("files, folders, links to them and missing paths are distinguished", async (folder) => {
  await Deno.writeTextFile(`${folder}/a`, "a");
  await Deno.symlink(`${folder}/a`, `${folder}/link`);
  await Deno.symlink(`${folder}/gone`, `${folder}/broken`);
  const found = async (name: string) => [
    await exists(`${folder}/${name}`),
    await isFile(`${folder}/${name}`),
    await isFolder(`${folder}/${name}`),
  ];
  assert.deepEqual(await found("a"), [true, true, false]);
  assert.deepEqual(await found("link"), [true, true, false]);
  assert.deepEqual(await found("."), [true, false, true]);
  assert.deepEqual(await found("none"), [false, false, false]);
  assert.deepEqual(await found("broken"), [false, false, false]);
  await Deno.symlink(`${folder}/round`, `${folder}/round`);
  assert.deepEqual(await found("a/below"), [false, false, false]);
  assert.deepEqual(await found("round"), [false, false, false]);
  await assert.rejects(exists(`${folder}/${"long".repeat(2000)}`), (e) => !isAbsent(e));
  await assert.rejects(Deno.readTextFile(folder), (e) => isAbsent(e));
});

Deno.test("texts become file names, and folderOf returns a file's folder", () => {
  assert.equal(fileName("org/model v2:x"), "org_model_v2_x");
  assert.deepEqual(["a", "/a", "a/b", "/a/b"].map(folderOf), [".", "/", "a", "/a"]);
});
