import assert from "node:assert/strict";
import { holm } from "./holm.ts";

Deno.test("Holm's correction gives the values of R's p.adjust", () => {
  // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
  const values = holm([0.01, 0.04, 0.03, 0.005]).map((p) => Number(p.toFixed(6)));
  assert.deepEqual(values, [0.03, 0.06, 0.06, 0.02]);
  assert.deepEqual(holm([0.6, 0.9]), [1, 1]);
  assert.deepEqual(holm([0.2]), [0.2]);
  assert.deepEqual(holm([]), []);
});
