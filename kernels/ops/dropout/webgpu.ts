/**
 * GPU binding of dropout. An invocation computes the four random words of a block of four columns
 * and uses all of them. Where a row consists of whole blocks, it loads and stores vectors.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import { MUL_HIGH, PHILOX } from "../common/wgsl/philox.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { type DropoutArgs, dropoutThreshold } from "./spec.ts";

/** Number of columns that share a counter: the words of a Philox block. */
const BLOCK = 4;

const dropoutKernel = variants(
  ({ whole, accumulate }: { whole: boolean; accumulate: boolean }) => {
    const type = whole ? "vec4<f32>" : "f32";
    const storeOutput = (at: string, value: string) =>
      accumulate ? `dst[${at}] += ${value};` : `dst[${at}] = ${value};`;
    const columns = Array.from({ length: BLOCK }, (_, k) => `
  if (column + ${k}u < p.d) {
    ${storeOutput(`at + ${k}u`, `select(0.0, src[at + ${k}u] * p.scale, kept[${k}])`)}
  }`);
    return {
      name: `dropout${whole ? "" : ".ragged"}`,
      reads: `${type} src, u32 row_keys`,
      writes: `${type} dst`,
      params: "u32 d blocks n threshold place seed_low seed_high, f32 scale",
      code: `${MUL_HIGH}${PHILOX}
${
        perElement(`let row = i / p.blocks;
  let block = i - row * p.blocks;
  let c = vec4u(
    p.place | block, row_keys[3u * row], row_keys[3u * row + 1u], row_keys[3u * row + 2u],
  );
  let kept = philox(c, vec2u(p.seed_low, p.seed_high)) >= vec4u(p.threshold);
  ${
          whole
            ? storeOutput("i", "select(vec4f(0.0), src[i] * p.scale, kept)")
            : `let column = ${BLOCK}u * block;
  let at = row * p.d + column;${columns.join("")}`
        }`)
      }`,
    };
  },
);

export const dropoutWebgpu: WebgpuOp<DropoutArgs> = (args, ctx) => {
  const { x, keys, out, rows, d, p, site, seedLow, seedHigh, accumulate = false } = args;
  const blocks = Math.ceil(d / BLOCK);
  inRowParts(ctx, rows, Math.max(d, 3), (part, count) =>
    ctx.dispatch({
      kernel: dropoutKernel({ whole: d % BLOCK === 0, accumulate }),
      buffers: { src: part(x, d), row_keys: part(keys, 3), dst: part(out, d) },
      params: {
        d,
        blocks,
        n: count * blocks,
        threshold: dropoutThreshold(p),
        scale: 1 / (1 - p),
        place: site * 2 ** 18,
        seed_low: seedLow,
        seed_high: seedHigh,
      },
    }));
};
