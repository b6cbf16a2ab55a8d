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
    args: { ...args, addend: args.add },
  });

export const rmsnormBackwardWasm: WasmOp<RmsnormBackwardArgs> = (args, ctx) => {
  const { rows, d } = args;
  // dweight first, because dx may be dout.
  if (args.dweight) {
    ctx.parallel({
      kernel: "rmsnorm_dweight",
      units: Math.ceil(d / DWEIGHT_COLUMNS),
      grain: Math.ceil(CHUNK / (DWEIGHT_COLUMNS * Math.max(rows, 1))),
      args,
    });
  }
  ctx.parallel({ kernel: "rmsnorm_backward", units: rows, grain: Math.ceil(CHUNK / d), args });
};
