/**
 * The implementation of each operation on the WASM device. What only divides the work of a kernel
 * stands here; all else is in wasm.ts of the operation's folder in ops/.
 */
import { headBackwardWasm, headWasm } from "../../ops/head/wasm.ts";
import * as attention from "../../ops/attention/wasm.ts";
import { attentionDecodeWasm } from "../../ops/attention_decode/wasm.ts";
import { decodeLayerWasm } from "../../ops/decode_layer/wasm.ts";
import * as experts from "../../ops/experts/wasm.ts";
import { deltaRuleBackwardWasm, deltaRuleWasm } from "../../ops/delta_rule/wasm.ts";
import { shortConvBackwardWasm, shortConvWasm } from "../../ops/short_conv/wasm.ts";
import { matmulWasm, packWeightWasm } from "../../ops/matmul/wasm.ts";
import { byColumns, byElements, byRows, CHUNK } from "../../ops/common/wasm_jobs.ts";
import { dropoutThreshold } from "../../ops/dropout/spec.ts";
import type { OpName, Ops } from "../../ops/ops.ts";
import { adamwWasm, sumSquaresWasm } from "../../ops/optimizer/wasm.ts";
import { adamw8bitWasm } from "../../ops/adamw_8bit/wasm.ts";
import { roundBf16Wasm, widenBf16Wasm } from "../../ops/bf16_weights/wasm.ts";
import { gatherRowsWasm, scatterAddRowsWasm, scatterRowsWasm } from "../../ops/rows/wasm.ts";
import { sampleWasm } from "../../ops/sample/wasm.ts";
import { swigluBackwardWasm, swigluWasm } from "../../ops/swiglu/wasm.ts";
import type { WasmOp } from "../../ops/common/wasm_op.ts";

export const wasmOps: { [K in OpName]: WasmOp<Ops[K]> } = {
  matmul: matmulWasm,
  pack_weight: packWeightWasm,
  rmsnorm: (args, ctx) => byRows(ctx, "rmsnorm", args, { ...args, addend: args.add }),
  rmsnorm_backward: (args, ctx) => {
    // dweight first, because dx may be dout.
    if (args.dweight) byColumns(ctx, "rmsnorm_dweight", args);
    byRows(ctx, "rmsnorm_backward", args, args);
  },
  layernorm: (args, ctx) => byRows(ctx, "layernorm", args, { ...args, addend: args.add }),
  layernorm_backward: (args, ctx) => {
    if (args.dweight) byColumns(ctx, "layernorm_dweight", args);
    byRows(ctx, "layernorm_backward", args, args);
  },
  add_bias: ({ scale = 1, ...args }, ctx) => byRows(ctx, "add_bias", args, { ...args, scale }),
  add_bias_backward: ({ scale = 1, ...args }, ctx) =>
    byColumns(ctx, "add_bias_backward", { ...args, scale }),
  dora_gain: (args, ctx) => byColumns(ctx, "dora_gain", { ...args, rows: args.r }),
  scale_columns: (args, ctx) => byRows(ctx, "scale_columns", args, args),
  scale_columns_backward: (args, ctx) => byColumns(ctx, "scale_columns_backward", args),
  rope: (args, ctx) => {
    const { rows, heads, headDim, rotaryDim = headDim, inverse } = args, d = heads * headDim;
    byRows(ctx, "rope", { rows, d }, { ...args, rotaryDim, sign: inverse ? -1 : 1 });
  },
  swiglu: swigluWasm,
  swiglu_backward: swigluBackwardWasm,
  gelu: (args, ctx) => byElements(ctx, "gelu", 4, args),
  gelu_backward: (args, ctx) => byElements(ctx, "gelu_backward", 4, args),
  attention: attention.attentionWasm,
  attention_backward: attention.attentionBackwardWasm,
  sinks_backward: attention.sinksBackwardWasm,
  attention_decode: attentionDecodeWasm,
  decode_layer: decodeLayerWasm,
  gather_rows: gatherRowsWasm,
  scatter_rows: scatterRowsWasm,
  scatter_add_rows: scatterAddRowsWasm,
  adjust_logits: (args, ctx) =>
    byRows(ctx, "adjust_logits", { rows: args.rows, d: args.vocab }, args, 2 * CHUNK),
  sample: sampleWasm,
  dropout: (args, ctx) => {
    if (args.d === 0) return;
    const threshold = dropoutThreshold(args.p), scale = 1 / (1 - args.p);
    byRows(ctx, "dropout", args, { ...args, threshold, scale });
  },
  adamw: adamwWasm,
  adamw_8bit: adamw8bitWasm,
  sum_squares: sumSquaresWasm,
  widen_bf16: widenBf16Wasm,
  round_bf16: roundBf16Wasm,
  add: ({ scale = 1, ...args }, ctx) => byElements(ctx, "add", 16, { ...args, scale }),
  copy: (args, ctx) => byElements(ctx, "copy", 32, args),
  fill: (args, ctx) => byElements(ctx, "fill", 32, args),
  multiply: (args, ctx) => byElements(ctx, "multiply_each", 16, args),
  soft_cap: (args, ctx) => byElements(ctx, "soft_cap", 4, args),
  soft_cap_backward: (args, ctx) => byElements(ctx, "soft_cap_backward", 16, args),
  short_conv: shortConvWasm,
  short_conv_backward: shortConvBackwardWasm,
  route: experts.routeWasm,
  route_backward: experts.routeBackwardWasm,
  expert_matmul: experts.expertMatmulWasm,
  expert_gradient: experts.expertGradientWasm,
  delta_rule: deltaRuleWasm,
  delta_rule_backward: deltaRuleBackwardWasm,
  head: headWasm,
  head_backward: headBackwardWasm,
};
