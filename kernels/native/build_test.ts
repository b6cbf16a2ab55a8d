import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { hasZig, nativeIsCurrent } from "./build.ts";

Deno.test("the committed native kernels are what the sources give", {
  ignore: needs(await hasZig(), NEEDED.zig),
}, async () => {
  assert.ok(await nativeIsCurrent(), "run deno task build:native");
});
