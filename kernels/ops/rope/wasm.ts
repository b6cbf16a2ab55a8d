/** CPU binding of rotary position embedding. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { RopeArgs } from "./spec.ts";

/** Number of elements in a chunk: about 2.5 µs. */
const CHUNK = 8192;

export const ropeWasm: WasmOp<RopeArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "rope",
    units: args.rows,
    grain: Math.ceil(CHUNK / (args.heads * args.headDim)),
    args: {
      ...args,
      rotaryDim: args.rotaryDim ?? args.headDim,
      sign: args.inverse ? -1 : 1,
    },
  });
