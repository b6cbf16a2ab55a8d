/**
 * The text of kernels: declarations that depend on the call; the size classes of the buffer pool.
 */
import assert from "node:assert/strict";
import { kernel, kernelText, MAX_PARAMS, variants } from "./kernel.ts";
import { BufferPool, sizeClass } from "../../../devices/webgpu/pool.ts";

const example = kernel({
  name: "example",
  reads: "f32 first second",
  writes: "f32 third",
  params: "u32 n, f32 scale",
  code: "fn main() { third[v.third] = first[0] + second[0] + p.scale; }",
});

Deno.test("buffers are declared with the access that the call needs", () => {
  const text = kernelText(example, { standsFor: [0, 1, 2], writable: [false, true, true] });
  assert.match(text, /struct Params \{ n: u32, scale: f32 \}/);
  assert.match(text, /@binding\(1\) var<storage, read> first: array<f32>;/);
  assert.match(text, /@binding\(2\) var<storage, read_write> second: array<f32>;/);
  assert.match(text, /@binding\(3\) var<storage, read_write> third: array<f32>;/);
});

Deno.test("one tensor under two names is one variable", () => {
  const text = kernelText(example, { standsFor: [0, 1, 0], writable: [true, false, true] });
  assert.match(text, /read_write> first/);
  assert.match(text, /first\[v\.third\] = first\[0\] \+ second\[0\]/);
});

Deno.test("a variant is made once for each set of options", () => {
  let made = 0;
  const kernelFor = variants(({ lanes }: { lanes: number }) => {
    made++;
    return { name: `lanes ${lanes}`, writes: "", code: "" };
  });
  assert.equal(kernelFor({ lanes: 4 }), kernelFor({ lanes: 4 }));
  assert.notEqual(kernelFor({ lanes: 8 }), kernelFor({ lanes: 4 }));
  assert.equal(made, 2);
});

Deno.test("more parameters than a uniform slot holds are refused", () => {
  const names = Array.from({ length: MAX_PARAMS + 1 }, (_, i) => `p${i}`);
  const spec = { name: "many", writes: "", params: `u32 ${names.join(" ")}`, code: "" };
  assert.throws(() => kernel(spec), /many has too many parameters/);
});

Deno.test("a size class holds the size, is a multiple of 256, and wastes at most a quarter", () => {
  let last = 0;
  for (let bytes = 1; bytes < 5e9; bytes = Math.ceil(bytes * 1.01)) {
    const size = sizeClass(bytes);
    assert.ok(size >= bytes && size % 256 === 0 && size >= last, `${bytes}: ${size}`);
    assert.ok(size - bytes < Math.max(256, bytes / 4), `${bytes}: ${size}`);
    last = size;
  }
});

Deno.test("the pool uses idle buffers again and destroys those beyond its limit", () => {
  const destroyed: number[] = [];
  const make = (bytes: number) =>
    ({ destroy: () => destroyed.push(bytes) }) as unknown as GPUBuffer;
  const pool = new BufferPool(make, 1000);
  const a = pool.take(1000, "a");
  assert.deepEqual([a.isNew, pool.heldBytes], [true, 1024]);
  pool.give(a.buffer);
  assert.ok(pool.overfull);
  const again = pool.take(900, "b");
  assert.equal(again.isNew, false);
  assert.equal(again.buffer, a.buffer);
  pool.give(again.buffer);
  pool.give(pool.take(10, "small").buffer);
  pool.trim(256);
  assert.deepEqual(destroyed, [1024]);
  assert.equal(pool.heldBytes, 256);
});

Deno.test("no buffer of the pool exceeds the largest allowed, whatever its size class", () => {
  const pool = new BufferPool(() => ({}) as GPUBuffer, 0, 4080);
  assert.ok(sizeClass(4000) > 4080);
  assert.equal(pool.take(4000, "a").buffer.bytes, 4080);
  assert.equal(pool.take(100, "b").buffer.bytes, sizeClass(100));
});
