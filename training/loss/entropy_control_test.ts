import assert from "node:assert/strict";
import { EntropyControl, type EntropySettings } from "./entropy_control.ts";

const SETTINGS: EntropySettings = {
  entropy_coef: 0.01,
  use_adaptive_entropy: true,
  entropy_coef_min: 0,
  entropy_coef_max: 0.02,
  entropy_coef_delta: 0.005,
  entropy_target: 1,
};

Deno.test("the coefficient rises at or below the target, falls above it, within bounds", () => {
  const control = new EntropyControl(SETTINGS, null);
  const seen = [];
  for (const entropy of [0.5, 1, 0.2, 3, 3, 3, 3, 3, 0.9]) {
    control.update(entropy);
    seen.push(control.logged);
  }
  const expected = [.015, .02, .02, .015, .01, .005, 0, 0, .005];
  for (const [i, value] of expected.entries()) assert.ok(Math.abs(seen[i]! - value) < 1e-15);
});

Deno.test("the bonus is applied only after a step whose entropy was at or below the target", () => {
  const control = new EntropyControl(SETTINGS, null);
  assert.equal(control.applied, 0.01);
  control.update(2);
  assert.equal(control.applied, 0);
  assert.equal(control.logged, 0.005);
  control.update(1);
  assert.equal(control.applied, 0.01);
});

Deno.test("a step without tokens leaves the coefficient as it is", () => {
  const control = new EntropyControl(SETTINGS, null);
  control.update(NaN);
  assert.equal(control.logged, 0.01);
});
