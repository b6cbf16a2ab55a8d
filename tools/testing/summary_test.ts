import assert from "node:assert/strict";
import { SKIPPED } from "../../tests/skipped.ts";
import { Summary } from "./summary.ts";

Deno.test("runs are added up, and skipped tests are counted by reason", () => {
  const summary = new Summary();
  summary.addCheck("format", true);
  summary.addRun(
    "kernels",
    `${SKIPPED}no card\n${SKIPPED}no card\nok | 28 passed (13 steps) | 0 failed | 3 ignored (2s)\n`,
    true,
  );
  summary.addRun("models", "FAILED | 5 passed | 2 failed (1s)\n", false);
  assert.deepEqual(summary.lines(), [
    "FAILED: models",
    "skipped 2: no card",
    "skipped 1: no reason given",
    "",
    "34 passed, 2 failed, 3 skipped",
  ]);
});

Deno.test("a run that ends without a closing line has failed", () => {
  const summary = new Summary();
  summary.addRun("a crash", "error: Module not found\n", false);
  assert.deepEqual(summary.lines(), ["FAILED: a crash", "", "0 passed, 1 failed"]);
});
