import assert from "node:assert/strict";
import { bytesText } from "./bytes.ts";

Deno.test("sizes are written with three digits in units of 1000", () => {
  const sizes: [number, string][] = [[0, "0 B"], [999, "999 B"], [1000, "1.00 kB"]];
  sizes.push([999_900, "1.00 MB"], [15_240_000_000, "15.2 GB"], [2e15, "2000 TB"]);
  for (const [bytes, text] of sizes) assert.equal(bytesText(bytes), text);
});
