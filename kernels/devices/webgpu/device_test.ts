/** The GPU device on Deno's WebGPU, and what it does about limits on every layer below it. */
import assert from "node:assert/strict";
import { elementwiseCases } from "../../conformance/cases/elementwise_testing.ts";
import { rmsnormCases } from "../../conformance/cases/rmsnorm_testing.ts";
import { matmulCases } from "../../conformance/cases/matmul_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { kernel } from "../../ops/common/wgsl/kernel.ts";
import { upload } from "../../testing.ts";
import { testGpuDevice } from "./device_testing.ts";
import { testOnWebgpu } from "./testing.ts";

testGpuDevice((name, body) => testOnWebgpu(name, {}, body));

const small = { bindingElements: 1 << 18 };

testOnWebgpu("grids with more workgroups than one dimension allows are complete", {
  groupsPerDimension: 37,
}, async (device) => {
  // Those with more workgroups; one product, because each layout is compiled anew.
  const all = [
    ...elementwiseCases().filter(({ op, name }) => op === "add" && name.startsWith("100003")),
    ...rmsnormCases().filter(({ name }) => name.startsWith("[1031×100]")),
    matmulCases((shape) => shape === "[129×9]·[9×513]")[0]!,
  ];
  for (const op of ["add", "rmsnorm", "rmsnorm_backward", "matmul"]) {
    const some = all.filter((test) => test.op === op);
    assert.ok(some.length > 0, op);
    for (const test of some) await checkCase(device, test);
  }
});

testOnWebgpu("tensors larger than one binding are processed in parts", small, async (device) => {
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
});

testOnWebgpu(
  "the error for a tensor that cannot be split names what is too long",
  small,
  (device) => {
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
  },
);
