/** Activations rounded to bytes and widened again (int8_rows.ts): one invocation for each block. */
import type { Tensor } from "../../../tensor.ts";
import { perElement } from "../../common/wgsl/entry.ts";
import { kernel } from "../../common/wgsl/kernel.ts";
import { inRowParts } from "../../common/webgpu_parts.ts";
import type { WebgpuContext } from "../../common/webgpu_op.ts";
import { ACTIVATION_BLOCK, MIN_MAGNITUDE } from "../int8_rows.ts";

const roundRowsKernel = kernel({
  name: "matmul.round_rows",
  reads: "f32 rows_in",
  writes: "f32 rows_out",
  params: "u32 n",
  code: perElement(`let first = i * ${ACTIVATION_BLOCK}u;
  var largest = 0.0;
  for (var j = 0u; j < ${ACTIVATION_BLOCK}u; j++) {
    largest = max(largest, abs(rows_in[first + j]));
  }
  let inverse = select(0.0, 127.0 / largest, largest >= ${MIN_MAGNITUDE});
  let scale = largest / 127.0;
  for (var j = 0u; j < ${ACTIVATION_BLOCK}u; j++) {
    rows_out[first + j] = scale * round(rows_in[first + j] * inverse);
  }`),
});

/** A rounded copy of a [m, k] in the operation's scratch. */
export function roundedRows(a: Tensor, m: number, k: number, ctx: WebgpuContext): Tensor {
  const out = ctx.scratch("float", m * k, "rounded");
  inRowParts(ctx, m * k / ACTIVATION_BLOCK, ACTIVATION_BLOCK, (part, n) =>
    ctx.dispatch({
      kernel: roundRowsKernel,
      buffers: { rows_in: part(a, ACTIVATION_BLOCK), rows_out: part(out, ACTIVATION_BLOCK) },
      params: { n },
    }));
  return out;
}
