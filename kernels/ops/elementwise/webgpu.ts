/**
 * GPU bindings of the elementwise operations: one invocation for each element. Tensors beyond one
 * binding are done in parts.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { kernel, variants } from "../common/wgsl/kernel.ts";
import { EXP, SOFT_CAP } from "../common/wgsl/math.ts";
import { eachElement } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type {
  AddArgs,
  CopyArgs,
  FillArgs,
  MultiplyArgs,
  SoftCapArgs,
  SoftCapBackwardArgs,
} from "./spec.ts";

const add = variants(({ sums }: { sums: boolean }) => ({
  name: sums ? "add" : "scale",
  reads: `f32 b${sums ? " a" : ""}`,
  writes: "f32 sum",
  params: "u32 n, f32 scale",
  code: perElement(`sum[i] = ${sums ? "a[i] + " : ""}p.scale * b[i];`),
}));

export const addWebgpu: WebgpuOp<AddArgs> = ({ a, b, out, n, scale = 1 }, ctx) =>
  eachElement(ctx, add({ sums: a !== undefined }), n, { a, b, sum: out }, { scale });

/** Copies bits, whatever the dtype. */
const copy = kernel({
  name: "copy",
  reads: "u32 src",
  writes: "u32 dst",
  params: "u32 n",
  code: perElement("dst[i] = src[i];"),
});

export const copyWebgpu: WebgpuOp<CopyArgs> = ({ src, out, n }, ctx) =>
  eachElement(ctx, copy, n, { src, dst: out });

const fill = kernel({
  name: "fill",
  writes: "f32 dst",
  params: "u32 n, f32 value",
  code: perElement("dst[i] = p.value;"),
});

export const fillWebgpu: WebgpuOp<FillArgs> = ({ out, n, value }, ctx) =>
  eachElement(ctx, fill, n, { dst: out }, { value });

const multiply = kernel({
  name: "multiply",
  reads: "f32 a b",
  writes: "f32 product",
  params: "u32 n",
  code: perElement("product[i] = a[i] * b[i];"),
});

export const multiplyWebgpu: WebgpuOp<MultiplyArgs> = ({ a, b, out, n }, ctx) =>
  eachElement(ctx, multiply, n, { a, b, product: out });

const softCap = kernel({
  name: "soft_cap",
  reads: "f32 x",
  writes: "f32 capped",
  params: "u32 n, f32 cap",
  code: EXP + SOFT_CAP + perElement("capped[i] = soft_cap(x[i]);"),
});

export const softCapWebgpu: WebgpuOp<SoftCapArgs> = ({ x, out, n, cap }, ctx) =>
  eachElement(ctx, softCap, n, { x, capped: out }, { cap });

const softCapBackward = kernel({
  name: "soft_cap_backward",
  reads: "f32 dout y",
  writes: "f32 dx",
  params: "u32 n, f32 cap",
  code: EXP + SOFT_CAP + perElement("dx[i] = dout[i] * cap_slope(y[i]);"),
});

export const softCapBackwardWebgpu: WebgpuOp<SoftCapBackwardArgs> = (
  { dout, y, dx, n, cap },
  ctx,
) => eachElement(ctx, softCapBackward, n, { dout, y, dx }, { cap });
