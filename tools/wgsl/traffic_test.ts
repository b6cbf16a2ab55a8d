/** The simulation of a subgroup: WGSL is run as it is meant; known patterns have known costs. */
import assert from "node:assert/strict";
import { runInvocation } from "./machine.ts";
import { parseWgsl } from "./syntax.ts";
import { bankCycles, sectorBytes, trafficOf } from "./traffic.ts";

const lanes = (bytes: number, offset: (lane: number) => number) =>
  Array.from({ length: 32 }, (_, lane) => ({ offset: offset(lane), bytes }));

Deno.test("banks conflict where words of a part share one", () => {
  assert.deepEqual(bankCycles(lanes(4, (i) => 4 * i)), { cycles: 1, parts: 1 });
  assert.deepEqual(bankCycles(lanes(4, () => 64)), { cycles: 1, parts: 1 }, "one word for all");
  assert.deepEqual(bankCycles(lanes(4, (i) => 8 * i)), { cycles: 2, parts: 1 });
  assert.deepEqual(bankCycles(lanes(4, (i) => 128 * i)), { cycles: 32, parts: 1 });
  // Vectors of four: eight invocations at a time.
  assert.deepEqual(bankCycles(lanes(16, (i) => 16 * i)), { cycles: 4, parts: 4 });
  assert.deepEqual(bankCycles(lanes(16, (i) => 32 * i)), { cycles: 8, parts: 4 });
});

Deno.test("a sector is moved whole, and once for all invocations", () => {
  assert.deepEqual(sectorBytes(lanes(4, (i) => 4 * i)), [128, 128]);
  assert.deepEqual(sectorBytes(lanes(4, (i) => 128 * i)), [128, 1024]);
  assert.deepEqual(sectorBytes(lanes(16, () => 0)), [16, 32]);
});

/** A kernel over a buffer `x` that writes what `body` computes for `i` to workgroup memory. */
const textOf = (body: string) => `
struct Params { n: u32, scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;
alias Pair = vec2<u32>;
const STEP = 3u;
var<workgroup> lines: array<vec4f, 64>;
/**
 * Twice v.
 */
fn twice(v: u32) -> u32 { if (v > 100u) { return v; } return v * 2u; }
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = local;
  ${body}
}`;

/** The offsets of an invocation's accesses. */
function offsetsOf(body: string, local: number, tables = {}): number[] {
  return runInvocation(parseWgsl(textOf(body)), {
    params: { n: 8, scale: 0.5 },
    workgroup: [2, 0],
    groups: [8, 1],
    local,
    tables,
  }).map(({ offset }) => offset);
}

Deno.test("statements, functions and types of WGSL are run as they are meant", () => {
  const loop = `var sum = 0.0;
  for (var k = 0u; k < p.n; k += STEP) { if (k == 3u) { continue; } sum += x[k + i]; }
  y[twice(i)].y = fma(p.scale, sum, 1.0);`;
  assert.deepEqual(offsetsOf(loop, 2), [8, 32, 4 * 16 + 4]);
  const words = `let w = bitcast<vec4<u32>>(vec4f(1.0));
  let v = Pair((w.x >> 23u) & 0xffu, ~0u) + vec2u(u32(-1.5 + 2.5), 2u);
  y[v.x - 120u] = vec4f(); y[v.y].z += 1.0;`;
  assert.deepEqual(offsetsOf(words, 0), [16 * 8, 16, 16 + 8]);
  const tables = { x: [0, 5, 7] };
  assert.deepEqual(offsetsOf("y[u32(x[i + 1u])] = vec4f(0.0);", 1, tables), [8, 16 * 7]);
  const rest = `var k = 0u;
  while (true) { k++; if (k > 2u || i == 9u) { break; } lines[select(k, 7u, k == 2u)] = vec4f(); }
  let m = transpose(mat4x4f(vec4f(1.0), vec4f(2.0), vec4f(3.0), vec4f(4.0)));
  y[u32(m[0].w) + (group.x % 2u)] = max(m[1], vec4f(0.0));`;
  assert.deepEqual(offsetsOf(rest, 0), [16, 16 * 7, 16 * 4]);
  assert.throws(() => offsetsOf("let z = sinh(1.0);", 0), /the function sinh is not known/);
  assert.throws(() => parseWgsl("let x = 1;"), /a declaration cannot begin with let/);
});

Deno.test("accesses of a subgroup at the same place are one access", () => {
  const dispatch = { groups: [8] as const, params: { n: 8, scale: 1 } };
  const found = trafficOf(
    textOf("lines[2u * i % 64u] = vec4f(x[8u * i]); y[i] = lines[i];"),
    dispatch,
  );
  // Every second vector: two words of a part share a bank. One word of each sector is read.
  assert.deepEqual(found, { conflicts: 12 / 8, reads: 1 / 8, writes: 1, shared: 2, global: 2 });
});
