import assert from "node:assert/strict";
import { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import { bytesOf } from "../../models/folder_testing.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { randomModel, tinyConfig, withReference } from "../../models/testing.ts";
import { AdamW } from "./optimizer.ts";
import { SETTINGS, stepWith, test } from "./optimizer_testing.ts";

const createModel = (device: Device) =>
  randomModel(device, tinyConfig(true), { trainable: "full" });
type Model = Awaited<ReturnType<typeof createModel>>;

/** Writes gradients that differ by step and element; element 0 of the first tensor may be set. */
function fillGradients(model: Model, step: number, first?: number): Map<string, Float64Array> {
  const all = new Map<string, Float64Array>();
  for (const [i, { name, grad }] of model.trainable.entries()) {
    const values = Float64Array.from({ length: grad!.length }, (_, j) => Math.sin(step + i + j));
    if (i === 0 && first !== undefined) values[0] = first;
    model.device.write(grad!, values);
    all.set(name, values);
  }
  return all;
}

async function values(model: Model): Promise<Map<string, Float64Array>> {
  const all = new Map<string, Float64Array>();
  for (const { name, value } of model.trainable) {
    all.set(name, Float64Array.from(await model.device.read(value)));
  }
  return all;
}

test.withModel("three clipped AdamW steps with weight decay equal the formula", async ({ model, device }) => {
  const optimizer = new AdamW(device, model, SETTINGS);
  const expected = await values(model);
  const m = new Map([...expected].map(([name, x]) => [name, new Float64Array(x.length)]));
  const v = new Map([...expected].map(([name, x]) => [name, new Float64Array(x.length)]));
  for (let t = 1; t <= 3; t++) {
    const gradients = fillGradients(model, t);
    const lr = 0.01 / t;
    let square = 0;
    for (const g of gradients.values()) for (const x of g) square += x * x;
    const scale = Math.min(1, 0.5 / (Math.sqrt(square) + 1e-6));
    const { gradNorm, applied } = await stepWith(optimizer, lr);
    assert.ok(applied && Math.abs(gradNorm - Math.sqrt(square)) < 1e-10);
    for (const { name, decay } of model.trainable) {
      const p = expected.get(name)!, mm = m.get(name)!, vv = v.get(name)!;
      for (const [j, raw] of gradients.get(name)!.entries()) {
        const g = raw * scale;
        p[j]! *= 1 - lr * (decay ? 0.1 : 0);
        mm[j] = 0.9 * mm[j]! + 0.1 * g;
        vv[j] = 0.99 * vv[j]! + 0.01 * g * g;
        p[j]! -= lr / (1 - 0.9 ** t) * mm[j]! / (Math.sqrt(vv[j]! / (1 - 0.99 ** t)) + 1e-8);
      }
    }
  }
  for (const [name, found] of await values(model)) {
    for (const [j, x] of found.entries()) {
      assert.ok(Math.abs(x - expected.get(name)![j]!) < 1e-12, `${name} ${j}`);
    }
  }
  optimizer.dispose();
});

test.withModel("a gradient that is not finite changes nothing, not even the moments", async ({ model, device }) => {
  const optimizer = new AdamW(device, model, SETTINGS);
  fillGradients(model, 1);
  await stepWith(optimizer, 0.01);
  const before = await values(model), state = await bytesOf(optimizer.save());
  for (const bad of [NaN, Infinity]) {
    fillGradients(model, 2, bad);
    const { applied, gradNorm } = await stepWith(optimizer, 0.01);
    assert.equal(applied, false);
    assert.ok(!Number.isFinite(gradNorm));
  }
  assert.deepEqual(await values(model), before);
  assert.deepEqual(await bytesOf(optimizer.save()), state);
  optimizer.dispose();
});

Deno.test("a restored optimizer continues to the same bits, in f32 and f64", async () => {
  for (const float of ["f32", "f64"] as const) {
    await withReference(async (device) => {
      const [model, twin] = [await createModel(device), await createModel(device)];
      const optimizer = new AdamW(device, model, SETTINGS);
      for (const step of [1, 2]) {
        fillGradients(model, step);
        await stepWith(optimizer, 0.01);
      }
      const saved = await bytesOf(optimizer.save());
      const restored = new AdamW(device, twin, SETTINGS);
      await restored.load(await parseSafetensors(saved));
      for (const { name, value } of model.trainable) {
        const target = twin.trainable.find((parameter) => parameter.name === name)!;
        device.write(target.value, await device.read(value));
      }
      fillGradients(model, 3);
      fillGradients(twin, 3);
      await stepWith(optimizer, 0.01);
      await stepWith(restored, 0.01);
      assert.deepEqual(await values(twin), await values(model));
      assert.deepEqual(await bytesOf(restored.save()), await bytesOf(optimizer.save()));
      for (const it of [optimizer, restored]) it.dispose();
      for (const it of [model, twin]) it.dispose();
    }, float);
  }
});

Deno.test("a state of another model is refused with the tensor's name", async () => {
  await withReference(async (device) => {
    const model = await createModel(device);
    const other = await randomModel(device, { ...tinyConfig(true), intermediateSize: 24 }, {
      trainable: "full",
    });
    const optimizer = new AdamW(device, model, SETTINGS);
    const foreign = new AdamW(device, other, SETTINGS);
    const saved = await parseSafetensors(await bytesOf(foreign.save()), "optimizer.safetensors");
    await assert.rejects(
      optimizer.load(saved),
      (error: unknown) =>
        error instanceof RgxError && /optimizer\.safetensors.*mlp\.down_proj/.test(error.message),
    );
    for (const it of [optimizer, foreign]) it.dispose();
    for (const it of [model, other]) it.dispose();
  });
});

Deno.test("a model without trainable parameters has nothing to optimise", async () => {
  await withReference(async (device) => {
    const model = await randomModel(device, tinyConfig(false), { trainable: "none" });
    assert.throws(() => new AdamW(device, model, SETTINGS), RgxError);
    model.dispose();
  });
});
