/** CPU binding of rotary position embedding. */
import { byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { RopeArgs } from "./spec.ts";

export const ropeWasm: WasmOp<RopeArgs> = (args, ctx) => {
  const { rows, heads, headDim, rotaryDim = headDim, inverse } = args;
  const sign = inverse ? -1 : 1;
  byRows(ctx, "rope", { rows, d: heads * headDim }, { ...args, rotaryDim, sign });
};
