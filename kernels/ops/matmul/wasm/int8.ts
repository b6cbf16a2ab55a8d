/**
 * Plans a product of a 4-bit weight with activations in bytes on the WASM device
 * (native/c/int8.c): how the work is divided. The plan depends only on the shape, and no bit
 * depends on the plan.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import type { WeightType } from "../../../weights/types.ts";
import { typeCode } from "../../../weights/wasm.ts";
import type { GemmArgs } from "./gemm_args.ts";
import { ACTIVATION_BLOCK } from "../int8_rows.ts";
import { PANEL } from "../spec.ts";

/** Max number of rows in a unit: their bytes stay in the second-level cache. */
const MAX_UNIT_ROWS = 300;
/** A chunk of work (about 2.5 µs) in multiply-adds, in weights to read, in elements to round. */
const CHUNK_WORK = 250_000;
const CHUNK_WEIGHTS = 70_000;
const CHUNK_ELEMENTS = 8_000;

/** Runs the product. m, n and k are positive, k is a multiple of ACTIVATION_BLOCK. */
export function int8Product(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  const { m, n, k } = g, blocks = k / ACTIVATION_BLOCK;
  const mark = ctx.mark();
  const bytes = ctx.scratch(m * k), scales = ctx.scratch(8 * m * blocks);
  ctx.parallel({
    kernel: "matmul_int8_prepare",
    units: m,
    grain: Math.max(1, Math.round(CHUNK_ELEMENTS / k)),
    args: { x: g.a, k, bytes, scales },
  });
  const unitRows = Math.min(m, MAX_UNIT_ROWS), weights = PANEL * k;
  ctx.parallel({
    kernel: "matmul_int8",
    units: Math.ceil(m / unitRows) * Math.ceil(n / PANEL),
    grain: Math.max(1, Math.round(1 / (unitRows * weights / CHUNK_WORK + weights / CHUNK_WEIGHTS))),
    args: { ...g, type: typeCode(type), bytes, scales, w: g.b, unitRows },
    scratchBytes: 128 * blocks,
  });
  ctx.release(mark);
}
