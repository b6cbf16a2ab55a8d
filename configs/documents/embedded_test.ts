import assert from "node:assert/strict";
import { EMBEDDED } from "./embedded.ts";

const CONFIGS = new URL("../", import.meta.url);

Deno.test("the table of embedded files is the folder", async () => {
  const found: string[] = [];
  const list = async (folder: string) => {
    for await (const entry of Deno.readDir(new URL(folder, CONFIGS))) {
      if (entry.isDirectory) await list(`${folder}${entry.name}/`);
      else if (entry.name.endsWith(".yaml")) found.push(`${folder}${entry.name}`.slice(2));
    }
  };
  await list("./");
  assert.deepEqual([...EMBEDDED.keys()].sort(), found.sort());
  for (const [path, text] of EMBEDDED) {
    assert.equal(text, await Deno.readTextFile(new URL(path, CONFIGS)));
  }
});
