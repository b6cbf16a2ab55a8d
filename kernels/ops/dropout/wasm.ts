/** CPU binding of dropout. */
import type { WasmOp } from "../common/wasm_op.ts";
import { type DropoutArgs, dropoutThreshold } from "./spec.ts";

/** Number of elements in a chunk: about 10 µs. */
const CHUNK = 8192;

export const dropoutWasm: WasmOp<DropoutArgs> = (args, ctx) => {
  const { rows, d, p, accumulate = false } = args;
  if (d === 0) return;
  ctx.parallel({
    kernel: "dropout",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: [
      ctx.pointer(args.x),
      ctx.pointer(args.keys),
      ctx.pointer(args.out),
      d,
      dropoutThreshold(p),
      1 / (1 - p),
      args.site,
      args.seedLow,
      args.seedHigh,
      accumulate ? 1 : 0,
    ],
  });
};
