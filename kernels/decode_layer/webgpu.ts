/** A decoding layer on the GPU: its operations one after the other, recorded without waiting for any of them. */
import type { Tensor } from "../device.ts";
import type { WebgpuOp } from "../webgpu/webgpu_op.ts";
import type { DecodeLayerArgs } from "./spec.ts";

export const decodeLayerWebgpu: WebgpuOp<DecodeLayerArgs> = (args, ctx) => {
  const { x, count: rows, d, f, heads, kvHeads, headDim, eps } = args;
  if (rows === 0) return;
  const width = heads * headDim, kv = kvHeads * headDim;
  const normed = ctx.scratch("float", rows * d, "normed"), rho = ctx.scratch("float", rows, "rho");
  const project = (a: Tensor, b: Tensor, n: number, k: number, label: string) => {
    const out = ctx.scratch("float", rows * n, label);
    ctx.run("matmul", { a, b, out, m: rows, n, k, packedB: true });
    return out;
  };
  const addProjection = (a: Tensor, b: Tensor, k: number) =>
    ctx.run("matmul", { a, b, out: x, m: rows, n: d, k, packedB: true, accumulate: true });

  ctx.run("rmsnorm", { x, weight: args.inputNorm, out: normed, rho, rows, d, eps });
  const q = project(normed, args.wq, width, d, "q");
  const k = project(normed, args.wk, kv, d, "k");
  const v = project(normed, args.wv, kv, d, "v");
  const { cos, sin, positions, cacheRow: index, branches, prefixK, prefixV, branchK, branchV } =
    args;
  ctx.run("rope", { x: q, cos, sin, positions, rows, heads, headDim });
  ctx.run("rope", { x: k, cos, sin, positions, rows, heads: kvHeads, headDim });
  ctx.run("scatter_rows", { src: k, index, table: branchK, rows, d: kv });
  ctx.run("scatter_rows", { src: v, index, table: branchV, rows, d: kv });
  const { maxNew, scale } = args, caches = { prefixK, prefixV, branchK, branchV };
  const shape = { count: rows, maxNew, heads, kvHeads, headDim, scale };
  const out = ctx.scratch("float", rows * width, "attention");
  ctx.run("attention_decode", { q, out, branches, ...caches, ...shape });
  addProjection(out, args.wo, width);
  ctx.run("rmsnorm", { x, weight: args.postNorm, out: normed, rho, rows, d, eps });
  const gate = project(normed, args.wGate, f, d, "gate");
  const up = project(normed, args.wUp, f, d, "up");
  ctx.run("swiglu", { gate, up, out: gate, n: rows * f });
  addProjection(gate, args.wDown, f);
};
