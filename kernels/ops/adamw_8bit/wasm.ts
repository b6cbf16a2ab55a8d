/** CPU binding of AdamW with 8-bit moments. */
import type { WasmOp } from "../common/wasm_op.ts";
import { adamwFactors } from "../optimizer/spec.ts";
import { TABLES } from "./dynamic_map.ts";
import { type Adamw8bitArgs, BLOCK } from "./spec.ts";

export const adamw8bitWasm: WasmOp<Adamw8bitArgs> = (args, ctx) => {
  const tables = ctx.pointer(args.tables);
  const { keep, rest1, rest2, step, root } = adamwFactors(args);
  ctx.parallel({
    kernel: "adamw_8bit",
    units: Math.ceil(args.n / BLOCK),
    grain: 2,
    args: [
      ctx.pointer(args.param),
      ctx.pointer(args.grad),
      ctx.pointer(args.m),
      ctx.pointer(args.v),
      ctx.pointer(args.mMax),
      ctx.pointer(args.vMax),
      args.n,
      keep,
      args.beta1,
      rest1,
      args.beta2,
      rest2,
      step,
      root,
      args.eps,
      args.gradScale,
      tables + 4 * TABLES.signed,
      tables + 4 * TABLES.unsigned,
      tables + 4 * TABLES.signedBounds,
      tables + 4 * TABLES.unsignedBounds,
      tables + 4 * TABLES.signedCells,
      tables + 4 * TABLES.unsignedCells,
    ],
  });
};
