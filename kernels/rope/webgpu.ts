/**
 * The rotary embedding on the GPU: one invocation a pair (four pairs where the head allows vec4), which reads both
 * of its elements before it writes them. Rows beyond one binding go in parts; the tables do not.
 */
import { variants } from "../webgpu/kernel.ts";
import type { WebgpuOp } from "../webgpu/webgpu_op.ts";
import { VIEW_ALIGNMENT } from "../device.ts";
import { perElement } from "../elementwise/webgpu.ts";
import { GROUP } from "../webgpu/reduce.ts";
import type { RopeArgs } from "./spec.ts";

interface RopeOptions {
  /** Pairs of an invocation: 1 or 4. */
  width: number;
}

/** `p.half` and `p.heads` count elements of `width`; `i` runs over rows, heads and pairs. */
const rope = variants(({ width }: RopeOptions) => {
  const type = width === 4 ? "vec4<f32>" : "f32";
  return {
    name: `rope.${width}`,
    buffers: {
      x: `write ${type}`,
      cosines: `read ${type}`,
      sines: `read ${type}`,
      positions: "read u32",
    },
    params: { n: "u32", heads: "u32", half: "u32", sign: "f32" },
    code: perElement(`let head = i / p.half;
  let pair = i % p.half;
  let at = head * 2u * p.half + pair;
  let angle = positions[head / p.heads] * p.half + pair;
  let c = cosines[angle];
  let s = p.sign * sines[angle];
  let a = x[at];
  let b = x[at + p.half];
  x[at] = a * c - b * s;
  x[at + p.half] = b * c + a * s;`),
  };
});

export const ropeWebgpu: WebgpuOp<RopeArgs> = (args, ctx) => {
  const { rows, heads, headDim, inverse = false } = args;
  const width = headDim % 8 === 0 ? 4 : 1, half = headDim / 2 / width, row = heads * headDim;
  const most = Math.floor(ctx.limits.bindingElements / row / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
  const fits = args.x.length <= ctx.limits.bindingElements || most === 0;
  const step = fits ? Math.max(1, rows) : most;
  for (let begin = 0; begin < rows; begin += step) {
    const count = Math.min(step, rows - begin), n = count * heads * half;
    ctx.dispatch({
      kernel: rope({ width }),
      buffers: {
        x: fits ? args.x : args.x.view(begin * row, count * row),
        cosines: args.cos,
        sines: args.sin,
        positions: fits ? args.positions : args.positions.view(begin, count),
      },
      params: { n, heads, half, sign: inverse ? -1 : 1 },
      groups: ctx.grid(Math.ceil(n / GROUP)),
      flops: 6 * n * width,
    });
  }
};
