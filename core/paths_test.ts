import assert from "node:assert/strict";
import { exists, isAbsent, isFile } from "./paths.ts";

Deno.test("files, folders, links to them and nothing are told apart", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/a`, "a");
    await Deno.symlink(`${folder}/a`, `${folder}/link`);
    await Deno.symlink(`${folder}/gone`, `${folder}/broken`);
    const found = async (name: string) => [
      await exists(`${folder}/${name}`),
      await isFile(`${folder}/${name}`),
    ];
    assert.deepEqual(await found("a"), [true, true]);
    assert.deepEqual(await found("link"), [true, true]);
    assert.deepEqual(await found("."), [true, false]);
    assert.deepEqual(await found("none"), [false, false]);
    assert.deepEqual(await found("broken"), [false, false]);
    assert.deepEqual(await found("a/below"), [false, false]);
    await assert.rejects(exists(`${folder}/${"long".repeat(2000)}`), (e) => !isAbsent(e));
    await assert.rejects(Deno.readTextFile(folder), (e) => isAbsent(e));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
