import assert from "node:assert/strict";
import { VERSION, versionLine } from "./version.ts";

Deno.test("the version in the code is the version in deno.json", async () => {
  const text = await Deno.readTextFile(new URL("../deno.json", import.meta.url));
  assert.equal(VERSION, JSON.parse(text).version);
  assert.match(versionLine(), /^rgx \d+\.\d+\.\d+ \(deno \d+\.\d+\.\d+, v8 \S+\)$/);
});
