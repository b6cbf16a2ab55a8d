/**
 * Tests of the GPU device beyond kernels/device_test.ts, on each layer below it: memory, order,
 * errors, limits.
 */
import assert from "node:assert/strict";
import { EXIT, RgxError } from "../../../core/errors.ts";
import { elementwiseCases } from "../../conformance/cases/elementwise_testing.ts";
import { rmsnormCases } from "../../conformance/cases/rmsnorm_testing.ts";
import { isForCards, matmulCases } from "../../conformance/cases/matmul_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import type { Tensor } from "../../tensor.ts";
import { upload } from "../../testing.ts";
import type { WebgpuDevice, WebgpuDeviceOptions } from "./device.ts";
import { kernel } from "../../ops/common/wgsl/kernel.ts";

const small = { limits: { bindingElements: 1 << 18 } };

/**
 * Defines the tests for a layer.
 * @param gpuTest defines a test on a device of the layer, which is closed at the end
 */
export function testGpuDevice(
  gpuTest: (
    name: string,
    body: (device: WebgpuDevice) => void | Promise<void>,
    options?: WebgpuDeviceOptions,
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

  gpuTest("grids with more workgroups than one dimension allows are complete", async (device) => {
    // Those with more workgroups; few, because each layout of a product is compiled anew.
    const shapes = ["[129×9]·[9×513]", "[1×1024]·[1024×577]"];
    const all = [
      ...elementwiseCases().filter(({ op, name }) => op === "add" && name.startsWith("100003")),
      ...rmsnormCases().filter(({ name }) => name.startsWith("[1031×100]")),
      ...matmulCases((shape) => shapes.includes(shape)).filter(isForCards)
        .filter((_, i) => i % 3 === 0),
    ];
    for (const op of ["add", "rmsnorm", "rmsnorm_backward", "matmul"]) {
      const some = all.filter((test) => test.op === op);
      assert.ok(some.length > 2, op);
      for (const test of some) await checkCase(device, test);
    }
  }, { limits: { groupsPerDimension: 37 } });

  gpuTest("tensors larger than one binding are processed in parts", async (device) => {
    const n = (1 << 18) * 2 + 777;
    const data = Float32Array.from({ length: n }, (_, i) => i % 1000 - 500);
    const a = upload(device, data),
      b = upload(device, data),
      out = device.create("float", n, "out");
    device.run("add", { a, b, out, n, scale: 2 });
    assert.deepEqual(await device.read(out), data.map((x) => 3 * x));
    const partial = device.create("float", Math.ceil(n / 4096), "partial");
    device.run("sum_squares", { x: a, partial, n });
    const squares = [...await device.read(partial)].reduce((sum, x) => sum + x, 0);
    const expected = data.reduce((sum, x) => sum + x * x, 0);
    assert.ok(Math.abs(squares / expected - 1) < 1e-6);
    // A table of 8192 rows of 64 needs two bindings, and so does the output.
    const rows = 8200, d = 64;
    const table = upload(
      device,
      Float32Array.from({ length: 8192 * d }, (_, i) => Math.floor(i / d)),
    );
    const index = Uint32Array.from({ length: rows }, (_, r) => (r * 5003) % 8192);
    const gathered = device.create("float", rows * d, "gathered");
    device.run("gather_rows", { table, index: upload(device, index), out: gathered, rows, d });
    const found = await device.read(gathered);
    for (let r = 0; r < rows; r++) assert.equal(found[r * d + (r % d)], index[r], `row ${r}`);
    const rho = device.create("float", rows, "rho"),
      weight = upload(device, new Float32Array(d).fill(2));
    const normed = device.create("float", rows * d, "normed");
    device.run("rmsnorm", { x: gathered, weight, out: normed, rho, rows, d, eps: 1e-6 });
    const last = await device.read(normed, (rows - 1) * d, d);
    assert.ok(last.every((x) => Math.abs(x - 2) < 1e-5), `${last[0]}`);
  }, small);

  gpuTest("the error for a tensor that cannot be split names what is too long", (device) => {
    const long = device.create("float", (1 << 18) + 64, "long");
    const touch = kernel({
      name: "touch",
      writes: "f32 dst",
      code: "@compute @workgroup_size(1) fn main() { dst[0] = 1.0; }",
    });
    assert.throws(
      () => device.dispatch({ kernel: touch, buffers: { dst: long }, groups: 1 }),
      /touch on dst\[262208\].*"long" has 1048832 bytes.*binds at most 1048576/,
    );
  }, small);
}
