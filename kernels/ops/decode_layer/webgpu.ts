/**
 * GPU binding of decode_layer: records its operations one after the other. One kernel both rotates
 * the new keys and writes keys and values to the cache, because a dispatch costs as much time as
 * such a small operation takes.
 */
import type { Tensor } from "../../tensor.ts";
import { attentionDecodeWebgpu } from "../attention_decode/webgpu.ts";
import { matmulWebgpu } from "../matmul/webgpu.ts";
import { rmsnormWebgpu } from "../rmsnorm/webgpu.ts";
import { ropeWebgpu } from "../rope/webgpu.ts";
import { scatterRowsWebgpu } from "../rows/webgpu.ts";
import { swigluWebgpu } from "../swiglu/webgpu.ts";
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import type { DecodeLayerArgs } from "./spec.ts";

/**
 * Rotates a new key (as `rope` does) into its row of the cache, and copies the value. An invocation
 * does `width` pairs.
 */
const placeKernel = variants(({ width }: { width: number }) => {
  const type = width === 4 ? "vec4<f32>" : "f32";
  return {
    name: "decode_layer.place",
    reads: `${type} new_keys new_values cosines sines, u32 positions cache_rows`,
    writes: `${type} cache_keys cache_values`,
    params: "u32 n heads half",
    code: perElement(`let pair = i % p.half;
  let head = i / p.half;
  let row = head / p.heads;
  let from_at = head * 2u * p.half + pair;
  let to_at = (cache_rows[row] * p.heads + head % p.heads) * 2u * p.half + pair;
  let angle = positions[row] * p.half + pair;
  let c = cosines[angle];
  let s = sines[angle];
  let a = new_keys[from_at];
  let b = new_keys[from_at + p.half];
  cache_keys[to_at] = a * c - b * s;
  cache_keys[to_at + p.half] = b * c + a * s;
  cache_values[to_at] = new_values[from_at];
  cache_values[to_at + p.half] = new_values[from_at + p.half];`),
  };
});

function place(k: Tensor, v: Tensor, args: DecodeLayerArgs, ctx: WebgpuContext): void {
  const { cos, sin, positions, cacheRow: index, branchK, branchV } = args;
  const { count: rows, kvHeads: heads, headDim } = args, d = heads * headDim;
  if (Math.max(branchK.length, branchV.length) > ctx.limits.bindingElements) {
    ctx.runPart(ropeWebgpu, { x: k, cos, sin, positions, rows, heads, headDim });
    ctx.runPart(scatterRowsWebgpu, { src: k, index, table: branchK, rows, d });
    ctx.runPart(scatterRowsWebgpu, { src: v, index, table: branchV, rows, d });
    return;
  }
  const width = headDim % 8 === 0 ? 4 : 1, half = headDim / 2 / width, n = rows * heads * half;
  ctx.dispatch({
    kernel: placeKernel({ width }),
    buffers: {
      new_keys: k,
      new_values: v,
      cosines: cos,
      sines: sin,
      positions,
      cache_rows: index,
      cache_keys: branchK,
      cache_values: branchV,
    },
    params: { n, heads, half },
  });
}

export const decodeLayerWebgpu: WebgpuOp<DecodeLayerArgs> = (args, ctx) => {
  const { x, count: rows, d, f, heads, kvHeads, headDim, eps } = args;
  if (rows === 0) return;
  const width = heads * headDim, kv = kvHeads * headDim;
  const normed = ctx.scratch("float", rows * d, "normed"), rho = ctx.scratch("float", rows, "rho");
  const project = (a: Tensor, b: Tensor, n: number, k: number, label: string) => {
    const out = ctx.scratch("float", rows * n, label);
    ctx.runPart(matmulWebgpu, { a, b, out, m: rows, n, k, packedB: true });
    return out;
  };
  const addProjection = (a: Tensor, b: Tensor, k: number) =>
    ctx.runPart(matmulWebgpu, { a, b, out: x, m: rows, n: d, k, packedB: true, accumulate: true });
  const keep = (src: Tensor, table: Tensor | undefined, d: number) => {
    if (table === undefined) return;
    ctx.runPart(scatterRowsWebgpu, { src, index: args.keptRow!, table, rows, d });
  };

  keep(x, args.keptH, d);
  ctx.runPart(rmsnormWebgpu, { x, weight: args.inputNorm, out: normed, rho, rows, d, eps });
  const q = project(normed, args.wq, width, d, "q");
  const k = project(normed, args.wk, kv, d, "k");
  const v = project(normed, args.wv, kv, d, "v");
  keep(q, args.keptQ, width);
  keep(k, args.keptK, kv);
  keep(v, args.keptV, kv);
  const { cos, sin, positions, branches, prefixK, prefixV, branchK, branchV } = args;
  ctx.runPart(ropeWebgpu, { x: q, cos, sin, positions, rows, heads, headDim });
  place(k, v, args, ctx);
  const { maxNew, scale } = args, caches = { prefixK, prefixV, branchK, branchV };
  const shape = { count: rows, maxNew, heads, kvHeads, headDim, scale };
  const out = ctx.scratch("float", rows * width, "attention");
  ctx.runPart(attentionDecodeWebgpu, { q, out, branches, ...caches, ...shape });
  addProjection(out, args.wo, width);
  keep(x, args.keptMid, d);
  ctx.runPart(rmsnormWebgpu, { x, weight: args.postNorm, out: normed, rho, rows, d, eps });
  const gate = project(normed, args.wGate, f, d, "gate");
  const up = project(normed, args.wUp, f, d, "up");
  keep(gate, args.keptGate, f);
  keep(up, args.keptUp, f);
  ctx.runPart(swigluWebgpu, { gate, up, out: gate, n: rows * f });
  addProjection(gate, args.wDown, f);
};
