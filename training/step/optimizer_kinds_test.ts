/** The optimizer with 8-bit moments and with weights in bfloat16, on the CPU and the reference. */
import assert from "node:assert/strict";
import type { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { bytesOf } from "../../models/folder_testing.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { parameterBytes } from "../../models/network/counted_network.ts";
import { countedBytes, randomModel, tinyConfig, withReference } from "../../models/testing.ts";
import { AdamW } from "./optimizer.ts";
import {
  fillGradients,
  KINDS,
  SETTINGS,
  stepWith,
  values,
  wideConfig,
} from "./optimizer_testing.ts";

for (const [name, kind, weights] of KINDS) {
  const create = (device: Device) =>
    randomModel(device, wideConfig, { trainable: "full", weights });
  const settings = { ...SETTINGS, kind, seed: 5, pass: 1 };

  Deno.test(`the optimizer takes the planned memory: ${name}`, () =>
    withReference(async (device) => {
      const model = await create(device);
      const { values, gradients } = parameterBytes(model.sizes);
      const before = device.allocatedBytes;
      assert.ok(Math.abs(values + gradients - before) <= 256 * model.trainable.length);
      const optimizer = new AdamW(device, model, settings);
      const taken = device.allocatedBytes - before;
      const counted = countedBytes(model, (model) => new AdamW(model.device, model, settings));
      assert.equal(await counted, taken);
      optimizer.dispose();
      assert.equal(device.allocatedBytes, before);
      model.dispose();
    }, "f32"));

  Deno.test(`any number of threads and a resume give the same bits: ${name}`, async () => {
    const states = [];
    for (const threads of [1, 3]) {
      const device = await createWasmDevice({ threads });
      await device.ready();
      const model = await create(device);
      let optimizer = new AdamW(device, model, settings);
      for (const step of [1, 2, 3, 4]) {
        if (threads === 3 && step === 3) {
          const file = await parseSafetensors(await bytesOf(optimizer.save()));
          optimizer.dispose();
          optimizer = new AdamW(device, model, settings);
          await optimizer.load(file);
        }
        fillGradients(device, model, step);
        await stepWith(optimizer, 0.01);
      }
      states.push([await values(model), await bytesOf(optimizer.save())]);
      device.close();
    }
    assert.deepEqual(states[1], states[0]);
  });
}

Deno.test("8-bit moments and bfloat16 weights stay near the steps in floats", async () => {
  await withReference(async (device) => {
    const ends = [];
    for (const [, kind, weights] of KINDS) {
      const model = await randomModel(device, wideConfig, { trainable: "full", weights });
      const start = await values(model);
      const optimizer = new AdamW(device, model, { ...SETTINGS, kind });
      for (let step = 1; step <= 20; step++) {
        fillGradients(device, model, step / 9);
        await stepWith(optimizer, 0.01);
      }
      const end = await values(model), moved = [];
      for (const [name, before] of start) {
        for (const [i, x] of end.get(name)!.entries()) moved.push(x - before[i]!);
      }
      ends.push(moved);
      optimizer.dispose();
      model.dispose();
    }
    const length = (x: number[]) => Math.sqrt(x.reduce((sum, y) => sum + y * y, 0));
    const [floats, ...others] = ends;
    for (const [i, other] of others.entries()) {
      const apart = length(other.map((x, j) => x - floats![j]!)) / length(floats!);
      assert.ok(apart < 0.1, `${KINDS[i + 1]![0]}: ${apart} of the way`);
    }
  }, "f32");
});

Deno.test("a gradient that is not finite changes nothing, not even the moments", () =>
  withReference(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "full" });
    const optimizer = new AdamW(device, model, SETTINGS);
    fillGradients(device, model, 1);
    await stepWith(optimizer, 0.01);
    const before = await values(model), state = await bytesOf(optimizer.save());
    for (const bad of [NaN, Infinity]) {
      fillGradients(device, model, 2);
      device.write(model.trainable[0]!.grad!.view(0, 1), Float64Array.of(bad));
      const { applied, gradNorm } = await stepWith(optimizer, 0.01);
      assert.equal(applied, false);
      assert.ok(!Number.isFinite(gradNorm));
    }
    assert.deepEqual(await values(model), before);
    assert.deepEqual(await bytesOf(optimizer.save()), state);
    optimizer.dispose();
    model.dispose();
  }));

Deno.test("a checkpoint of another optimizer or model is refused with what to set", async () => {
  await withReference(async (device) => {
    const sizes = { ...wideConfig, intermediateSize: 32 };
    const other = await randomModel(device, sizes, { trainable: "full" });
    const model = await randomModel(device, wideConfig, { trainable: "full" });
    const [float, bytes] = [KINDS[0]![1], KINDS[1]![1]].map((kind) =>
      new AdamW(device, model, { ...SETTINGS, kind })
    );
    const foreign = new AdamW(device, other, SETTINGS);
    for (
      const [from, into, message, advice] of [
        [
          float!,
          bytes!,
          /^optimizer\.st: "m\..*" is F32, this run holds it as U8/,
          /training\.optim/,
        ],
        [foreign, float!, /^optimizer\.st: .*mlp\.down_proj/, /./],
      ] as const
    ) {
      const saved = await parseSafetensors(await bytesOf(from.save()), "optimizer.st");
      await assert.rejects(() => into.load(saved), (error: RgxError) => {
        assert.match(error.message, message);
        assert.match(error.advice!, advice);
        return true;
      });
    }
    for (const it of [float!, bytes!, foreign, model, other]) it.dispose();
  }, "f32");
});
