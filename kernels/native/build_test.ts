import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { hasZig, outdatedLibraries } from "./build.ts";

Deno.test("the committed kernels of the CPU are what the sources give", {
  ignore: needs(await hasZig(), NEEDED.zig),
}, async () => {
  assert.deepEqual(await outdatedLibraries(), [], "run deno task build:kernels");
});
