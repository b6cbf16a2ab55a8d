/** CPU bindings of LayerNorm and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { LayernormArgs, LayernormBackwardArgs } from "./spec.ts";

/** Number of elements in a chunk: about 2.5 µs. */
const CHUNK = 8192;
/** Columns in a work unit of dweight. */
const COLUMNS = 16;

export const layernormWasm: WasmOp<LayernormArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "layernorm",
    units: args.rows,
    grain: Math.ceil(CHUNK / args.d),
    args: [
      ctx.pointer(args.x),
      args.add ? ctx.pointer(args.add) : 0,
      args.sum ? ctx.pointer(args.sum) : 0,
      ctx.pointer(args.weight),
      ctx.pointer(args.bias),
      ctx.pointer(args.out),
      ctx.pointer(args.mean),
      ctx.pointer(args.rho),
      args.d,
      args.eps,
    ],
  });

export const layernormBackwardWasm: WasmOp<LayernormBackwardArgs> = (args, ctx) => {
  const { rows, d } = args;
  const dout = ctx.pointer(args.dout), x = ctx.pointer(args.x);
  const mean = ctx.pointer(args.mean), rho = ctx.pointer(args.rho);
  if (args.dweight) {
    ctx.parallel({
      kernel: "layernorm_dweight",
      units: Math.ceil(d / COLUMNS),
      grain: Math.ceil(CHUNK / (COLUMNS * Math.max(rows, 1))),
      args: [dout, x, mean, rho, ctx.pointer(args.dweight), rows, d],
    });
  }
  ctx.parallel({
    kernel: "layernorm_backward",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: [
      dout,
      x,
      ctx.pointer(args.weight),
      mean,
      rho,
      ctx.pointer(args.dx),
      args.accumulate ? 1 : 0,
      d,
    ],
  });
};
