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
    args: { ...args, addend: args.add },
  });

export const layernormBackwardWasm: WasmOp<LayernormBackwardArgs> = (args, ctx) => {
  const { rows, d } = args;
  if (args.dweight) {
    ctx.parallel({
      kernel: "layernorm_dweight",
      units: Math.ceil(d / COLUMNS),
      grain: Math.ceil(CHUNK / (COLUMNS * Math.max(rows, 1))),
      args,
    });
  }
  ctx.parallel({ kernel: "layernorm_backward", units: rows, grain: Math.ceil(CHUNK / d), args });
};
