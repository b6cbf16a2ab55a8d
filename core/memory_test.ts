import assert from "node:assert/strict";
import { availableBytes } from "./memory.ts";

Deno.test("available memory is positive and at most what the machine has", async () => {
  const bytes = await availableBytes();
  assert.ok(bytes > 0, `${bytes}`);
  assert.ok(bytes <= Deno.systemMemoryInfo().total, `${bytes}`);
});
