/** The implementation of each operation on the WASM device, from the operation's folder in ops/. */
import { adjustLogitsWasm } from "../../ops/adjust_logits/wasm.ts";
import { headBackwardWasm, headWasm } from "../../ops/head/wasm.ts";
import * as attention from "../../ops/attention/wasm.ts";
import { attentionDecodeWasm } from "../../ops/attention_decode/wasm.ts";
import { dropoutWasm } from "../../ops/dropout/wasm.ts";
import { decodeLayerWasm } from "../../ops/decode_layer/wasm.ts";
import * as elementwise from "../../ops/elementwise/wasm.ts";
import * as experts from "../../ops/experts/wasm.ts";
import { deltaRuleBackwardWasm, deltaRuleWasm } from "../../ops/delta_rule/wasm.ts";
import { shortConvBackwardWasm, shortConvWasm } from "../../ops/short_conv/wasm.ts";
import { matmulWasm, packWeightWasm } from "../../ops/matmul/wasm.ts";
import { geluBackwardWasm, geluWasm } from "../../ops/gelu/wasm.ts";
import { addBiasBackwardWasm, addBiasWasm } from "../../ops/bias/wasm.ts";
import { doraGainWasm, scaleColumnsBackwardWasm, scaleColumnsWasm } from "../../ops/dora/wasm.ts";
import { layernormBackwardWasm, layernormWasm } from "../../ops/layernorm/wasm.ts";
import type { OpName, Ops } from "../../ops/ops.ts";
import { adamwWasm, sumSquaresWasm } from "../../ops/optimizer/wasm.ts";
import { adamw8bitWasm } from "../../ops/adamw_8bit/wasm.ts";
import { roundBf16Wasm, widenBf16Wasm } from "../../ops/bf16_weights/wasm.ts";
import { rmsnormBackwardWasm, rmsnormWasm } from "../../ops/rmsnorm/wasm.ts";
import { ropeWasm } from "../../ops/rope/wasm.ts";
import { gatherRowsWasm, scatterAddRowsWasm, scatterRowsWasm } from "../../ops/rows/wasm.ts";
import { sampleWasm } from "../../ops/sample/wasm.ts";
import { swigluBackwardWasm, swigluWasm } from "../../ops/swiglu/wasm.ts";
import type { WasmOp } from "../../ops/common/wasm_op.ts";

export const wasmOps: { [K in OpName]: WasmOp<Ops[K]> } = {
  matmul: matmulWasm,
  pack_weight: packWeightWasm,
  rmsnorm: rmsnormWasm,
  rmsnorm_backward: rmsnormBackwardWasm,
  layernorm: layernormWasm,
  layernorm_backward: layernormBackwardWasm,
  add_bias: addBiasWasm,
  add_bias_backward: addBiasBackwardWasm,
  dora_gain: doraGainWasm,
  scale_columns: scaleColumnsWasm,
  scale_columns_backward: scaleColumnsBackwardWasm,
  rope: ropeWasm,
  swiglu: swigluWasm,
  swiglu_backward: swigluBackwardWasm,
  gelu: geluWasm,
  gelu_backward: geluBackwardWasm,
  attention: attention.attentionWasm,
  attention_backward: attention.attentionBackwardWasm,
  sinks_backward: attention.sinksBackwardWasm,
  attention_decode: attentionDecodeWasm,
  decode_layer: decodeLayerWasm,
  gather_rows: gatherRowsWasm,
  scatter_rows: scatterRowsWasm,
  scatter_add_rows: scatterAddRowsWasm,
  adjust_logits: adjustLogitsWasm,
  sample: sampleWasm,
  dropout: dropoutWasm,
  adamw: adamwWasm,
  adamw_8bit: adamw8bitWasm,
  sum_squares: sumSquaresWasm,
  widen_bf16: widenBf16Wasm,
  round_bf16: roundBf16Wasm,
  add: elementwise.addWasm,
  copy: elementwise.copyWasm,
  fill: elementwise.fillWasm,
  multiply: elementwise.multiplyWasm,
  soft_cap: elementwise.softCapWasm,
  soft_cap_backward: elementwise.softCapBackwardWasm,
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
