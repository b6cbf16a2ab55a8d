import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { hasZig, outdatedLibraries } from "./build.ts";

Deno.test("the committed native kernels are what the sources give", {
  ignore: needs(await hasZig(), NEEDED.zig),
}, async () => {
  assert.deepEqual(await outdatedLibraries(), [], "run deno task build:native");
});
