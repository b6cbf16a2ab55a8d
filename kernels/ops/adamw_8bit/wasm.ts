/** CPU binding of AdamW with 8-bit moments. */
import type { WasmOp } from "../common/wasm_op.ts";
import { adamwFactors } from "../optimizer/spec.ts";
import { TABLES } from "./dynamic_map.ts";
import { type Adamw8bitArgs, BLOCK } from "./spec.ts";

export const adamw8bitWasm: WasmOp<Adamw8bitArgs> = (args, ctx) => {
  const { keep, ...factors } = adamwFactors(args);
  const table = (name: keyof typeof TABLES) => ctx.pointer(args.tables) + 4 * TABLES[name];
  ctx.parallel({
    kernel: "adamw_8bit",
    units: Math.ceil(args.n / BLOCK),
    grain: 2,
    args: {
      ...args,
      ...factors,
      decay: keep,
      signed_: table("signed"),
      unsigned_: table("unsigned"),
      signedBounds: table("signedBounds"),
      unsignedBounds: table("unsignedBounds"),
      signedCells: table("signedCells"),
      unsignedCells: table("unsignedCells"),
    },
  });
};
