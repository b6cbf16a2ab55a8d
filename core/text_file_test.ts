import assert from "node:assert/strict";
import { readText } from "./text_file.ts";

Deno.test("a mark at the beginning is no text, elsewhere it is", async () => {
  const path = await Deno.makeTempFile({ suffix: " ü 图.txt" });
  const read = async (text: string) => {
    await Deno.writeTextFile(path, text);
    return await readText(path);
  };
  try {
    assert.equal(await read("\uFEFF[1]\r\n"), "[1]\r\n");
    assert.equal(await read("a\uFEFFé 图"), "a\uFEFFé 图");
    assert.equal(await read(""), "");
  } finally {
    await Deno.remove(path);
  }
  await assert.rejects(readText(path), Deno.errors.NotFound);
});
