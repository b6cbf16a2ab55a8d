import assert from "node:assert/strict";
import { percentDigits } from "./counted.ts";

Deno.test("halves of percentages are rounded up, however the product is stored", () => {
  const shares = [23 / 80, 11 / 80, 1 / 3, 0, 1, 7 / 16];
  assert.deepEqual(shares.map(percentDigits), ["28.8", "13.8", "33.3", "0.0", "100.0", "43.8"]);
});
