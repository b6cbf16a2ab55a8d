/**
 * GPU bindings of AdamW and of the sums of squares. 256 invocations sum a chunk in a fixed tree.
 */
import { entryPoint, perElement } from "../common/wgsl/entry.ts";
import { kernel } from "../common/wgsl/kernel.ts";
import { eachElement } from "../common/webgpu_parts.ts";
import { GROUP, reduceSum } from "../common/wgsl/reduce.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { type AdamwArgs, adamwFactors, SUM_CHUNK, type SumSquaresArgs } from "./spec.ts";

export const ADAMW_PARAMS = "f32 keep beta1 rest1 beta2 rest2 eps step root2 grad_scale";

const adamw = kernel({
  name: "adamw",
  reads: "f32 grad",
  writes: "f32 weight first second",
  params: `u32 n, ${ADAMW_PARAMS}`,
  code: perElement(`
  let g = grad[i] * p.grad_scale;
  let m = fma(p.beta1, first[i], p.rest1 * g);
  let v = fma(p.beta2, second[i], p.rest2 * g * g);
  first[i] = m;
  second[i] = v;
  weight[i] = fma(-p.step, m / fma(sqrt(v), p.root2, p.eps), weight[i] * p.keep);`),
});

export const adamwWebgpu: WebgpuOp<AdamwArgs> = (args, ctx) => {
  const { param, grad, m, v, n } = args;
  eachElement(ctx, adamw, n, { weight: param, grad, first: m, second: v }, adamwParams(args));
};

/** The parameters of the update. */
export function adamwParams(args: Omit<AdamwArgs, "m" | "v">): Record<string, number> {
  const { beta1, beta2, eps, gradScale: grad_scale } = args;
  const { root, ...factors } = adamwFactors(args);
  return { ...factors, beta1, beta2, eps, root2: 1 / root, grad_scale };
}

const sumSquares = kernel({
  name: "sum_squares",
  reads: "f32 values",
  writes: "f32 sums",
  params: "u32 n",
  code: `${reduceSum(GROUP)}
${entryPoint(GROUP)}
  let chunk = group.x + group.y * groups.x;
  if (chunk * ${SUM_CHUNK}u >= p.n) { return; }
  let end = min(p.n, (chunk + 1u) * ${SUM_CHUNK}u);
  var sum = 0.0;
  for (var i = chunk * ${SUM_CHUNK}u + local; i < end; i += ${GROUP}u) {
    let x = values[i];
    sum = fma(x, x, sum);
  }
  sum = reduce_sum(local, sum);
  if (local == 0u) { sums[chunk] = sum; }
}`,
});

export const sumSquaresWebgpu: WebgpuOp<SumSquaresArgs> = ({ x, partial, n }, ctx) => {
  const { bindingElements } = ctx.limits;
  // A part of x consists of whole chunks. Their number is a multiple of 64, so that the view of the
  // sums is aligned.
  const partSize = Math.max(1, Math.floor(bindingElements / SUM_CHUNK / 64)) * 64 * SUM_CHUNK;
  const size = n <= bindingElements ? Math.max(n, 1) : partSize;
  for (let begin = 0; begin < n; begin += size) {
    const count = Math.min(size, n - begin), chunks = Math.ceil(count / SUM_CHUNK);
    const whole = size >= n;
    ctx.dispatch({
      kernel: sumSquares,
      buffers: {
        values: whole ? x : x.view(begin, count),
        sums: whole ? partial : partial.view(begin / SUM_CHUNK, chunks),
      },
      params: { n: count },
      groups: chunks,
    });
  }
};
