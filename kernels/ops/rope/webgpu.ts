/**
 * GPU binding of the rotary position embedding. An invocation rotates one pair, or four where the
 * size of the head allows vec4. Rows beyond one binding are done in parts; the tables must fit one.
 */
import { variants } from "../common/wgsl/kernel.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { perElement } from "../common/wgsl/entry.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import type { RopeArgs } from "./spec.ts";

interface RopeOptions {
  /** Number of pairs that an invocation rotates: 1 or 4. */
  width: number;
}

/** Sizes count vectors of `width` elements; `i` runs over rows, heads and vectors. */
const rope = variants(({ width }: RopeOptions) => {
  const type = width === 4 ? "vec4<f32>" : "f32";
  return {
    name: `rope.${width}`,
    reads: `${type} cosines sines, u32 positions`,
    writes: `${type} x`,
    params: "u32 n heads stride half, f32 sign",
    code: perElement(`let head = i / p.half;
  let pair = i % p.half;
  let at = head * p.stride + pair;
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
  const { heads, headDim, rotaryDim = headDim, inverse = false } = args;
  const width = headDim % 4 === 0 && rotaryDim % 8 === 0 ? 4 : 1, half = rotaryDim / 2 / width;
  inRowParts(ctx, args.rows, heads * headDim, (part, rows) => {
    const n = rows * heads * half;
    ctx.dispatch({
      kernel: rope({ width }),
      buffers: {
        x: part(args.x, heads * headDim),
        cosines: args.cos,
        sines: args.sin,
        positions: part(args.positions, 1),
      },
      params: { n, heads, stride: headDim / width, half, sign: inverse ? -1 : 1 },
    });
  });
};
