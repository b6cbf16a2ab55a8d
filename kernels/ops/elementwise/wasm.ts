/** CPU bindings of add, copy and fill. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddArgs, CopyArgs, FillArgs } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/elementwise.c). */
const BLOCK = 1024;
/** Units in a chunk: about 2.5 µs. */
const GRAIN = 16;

export const addWasm: WasmOp<AddArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: args.a ? "add" : "scale",
    units: Math.ceil(args.n / BLOCK),
    grain: GRAIN,
    args: { ...args, scale: args.scale ?? 1 },
  });

export const copyWasm: WasmOp<CopyArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "copy",
    units: Math.ceil(args.n / BLOCK),
    grain: 2 * GRAIN,
    args: { ...args, source: args.src },
  });

export const fillWasm: WasmOp<FillArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "fill",
    units: Math.ceil(args.n / BLOCK),
    grain: 2 * GRAIN,
    args,
  });
