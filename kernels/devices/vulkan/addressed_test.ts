/** SPIR-V in which kernels reach their buffers by address. device_test.ts runs such kernels. */
import assert from "node:assert/strict";
import { byAddress, pushConstants } from "./addressed.ts";
import { wgslToSpirv } from "./naga.ts";

const CHECKED = { checked: true, checkedBuffers: true };
const VARIABLE = 59, LOAD = 61, STORE = 62, ARRAY_LENGTH = 68;
const STORAGE_BUFFER = 12, PUSH_CONSTANT = 9;

function instructions(spirv: Uint8Array<ArrayBuffer>): { op: number; args: number[] }[] {
  const words = [...new Uint32Array(spirv.buffer)], found = [];
  for (let at = 5; at < words.length; at += words[at]! >>> 16) {
    const args = words.slice(at + 1, at + (words[at]! >>> 16));
    found.push({ op: words[at]! & 0xffff, args });
  }
  return found;
}

Deno.test("buffers become push constants, and accesses say their alignment", () => {
  const kernel = byAddress(wgslToSpirv(
    `
struct Params { n: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> c: array<vec2<u32>>;
fn value(i: u32) -> f32 { return a[i] + a[i + 1u]; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  for (var j = 0u; j < p.n; j++) { b[j] = vec4(value(id.x)); }
  c[id.x] = vec2(arrayLength(&a), 7u);
}`,
    CHECKED,
  ));
  const strides = kernel.buffers.map(({ binding, stride }) => [binding, stride]);
  assert.deepEqual(strides, [[1, 4], [2, 16], [5, 8]]);
  const found = instructions(kernel.spirv);
  const classes = found.filter(({ op }) => op === VARIABLE).map(({ args }) => args[2]);
  assert.ok(classes.includes(PUSH_CONSTANT) && !classes.includes(STORAGE_BUFFER));
  assert.ok(!found.some(({ op }) => op === ARRAY_LENGTH));
  const alignments = (op: number, operands: number) =>
    found.filter((other) => other.op === op && other.args.length > operands)
      .map(({ args }) => args.slice(operands));
  assert.deepEqual(alignments(LOAD, 3), [[2, 4], [2, 4]]);
  assert.deepEqual(alignments(STORE, 2), [[2, 16], [2, 8]]);

  const bytes = pushConstants(kernel.buffers, (binding) => ({
    address: 2n ** 40n + BigInt(binding),
    size: 1000 * binding,
  }));
  assert.deepEqual(
    [...new BigUint64Array(bytes.buffer, 0, 3)],
    [1n, 2n, 5n].map((i) => 2n ** 40n + i),
  );
  assert.deepEqual([...new Uint32Array(bytes.buffer, 24)], [250, 125, 625]);
});

Deno.test("a storage buffer that is no array is refused", () => {
  const text = `struct Pair { x: u32, y: u32 }
@group(0) @binding(1) var<storage, read_write> pair: Pair;
@compute @workgroup_size(1) fn main() { pair.x = pair.y; }`;
  assert.throws(() => byAddress(wgslToSpirv(text, CHECKED)), /a storage buffer .* is no array/);
});
