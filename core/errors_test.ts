/** Errors for users. */
import assert from "node:assert/strict";
import { RgxError, UsageError } from "./errors.ts";

Deno.test("a message is bounded, whatever is quoted in it", () => {
  const long = new UsageError("x".repeat(3_000_000), { advice: "y".repeat(3_000_000) });
  assert.ok(long.message.length < 2100 && long.advice!.length < 2100);
  assert.match(long.message, /^x+ … x+ \(3000000 characters\)$/);
  const many = new RgxError("line\n".repeat(100_000));
  assert.equal(many.message.split("\n").length, 501);
  assert.equal(new RgxError("a\nb").message, "a\nb");
});
