/** CPU bindings of RMSNorm and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./spec.ts";

/** Number of elements in a chunk: about 2.5 µs. */
const CHUNK = 8192;
/** Columns in a work unit of dweight. */
const DWEIGHT_COLUMNS = 16;

export const rmsnormWasm: WasmOp<RmsnormArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "rmsnorm",
    units: args.rows,
    grain: Math.ceil(CHUNK / args.d),
    args: [
      ctx.pointer(args.x),
      args.add ? ctx.pointer(args.add) : 0,
      args.sum ? ctx.pointer(args.sum) : 0,
      ctx.pointer(args.weight),
      ctx.pointer(args.out),
      ctx.pointer(args.rho),
      args.d,
      args.eps,
      args.offset ?? 0,
    ],
  });

export const rmsnormBackwardWasm: WasmOp<RmsnormBackwardArgs> = (args, ctx) => {
  const { rows, d } = args;
  const dout = ctx.pointer(args.dout), x = ctx.pointer(args.x), rho = ctx.pointer(args.rho);
  // dweight first, because dx may be dout.
  if (args.dweight) {
    ctx.parallel({
      kernel: "rmsnorm_dweight",
      units: Math.ceil(d / DWEIGHT_COLUMNS),
      grain: Math.ceil(CHUNK / (DWEIGHT_COLUMNS * Math.max(rows, 1))),
      args: [dout, x, rho, ctx.pointer(args.dweight), rows, d],
    });
  }
  ctx.parallel({
    kernel: "rmsnorm_backward",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: [
      dout,
      x,
      ctx.pointer(args.weight),
      rho,
      ctx.pointer(args.dx),
      args.accumulate ? 1 : 0,
      d,
      args.offset ?? 0,
    ],
  });
};
