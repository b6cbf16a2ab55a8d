/**
 * GPU binding of AdamW with 8-bit moments. 64 invocations do a block of 256 elements, each four
 * neighbours, whose codes are one word. A workgroup does four blocks side by side, several times,
 * so that loading the maps into its memory counts little.
 */
import { entryPoint } from "../common/wgsl/entry.ts";
import { kernel } from "../common/wgsl/kernel.ts";
import { GROUP, reduceMax } from "../common/wgsl/reduce.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { ADAMW_PARAMS, adamwParams } from "../optimizer/webgpu.ts";
import { TABLES } from "./dynamic_map.ts";
import { type Adamw8bitArgs, BLOCK } from "./spec.ts";

/** Invocations for a block, and elements of each. */
const LANES = 64;
const EACH = BLOCK / LANES;
/** Blocks that a workgroup does side by side, and how many times. */
const SIDE = GROUP / LANES;
const ROUNDS = 4;

/** The four elements, unrolled: `line` has the code of element k. */
const unrolled = (line: (k: number) => string) =>
  Array.from({ length: EACH }, (_, k) => line(k))
    .join("\n");

/** Code that counts the bounds (from word `first` of the maps on) that are less than x. */
const search = (name: string, first: number, steps: readonly number[], last: number) => `
fn ${name}(x: f32) -> u32 {
  var k = 0u;
${
  steps.map((s) =>
    `  if (k + ${s}u <= ${last}u && maps[${first}u + k + ${s - 1}u] < x) { k += ${s}u; }`
  ).join("\n")
}
  return k;
}`;

const adamw8bitKernel = kernel({
  name: "adamw_8bit",
  reads: "f32 grad, u32 tables",
  writes: "f32 weight first_max second_max, u32 first second",
  params: `u32 n, ${ADAMW_PARAMS}`,
  code: `
var<workgroup> maps: array<f32, ${TABLES.signedCells}>;
${reduceMax(LANES)}
${search("signed_magnitude", TABLES.signedBounds, [128, 64, 32, 16, 8, 4, 2, 1], 128)}
${search("unsigned_magnitude", TABLES.unsignedBounds, [128, 64, 32, 16, 8, 4, 2, 1], 255)}
${entryPoint(GROUP)}
  for (var i = local; i < ${TABLES.signedCells}u; i += ${GROUP}u) {
    maps[i] = bitcast<f32>(tables[i]);
  }
  workgroupBarrier();
  let lane = local & ${LANES - 1}u;
  let start = (group.x + group.y * groups.x) * ${SIDE * ROUNDS}u + local / ${LANES}u;
  for (var round = 0u; round < ${ROUNDS}u; round++) {
    let block = start + round * ${SIDE}u;
    let at = block * ${BLOCK}u + lane * ${EACH}u;
    var m = vec4f(0.0);
    var v = vec4f(0.0);
    if (at < p.n) {
      let codes1 = first[at / ${EACH}u];
      let codes2 = second[at / ${EACH}u];
      let max1 = first_max[block];
      let max2 = second_max[block];
${
    unrolled((k) =>
      `      if (at + ${k}u < p.n) {
        let g = grad[at + ${k}u] * p.grad_scale;
        let old1 = maps[(codes1 >> ${8 * k}u) & 255u] * max1;
        let old2 = maps[${TABLES.unsigned}u + ((codes2 >> ${8 * k}u) & 255u)] * max2;
        m[${k}] = fma(p.beta1, old1, p.rest1 * g);
        v[${k}] = fma(p.beta2, old2, p.rest2 * g * g);
        let divisor = fma(sqrt(v[${k}]), p.root2, p.eps);
        weight[at + ${k}u] = fma(-p.step, m[${k}] / divisor, weight[at + ${k}u] * p.keep);
      }`
    )
  }
    }
    let size = abs(m);
    let large1 = reduce_max(local, max(max(size.x, size.y), max(size.z, size.w)));
    let large2 = reduce_max(local, max(max(v.x, v.y), max(v.z, v.w)));
    if (at < p.n) {
      if (lane == 0u) {
        first_max[block] = large1;
        second_max[block] = large2;
      }
      let part1 = select(1.0, large1, large1 > 0.0);
      let part2 = select(1.0, large2, large2 > 0.0);
      var codes1 = 0u;
      var codes2 = 0u;
${
    unrolled((k) =>
      `      {
        let k1 = signed_magnitude(min(1.0, size[${k}] / part1));
        let code = select(127u + k1, 127u - min(k1, 127u), m[${k}] < 0.0);
        codes1 |= code << ${8 * k}u;
        codes2 |= unsigned_magnitude(min(1.0, v[${k}] / part2)) << ${8 * k}u;
      }`
    )
  }
      first[at / ${EACH}u] = codes1;
      second[at / ${EACH}u] = codes2;
    }
  }
}`,
});

export const adamw8bitWebgpu: WebgpuOp<Adamw8bitArgs> = (args, ctx) => {
  const { param, grad, m, v, mMax, vMax, tables, n } = args;
  // A part has whole blocks, as many that the views of their maxima are aligned.
  const unit = 64 * BLOCK;
  const size = Math.max(1, Math.floor(ctx.limits.bindingElements / unit)) * unit;
  for (let begin = 0; begin < n; begin += size) {
    const count = Math.min(size, n - begin), blocks = Math.ceil(count / BLOCK);
    const codes = (tensor: typeof m) => tensor.view(begin / EACH, Math.ceil(count / EACH));
    const maxima = (tensor: typeof m) => tensor.view(begin / BLOCK, blocks);
    ctx.dispatch({
      kernel: adamw8bitKernel,
      buffers: {
        weight: param.view(begin, count),
        grad: grad.view(begin, count),
        first: codes(m),
        second: codes(v),
        first_max: maxima(mMax),
        second_max: maxima(vMax),
        tables,
      },
      params: { n: count, ...adamwParams(args) },
      groups: Math.ceil(blocks / (SIDE * ROUNDS)),
    });
  }
};
