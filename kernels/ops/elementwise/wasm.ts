/** CPU bindings of add, copy and fill. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddArgs, CopyArgs, FillArgs } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/elementwise.c). */
const BLOCK = 1024;
/** Units in a chunk: about 2.5 µs. */
const GRAIN = 16;

export const addWasm: WasmOp<AddArgs> = ({ a, b, out, n, scale = 1 }, ctx) =>
  ctx.parallel({
    kernel: a ? "add" : "scale",
    units: Math.ceil(n / BLOCK),
    grain: GRAIN,
    args: [...(a ? [ctx.pointer(a)] : []), ctx.pointer(b), ctx.pointer(out), n, scale],
  });

export const copyWasm: WasmOp<CopyArgs> = ({ src, out, n }, ctx) =>
  ctx.parallel({
    kernel: "copy",
    units: Math.ceil(n / BLOCK),
    grain: 2 * GRAIN,
    args: [ctx.pointer(src), ctx.pointer(out), n],
  });

export const fillWasm: WasmOp<FillArgs> = ({ out, n, value }, ctx) =>
  ctx.parallel({
    kernel: "fill",
    units: Math.ceil(n / BLOCK),
    grain: 2 * GRAIN,
    args: [ctx.pointer(out), n, value],
  });
