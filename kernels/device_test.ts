/** What every device must do apart from operations: memory, views, errors, accounting. */
import assert from "node:assert/strict";
import { RgxError, UsageError } from "../core/errors.ts";
import { refusal } from "../core/testing.ts";
import { DEVICES, testOnEveryDevice } from "./conformance/devices_testing.ts";
import type { Device } from "./device.ts";
import { VIEW_ALIGNMENT } from "./tensor.ts";
import { createDevice } from "./mod.ts";
import { createReferenceDevice } from "./devices/reference/device.ts";
import { upload } from "./testing.ts";

/** Also those with the kernels of another; each test has a device of its own, cards as well. */
function onAll(sentence: string, check: (device: Device) => void | Promise<void>): void {
  testOnEveryDevice(sentence, check, DEVICES.map((device) => ({ ...device, isCard: false })));
}

onAll("a new tensor is filled with zeros, also in used memory", async (device) => {
  for (const dtype of ["float", "u32"] as const) {
    for (const length of [0, 1, 3, 64, 65, 5000]) {
      const first = device.create(dtype, length, "first");
      const data = dtype === "u32" ? new Uint32Array(length) : new Float32Array(length);
      device.write(first, data.fill(7));
      device.free(first);
      const second = device.create(dtype, length, "second");
      assert.deepEqual([...await device.read(second)], new Array(length).fill(0));
      device.free(second);
    }
  }
});

onAll("written data can be read back, completely and in part", async (device) => {
  const tensor = upload(device, Float32Array.from([1, 2, 3, 4, 5]));
  device.write(tensor, Float64Array.from([0.5, -0.25]), 2);
  assert.deepEqual([...await device.read(tensor)], [1, 2, 0.5, -0.25, 5]);
  assert.deepEqual([...await device.read(tensor, 3)], [-0.25, 5]);
  assert.deepEqual([...await device.read(tensor, 1, 2)], [2, 0.5]);
  assert.deepEqual([...await device.read(tensor, 5)], []);
  const ids = upload(device, Uint32Array.from([0xffffffff, 0]));
  assert.deepEqual(await device.read(ids), Uint32Array.from([0xffffffff, 0]));
});

onAll("a read is a copy", async (device) => {
  const tensor = upload(device, Float32Array.from([1, 2]));
  const before = await device.read(tensor);
  device.write(tensor, Float32Array.from([3]));
  assert.deepEqual([...before], [1, 2]);
});

onAll("writes outside a tensor or of another type are refused", async (device) => {
  const tensor = device.create("float", 4, "small"), ids = device.create("u32", 4, "ids");
  assert.throws(() => device.write(tensor, new Float32Array(5)), /small/);
  assert.throws(() => device.write(tensor, new Float32Array(2), 3), /small/);
  assert.throws(() => device.write(tensor, new Float32Array(1), -1), /small/);
  assert.throws(() => device.write(tensor, new Uint32Array(1)), /small/);
  assert.throws(() => device.write(ids, new Float32Array(1)), /ids/);
  await assert.rejects(async () => await device.read(tensor, 2, 3), /small/);
});

onAll("a view shares memory, also a view of a view", async (device) => {
  const tensor = device.create("float", 5 * VIEW_ALIGNMENT, "whole");
  const view = tensor.view(VIEW_ALIGNMENT, 3 * VIEW_ALIGNMENT);
  const inner = view.view(VIEW_ALIGNMENT, 2);
  device.write(inner, Float32Array.from([8, 9]));
  assert.deepEqual([...await device.read(tensor, 2 * VIEW_ALIGNMENT, 3)], [8, 9, 0]);
  device.run("fill", { out: view, n: 1, value: 4 });
  assert.deepEqual([...await device.read(tensor, VIEW_ALIGNMENT, 2)], [4, 0]);
  assert.equal(inner.length, 2);
  assert.equal(inner.dtype, "float");
  assert.equal(tensor.view(5 * VIEW_ALIGNMENT, 0).length, 0);
});

onAll("views must be aligned and inside the tensor", (device) => {
  const tensor = device.create("float", 3 * VIEW_ALIGNMENT, "whole");
  for (
    const [offset, length] of [[1, 1], [-64, 1], [0, 193], [128, 65], [192, 1], [0, -1]] as const
  ) {
    assert.throws(() => tensor.view(offset, length), RangeError, `[${offset}, ${length}]`);
  }
});

onAll("memory is counted, with its peak", (device) => {
  const base = device.allocatedBytes;
  assert.equal(base, 0);
  const a = device.create("float", 100, "a"), b = device.create("u32", 50, "b");
  assert.equal(device.allocatedBytes, 600);
  device.free(a);
  assert.equal(device.allocatedBytes, 200);
  assert.equal(device.peakBytes, 600);
  device.resetPeak();
  assert.equal(device.peakBytes, 200);
  device.free(b);
  assert.equal(device.allocatedBytes, 0);
});

onAll(
  "use after free, a second free and the free of a view are errors",
  async (device) => {
    const tensor = device.create("float", 64, "gone"), other = device.create("float", 64, "other");
    assert.throws(() => device.free(tensor.view(0, 8)), /gone/);
    device.free(tensor);
    assert.throws(() => device.free(tensor), /gone/);
    assert.throws(() => device.write(tensor, new Float32Array(1)), /gone/);
    await assert.rejects(async () => await device.read(tensor), /gone/);
    assert.throws(() => device.run("copy", { src: tensor, out: other, n: 64 }), /gone/);
  },
);

onAll("a tensor of another device is refused", (device) => {
  const stranger = createReferenceDevice();
  const theirs = stranger.create("float", 4, "theirs"), ours = device.create("float", 4, "ours");
  assert.throws(() => device.run("copy", { src: theirs, out: ours, n: 4 }), /theirs/);
  assert.throws(() => device.write(theirs, new Float32Array(1)), /theirs/);
  assert.throws(() => device.free(theirs), /theirs/);
  stranger.close();
});

onAll("arguments are checked before an operation runs", async (device) => {
  const a = upload(device, new Float32Array(6).fill(1)),
    out = upload(device, Float32Array.of(5, 5));
  const product = { a, b: a, m: 2, n: 2, k: 3 };
  assert.throws(() => device.run("matmul", { ...product, out }), RgxError);
  assert.throws(() => device.run("matmul", { ...product, m: 1, out: a }), RgxError);
  assert.deepEqual([...await device.read(out)], [5, 5]);
});

onAll("overlapping views are distinguished from adjacent ones", (device) => {
  const whole = device.create("float", 256, "whole");
  device.run("copy", { src: whole.view(0, 64), out: whole.view(64, 64), n: 64 });
  assert.throws(
    () => device.run("copy", { src: whole.view(0, 128), out: whole.view(64, 128), n: 65 }),
    /copy: out .*whole/,
  );
});

onAll("a closed device can be closed again and does nothing else", async (device) => {
  const tensor = device.create("float", 4, "late");
  device.close();
  device.close();
  assert.equal(device.allocatedBytes, 0);
  assert.throws(() => device.create("float", 4, "later"));
  assert.throws(() => device.run("fill", { out: tensor, n: 4, value: 1 }));
  await assert.rejects(async () => await device.read(tensor));
});

Deno.test("the reference device detects views of freed tensors and wrong indices", async () => {
  using device = createReferenceDevice();
  const whole = device.create("float", 128, "whole"), view = whole.view(64, 64);
  const index = upload(device, Uint32Array.of(3)), out = device.create("float", 64, "out");
  const gather = { table: whole, index, out, rows: 1, d: 64 };
  assert.throws(() => device.run("gather_rows", gather), /row 3 of "whole", which has 2 rows/);
  device.free(whole);
  assert.throws(() => device.run("fill", { out: view, n: 1, value: 1 }), /"whole".*freed/);
  await assert.rejects(() => device.read(view), RgxError);
});

Deno.test("devices are created by name", async () => {
  const expected = { reference: "reference", wasm: "wasm", auto: "wasm" } as const;
  for (const [name, kind] of Object.entries(expected)) {
    const device: Device = await createDevice(name, { threads: 1 });
    assert.equal(device.name, kind);
    assert.equal(device.threads, 1);
    device.close();
  }
  await assert.rejects(
    () => createDevice("gpu"),
    refusal(/unknown device "gpu".*auto, webgpu, vulkan, wasm, reference/, UsageError),
  );
  const advice = async (name: string) =>
    await createDevice(name).then(() => "", (error: UsageError) => error.advice ?? "");
  assert.match(await advice("cuda:1"), /is called webgpu:1;/);
  assert.match(await advice("cuda"), /is called webgpu;/);
  assert.match(await advice("cpu"), /is called wasm/);
  assert.match(await advice("web"), /webgpu:0, webgpu:1/);
});
