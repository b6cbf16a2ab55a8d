/** The scale of the loss, and gradients of products in float16. */
import assert from "node:assert/strict";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import type { Device } from "../../kernels/device.ts";
import { gradients, randomModel, TINY_MODELS } from "../../models/testing.ts";
import { firstScale, grown, type LossScaleState, withLossScale } from "./loss_scale.ts";

/** Passes whose gradient overflows from this scale on; notes the scales. */
function passesBelow(limit: number, scales: number[], loss = 1) {
  return (scale: number) => {
    scales.push(scale);
    return Promise.resolve({ result: { loss }, gradNorm: scale >= limit ? Infinity : 3 * scale });
  };
}

Deno.test("an overflowing gradient is computed again with a smaller scale", async () => {
  const state = { lossScale: firstScale("float16") }, scales: number[] = [];
  const { gradNorm } = await withLossScale(state, passesBelow(2 ** 10, scales));
  assert.deepEqual([gradNorm, scales], [3, [2 ** 16, 2 ** 12, 2 ** 8]]);
  assert.deepEqual(state.lossScale, { scale: 2 ** 8, steps: 0 });
});

Deno.test("what is not finite without a scale, or in the loss, is not computed for ever", async () => {
  const state = { lossScale: firstScale("float16") }, scales: number[] = [];
  const { gradNorm } = await withLossScale(state, passesBelow(0, scales));
  assert.deepEqual([gradNorm, scales.at(-1), scales.length], [Infinity, 1, 5]);
  const once: number[] = [], other = { lossScale: firstScale("float16") };
  await withLossScale(other, passesBelow(0, once, NaN));
  assert.deepEqual([once, other.lossScale], [[2 ** 16], firstScale("float16")]);
});

Deno.test("other types have no scale, and a scale grows after 2000 steps", async () => {
  const state = { lossScale: firstScale("bfloat16") }, scales: number[] = [];
  const { gradNorm } = await withLossScale(state, passesBelow(2, scales));
  assert.deepEqual([gradNorm, scales, state.lossScale], [3, [1], null]);
  let scale: LossScaleState = { scale: 4, steps: 0 };
  for (let step = 0; step < 1999; step++) scale = grown(scale);
  assert.deepEqual([scale, grown(scale)], [{ scale: 4, steps: 1999 }, { scale: 8, steps: 0 }]);
});

Deno.test("with a scale, small gradients in float16 are those of float64 but for the rounding", async () => {
  const config = TINY_MODELS[0]![1], slope = 2 ** -20;
  const groups = [{ promptIds: [1, 2, 3, 4], branches: [[5, 6, 7], [9, 10, 11]] }];
  const step = async (device: Device, scale: number) => {
    const model = await randomModel(device, config, { trainable: "full" });
    await model.forward(groups, { temperature: 1, train: true });
    model.backward(Float64Array.from({ length: 6 }, (_, i) => slope * scale * Math.cos(i)));
    const all = [...(await gradients(model)).values()].flatMap((grad) => [...grad]);
    model.dispose();
    return all.map((value) => value / scale / slope);
  };
  const exact = createReferenceDevice({ float: "f64" });
  const expected = await step(exact, 1), norm = Math.hypot(...expected);
  exact.close();
  for (const device of [createReferenceDevice(), await createWasmDevice({ threads: 1 })]) {
    device.computeDtype = "float16";
    const error = async (scale: number) => {
      const found = await step(device, scale);
      return Math.hypot(...found.map((value, i) => value - expected[i]!)) / norm;
    };
    const scaled = await error(2 ** 16), unscaled = await error(1);
    assert.ok(scaled < 0.02, `${device.name}: ${scaled}`);
    assert.ok(unscaled > 4 * scaled, `${device.name}: ${unscaled} without a scale`);
    device.close();
  }
});
