/** GPU bindings of bfloat16 weights in training. An invocation does the elements of one word. */
import { perElement } from "../common/wgsl/entry.ts";
import { kernel, variants } from "../common/wgsl/kernel.ts";
import { MUL_HIGH, PHILOX } from "../common/wgsl/philox.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { RoundBf16Args, WidenBf16Args } from "./spec.ts";

/** The two values of a word as a vec2f. */
const VALUES = `
fn bf16_values(word: u32) -> vec2f {
  return bitcast<vec2f>(vec2u(word << 16u, word & 0xffff0000u));
}
`;

const widenKernel = variants(({ hasRest }: { hasRest: boolean }) => ({
  name: `widen_bf16${hasRest ? ".rest" : ""}`,
  reads: `u32 weight${hasRest ? " rest" : ""}`,
  writes: "f32 wide",
  params: "u32 n",
  code: VALUES +
    perElement(`let value = bf16_values(weight[i])${hasRest ? " + bf16_values(rest[i])" : ""};
  wide[2u * i] = value.x;
  wide[2u * i + 1u] = value.y;`),
}));

const stochasticKernel = kernel({
  name: "round_bf16.stochastic",
  reads: "u32 src",
  writes: "u32 weight",
  params: "u32 n first_block c1 c2 c3 seed_low seed_high",
  code: `${MUL_HIGH}${PHILOX}
${
    perElement(`let counter = vec4u(p.first_block + i / 2u, p.c1, p.c2, p.c3);
  let words = philox(counter, vec2u(p.seed_low, p.seed_high)) & vec4u(0xffffu);
  let random = select(words.xy, words.zw, (i & 1u) == 1u);
  let bits = vec2u(src[2u * i], src[2u * i + 1u]) + random;
  weight[i] = (bits.x >> 16u) | (bits.y & 0xffff0000u);`)
  }`,
});

const kahanKernel = kernel({
  name: "round_bf16.kahan",
  reads: "f32 src",
  writes: "u32 weight rest",
  params: "u32 n",
  code: `
fn nearest_bf16(x: vec2f) -> vec2u {
  let bits = bitcast<vec2u>(x);
  return (bits + vec2u(0x7fffu) + ((bits >> vec2u(16u)) & vec2u(1u))) & vec2u(0xffff0000u);
}
${
    perElement(`let x = vec2f(src[2u * i], src[2u * i + 1u]);
  let rounded = nearest_bf16(x);
  let left = nearest_bf16(x - bitcast<vec2f>(rounded));
  weight[i] = (rounded.x >> 16u) | rounded.y;
  rest[i] = (left.x >> 16u) | left.y;`)
  }`,
});

export const widenBf16Webgpu: WebgpuOp<WidenBf16Args> = ({ weight, rest, out, n }, ctx) =>
  inRowParts(ctx, n / 2, 2, (part, words) =>
    ctx.dispatch({
      kernel: widenKernel({ hasRest: rest !== undefined }),
      buffers: {
        weight: part(weight, 1),
        ...(rest === undefined ? {} : { rest: part(rest, 1) }),
        wide: part(out, 2),
      },
      params: { n: words },
    }));

export const roundBf16Webgpu: WebgpuOp<RoundBf16Args> = (args, ctx) => {
  const { x, weight, n, rest, first, c1, c2, c3, seedLow, seedHigh } = args;
  inRowParts(ctx, n / 2, 2, (part, words, begin) => {
    const buffers = { src: part(x, 2), weight: part(weight, 1) };
    if (rest !== undefined) {
      const kept = { ...buffers, rest: part(rest, 1) };
      ctx.dispatch({ kernel: kahanKernel, buffers: kept, params: { n: words } });
      return;
    }
    const key = { c1, c2, c3, seed_low: seedLow, seed_high: seedHigh };
    const params = { n: words, first_block: first / 4 + begin / 2, ...key };
    ctx.dispatch({ kernel: stochasticKernel, buffers, params });
  });
};
