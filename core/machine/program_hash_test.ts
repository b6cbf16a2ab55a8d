/** The hash by which ranks find that they run different code. */
import assert from "node:assert/strict";
import { test } from "../testing.ts";
import { ROOMS } from "../../tools/architecture/imports.ts";
import { HASHED, programHash } from "./program_hash.ts";

test.inFolder("another line of code, kernel or package is another program; a test is none", async (folder) => {
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return await programHash(new URL(`file://${folder}/`));
  };
  for (const name of ["training/step", "kernels/native"]) {
    await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  }
  const hashes = [
    await write("training/step/optimizer.ts", "const EPSILON = 1e-8;"),
    await write("training/step/optimizer.ts", "const EPSILON = 1e-7;"),
    await write("kernels/native/x86_64.so", "code"),
    await write("deno.lock", "{}"),
  ];
  assert.equal(new Set(hashes).size, hashes.length);
  assert.equal(await write("training/step/optimizer_test.ts", ""), hashes.at(-1));
  assert.equal(await write("notes.ts", ""), hashes.at(-1));
});

Deno.test("the hash covers all rooms that training imports", async () => {
  const below = ROOMS.slice(0, ROOMS.indexOf("training") + 1).filter((room) => room !== "serve");
  for (const room of [...below, "cli"]) assert.ok(HASHED.includes(room), room);
  assert.equal(await programHash(), await programHash());
});
