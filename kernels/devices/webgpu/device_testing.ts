/**
 * Tests of the GPU device beyond kernels/device_test.ts, on each layer below it: memory, order,
 * errors.
 */
import assert from "node:assert/strict";
import { EXIT, RgxError } from "../../../core/errors.ts";
import type { Tensor } from "../../tensor.ts";
import { upload } from "../../testing.ts";
import type { WebgpuDevice } from "./device.ts";
import { kernel } from "../../ops/common/wgsl/kernel.ts";

/**
 * Defines the tests for a layer.
 * @param gpuTest defines a test on a device of the layer, which is closed at the end
 */
export function testGpuDevice(
  gpuTest: (
    name: string,
    body: (device: WebgpuDevice) => void | Promise<void>,
  ) => void,
): void {
  gpuTest("device memory stays constant over ten thousand tensors", async (device) => {
    const keep = upload(device, Float32Array.of(1, 2, 3));
    const round = () => {
      const tensors: Tensor[] = [];
      for (let i = 0; i < 100; i++) tensors.push(device.create("float", 1 + 97 * i, `t${i}`));
      for (const tensor of tensors) device.run("fill", { out: tensor, n: 1, value: 1 });
      for (const tensor of tensors) device.free(tensor);
      device.submit();
    };
    round();
    const held = device.heldBytes;
    for (let i = 1; i < 100; i++) round();
    assert.equal(device.heldBytes, held);
    assert.equal(device.allocatedBytes, 12);
    assert.deepEqual([...await device.read(keep)], [1, 2, 3]);
  });

  gpuTest(
    "writes and operations take effect in the order of the calls, without a submit between",
    async (device) => {
      const x = upload(device, Float32Array.of(1)), sum = device.create("float", 64, "sum");
      const large = new Float32Array(300_000), many = device.create("float", large.length, "many");
      const total = device.create("float", large.length, "total");
      for (let i = 1; i <= 50; i++) {
        device.write(x, Float32Array.of(i));
        device.run("add", { a: sum, b: x, out: sum, n: 1 });
        device.write(many, large.fill(i));
        device.run("add", { a: total, b: many, out: total, n: large.length });
      }
      assert.equal((await device.read(sum, 0, 1))[0], 1275);
      assert.ok((await device.read(total)).every((value) => value === 1275));
    },
  );

  gpuTest("a large write is staged in parts", async (device) => {
    const words = new Uint32Array(17 * 2 ** 20 + 3);
    for (let i = 0; i < words.length; i++) words[i] = i; // sooner than Uint32Array.from
    const tensor = device.create("u32", words.length, "large"), before = device.counters.submits;
    device.write(tensor, words.subarray(0, -1));
    assert.equal(device.counters.submits, before + 1);
    for (const at of [0, 1, 2 ** 24, 2 ** 24 + 1, words.length - 2]) {
      assert.deepEqual([...await device.read(tensor, at, 1)], [at]);
    }
    // The rest of a new tensor is zeros.
    assert.deepEqual([...await device.read(tensor, words.length - 1, 1)], [0]);
  });

  gpuTest(
    "a tensor that is written in parts has zeros where nothing was written",
    async (device) => {
      const n = 5000, ones = new Float32Array(n).fill(1);
      // Each tensor takes the memory of the one before it, which is full of ones.
      const written = async (write: (tensor: Tensor) => void) => {
        const tensor = device.create("float", n, "parts");
        write(tensor);
        const found = await device.read(tensor) as Float32Array;
        device.write(tensor, ones);
        device.run("add", { a: tensor, b: tensor, out: tensor, n });
        device.free(tensor);
        return found.reduce((text, x, i) => x === found[i - 1] ? text : `${text} ${i}:${x}`, "");
      };
      const put = (from: number, to: number) => (tensor: Tensor) =>
        device.write(tensor, ones.subarray(from, to), from);
      for (let round = 0; round < 2; round++) {
        assert.equal(await written(() => {}), " 0:0");
        assert.equal(await written(put(0, n)), " 0:1");
        assert.equal(await written(put(0, 700)), " 0:1 700:0");
        assert.equal(await written(put(700, n)), " 0:0 700:1");
        const both = (tensor: Tensor) =>
          [put(0, 700), put(700, 900)].forEach((part) => part(tensor));
        assert.equal(await written(both), " 0:1 900:0");
        const apart = (tensor: Tensor) => [put(0, 9), put(10, 20)].forEach((part) => part(tensor));
        assert.equal(await written(apart), " 0:1 9:0 10:1 20:0");
        const again = (tensor: Tensor) => [put(0, 9), put(0, 9)].forEach((part) => part(tensor));
        assert.equal(await written(again), " 0:1 9:0");
        const view = (tensor: Tensor) => device.write(tensor.view(0, 64), ones.subarray(0, 64));
        assert.equal(await written(view), " 0:1 64:0");
      }
    },
  );

  gpuTest(
    "a tensor in memory of a freed one waits for the commands that still use it",
    async (device) => {
      const out = device.create("float", 100, "out");
      for (let i = 0; i < 20; i++) {
        const short = device.create("float", 100, "short");
        device.write(short, new Float32Array(100).fill(i));
        device.run("add", { a: out, b: short, out, n: 100 });
        device.free(short);
      }
      assert.ok((await device.read(out)).every((value) => value === 190));
    },
  );

  gpuTest("a copy that is read later has the values of its time", async (device) => {
    const x = upload(device, Float32Array.of(1, 2, 3)), n = upload(device, Uint32Array.of(7, 8));
    const first = await device.readLater([{ tensor: x, length: 2 }, { tensor: n, length: 2 }]);
    device.run("fill", { out: x, n: 3, value: 5 });
    const before = device.counters;
    assert.deepEqual(await first(), [Float32Array.of(1, 2), Uint32Array.of(7, 8)]);
    // The operation began before the host went on.
    assert.equal(device.counters.submits, before.submits + 1);
    assert.equal(device.counters.hiddenReads, before.hiddenReads + 2);
    const second = await device.readLater([{ tensor: x, length: 3 }]);
    assert.deepEqual(await second(), [Float32Array.of(5, 5, 5)]);
    assert.equal(device.counters.hiddenReads, before.hiddenReads + 2);
    await assert.rejects(() => device.readLater([{ tensor: x, length: 4 }]), RangeError);
  });

  gpuTest("more operations than a recording holds are submitted in between", async (device) => {
    const x = device.create("float", 1, "x"), one = upload(device, Float32Array.of(1));
    for (let i = 0; i < 5000; i++) device.run("add", { a: x, b: one, out: x, n: 1 });
    assert.equal((await device.read(x))[0], 5000);
    assert.ok(device.counters.submits >= 2);
    assert.equal(device.counters.dispatches, 5000);
  });

  gpuTest("the error for a kernel that does not compile has its name and line", async (device) => {
    const broken = kernel({
      name: "broken.example",
      writes: "f32 dst",
      code: "@compute @workgroup_size(1)\nfn main() { dst[0] = nothing; }",
    });
    const x = device.create("float", 4, "x");
    device.dispatch({ kernel: broken, buffers: { dst: x }, groups: 1 });
    await assert.rejects(
      () => device.read(x),
      (error: Error) =>
        error instanceof RgxError && /broken\.example does not compile/.test(error.message) &&
        /dst\[0\] = nothing/.test(error.message),
    );
    assert.throws(() => device.create("float", 1, "later"), /broken\.example/);
  });

  gpuTest("a lost device ends the run with the exit code for a resumable run", async (device) => {
    const x = upload(device, Float32Array.of(1, 2));
    device.run("fill", { out: x, n: 2, value: 3 });
    device.lose();
    const isLost = (error: Error) =>
      error instanceof RgxError && error.exitCode === EXIT.resumable &&
      /was lost/.test(error.message) &&
      /--resume/.test(error.advice ?? "");
    await assert.rejects(() => device.read(x), isLost);
    assert.throws(() => device.run("fill", { out: x, n: 2, value: 3 }), isLost);
    assert.throws(() => device.create("float", 1, "later"), isLost);
  });

  gpuTest("a tensor beyond the largest buffer is refused with its size", (device) => {
    assert.throws(
      () => device.create("float", 2 ** 40, "huge"),
      (error: Error) =>
        error instanceof RgxError && /"huge" needs 4398046511104 bytes/.test(error.message),
    );
  });
}
