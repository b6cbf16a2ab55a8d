/** CPU binding of dropout. */
import type { WasmOp } from "../common/wasm_op.ts";
import { type DropoutArgs, dropoutThreshold } from "./spec.ts";

/** Number of elements in a chunk: about 10 µs. */
const CHUNK = 8192;

export const dropoutWasm: WasmOp<DropoutArgs> = (args, ctx) => {
  const { rows, d, p } = args;
  if (d === 0) return;
  ctx.parallel({
    kernel: "dropout",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: { ...args, threshold: dropoutThreshold(p), scale: 1 / (1 - p) },
  });
};
