/** Bounds of the kernels of a card, held without one. */
import assert from "node:assert/strict";
import { type CardKernel, cardKernels } from "./gpu/card_kernels.ts";
import { type Registers, registersOf } from "./gpu/registers.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { workgroupBytes } from "./gpu/workgroup_bytes.ts";
import { webgpuOps } from "../kernels/devices/webgpu/op_table.ts";
import { isOnUnits, kernelTextOf, tracedTraffic } from "./gpu_static.ts";

const KERNELS = cardKernels();

Deno.test("kernels leave room for a second workgroup on a multiprocessor", () => {
  assert.ok(KERNELS.length > 125);
  for (const { name, text } of KERNELS) {
    // 64 KiB or more on the cards of the last ten years; 32 KiB is what a kernel may ask for.
    assert.ok(workgroupBytes(text) <= 32_768, `${name}: ${workgroupBytes(text)} bytes`);
  }
  assert.equal(workgroupBytes("var<workgroup> a: array<vec4f, 3>; var<workgroup> b: u32;"), 52);
  assert.throws(() => workgroupBytes("var<workgroup> a: array<mat2x2f, 3>;"), /mat2x2f/);
});

Deno.test("every operation of a card has a kernel in the table", () => {
  const found = new Set(KERNELS.map(({ dispatch: { kernel } }) => kernel.name.split(".")[0]!));
  // It runs other operations.
  found.add("decode_layer");
  assert.deepEqual(Object.keys(webgpuOps).filter((op) => !found.has(op)), []);
  const inSubgroups = KERNELS.filter(({ name }) => name.includes("subgroups"));
  assert.ok(inSubgroups.length >= 13, "candidates of the tuner");
  assert.equal(KERNELS.filter(({ text }) => isOnUnits(text)).length, 7, "products, attention");
});

const kernelOf = (name: string) => KERNELS.find((kernel) => kernel.name === name)!;

/** Kernels, their maximum of bank cycles, and the minimum share of the sectors that reads use. */
const TRAFFIC: readonly [name: string, conflicts: number, reads: number][] = [
  ["x·Wᵀ, tile medium", 1, 1],
  ["dy·W, tile medium", 1, 1],
  ["dyᵀ·x, tile medium", 1, 1],
  ["x·Wᵀ, tile small", 1, 1],
  ["x·Wᵀ, tile skinny", 1.25, 1],
  ["x·Wᵀ in bfloat16, tile medium, two bytes", 1.07, 1],
  ["one row", 1, 0.9],
  ["one row, subgroups", 1, 0.9],
  ["one row, q8_0", 1, 0.7],
  ["one row, nf4", 1, 0.7],
  ["attention's gradient, heads of 64: attention_backward.delta", 1, 0.9],
  ["RMSNorm", 1, 1],
  ["RMSNorm, subgroups", 1, 1],
  ["decoding, heads of 64: attention_decode.branch", 1, 0.98],
  ["decoding, heads of 64, subgroups: attention_decode.branch.subgroups", 1, 0.98],
  ["head, logits", 1, 0.98],
  ["head, logits, subgroups", 1, 0.98],
  ["head's gradient", 1, 0.98],
  ["sampling: sample.weigh", 1, 1],
  ["sampling, subgroups: sample.weigh.subgroups", 1, 1],
  ["sampling: sample.draw", 1.06, 0.14],
  ["sampling, subgroups: sample.draw.subgroups", 1, 0.14],
];

Deno.test("a subgroup's accesses have few conflicts, and use what they read", () => {
  for (const [name, conflicts, reads] of TRAFFIC) {
    const found = tracedTraffic(kernelOf(name))!;
    assert.ok(found.shared + found.global >= 14, `${name}: ${found.shared}, ${found.global}`);
    assert.ok(found.conflicts <= conflicts + 1e-9, `${name}: ${found.conflicts} bank cycles`);
    assert.ok(found.reads! >= reads - 1e-9, `${name}: ${found.reads} of the sectors read`);
  }
});

/** Kernels and their maximum of vector registers on an AMD card, without a spill. */
const BOUNDS: readonly [name: string, registers: number][] = [
  ["x·Wᵀ, tile large", 128],
  ["x·Wᵀ, tile medium", 64],
  ["x·Wᵀ, tile skinny", 64],
  ["x·Wᵀ in float16, tile large, two bytes", 128],
  ["x·Wᵀ, nf4", 136],
  ["one row, subgroups", 48],
  ["one row, q8_0", 96],
  ["attention, heads of 64", 128],
  ["attention's gradient, heads of 128: attention_backward.queries", 176],
  ["decoding, heads of 64: attention_decode.prefix", 128],
  ["attention, heads of 64, subgroups", 128],
  ["head, logits, subgroups", 40],
  ["sampling, subgroups: sample.draw.subgroups", 40],
  ["sampling by top-k and top-p, subgroups: sample.limits.top_k.top_p.subgroups", 40],
];

Deno.test("kernels fit into the registers of an AMD card, as Mesa's compiler says", async () => {
  const kernels = BOUNDS.map(([name]) => kernelOf(name));
  const found = await registersOf(kernels.map((kernel: CardKernel) => kernelTextOf(kernel)));
  // Without Mesa's driver for AMD cards the table has no registers, and nothing can be held.
  if (typeof found === "string") return assert.match(found, /is not installed/);
  BOUNDS.forEach(([, bound], i) => hold(kernels[i]!, found[i]!, bound));
});

function hold({ name, text }: CardKernel, { vgprs, spilled, lds }: Registers, bound: number): void {
  assert.equal(spilled, 0, `${name}: ${spilled} values do not fit into registers`);
  assert.ok(vgprs > 0 && vgprs <= bound, `${name}: ${vgprs} registers, at most ${bound}`);
  // A newer compiler leaves out what no invocation reads.
  assert.ok(lds >= 0.85 * workgroupBytes(text), `${name}: ${lds} bytes`);
}

/** The same on RDNA 3, with a minimum of waves: of 16 that a SIMD can hold of 64 invocations. */
const UNITS_BOUNDS: readonly [name: string, registers: number, waves: number][] = [
  ["x·Wᵀ in bfloat16 on matrix units: matmul.matrix16", 64, 16],
  ["attention on matrix units, heads of 64: attention.matrix16", 256, 6],
  [
    "attention's gradient on matrix units, heads of 128: attention_backward.keys.matrix16",
    256,
    6,
  ],
];
const newerMesa = Deno.env.get("RGX_TEST_RADV");

Deno.test("no kernel spills on RDNA 3, those on its matrix units neither", {
  ignore: needs(newerMesa !== undefined, NEEDED.radv),
}, async () => {
  const found = await registersOf(KERNELS.map(kernelTextOf), newerMesa!);
  assert.ok(typeof found !== "string" && found.length === KERNELS.length, String(found));
  KERNELS.forEach((kernel, i) => hold(kernel, found[i]!, 256));
  for (const [name, registers, waves] of UNITS_BOUNDS) {
    const i = KERNELS.indexOf(kernelOf(name));
    hold(KERNELS[i]!, found[i]!, registers);
    assert.ok(found[i]!.waves >= waves, `${name}: ${found[i]!.waves} waves`);
  }
});
