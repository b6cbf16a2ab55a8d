/** The reference implementation of each operation, from the operation's folder in ops/. */
import type { OpName, Ops } from "../../ops/ops.ts";
import { adjustLogits } from "../../ops/adjust_logits/reference.ts";
import { attention, attentionBackward, sinksBackward } from "../../ops/attention/reference.ts";
import { attentionDecode } from "../../ops/attention_decode/reference.ts";
import { dropout } from "../../ops/dropout/reference.ts";
import { decodeLayer } from "../../ops/decode_layer/reference.ts";
import {
  add,
  copy,
  fill,
  multiply,
  softCap,
  softCapBackward,
} from "../../ops/elementwise/reference.ts";
import {
  expertGradient,
  expertMatmul,
  routeBackwardReference,
  routeReference,
} from "../../ops/experts/reference.ts";
import { deltaRule, deltaRuleBackward } from "../../ops/delta_rule/reference.ts";
import { shortConv, shortConvBackward } from "../../ops/short_conv/reference.ts";
import { addBias, addBiasBackward } from "../../ops/bias/reference.ts";
import { doraGain, scaleColumns, scaleColumnsBackward } from "../../ops/dora/reference.ts";
import { gelu, geluBackward } from "../../ops/gelu/reference.ts";
import { layernorm, layernormBackward } from "../../ops/layernorm/reference.ts";
import { head, headBackward } from "../../ops/head/reference.ts";
import type { ComputeDtype } from "../../ops/common/compute_dtype.ts";
import { matmul, packWeight } from "../../ops/matmul/reference.ts";
import { adamw, sumSquares } from "../../ops/optimizer/reference.ts";
import { adamw8bit } from "../../ops/adamw_8bit/reference.ts";
import { roundBf16, widenBf16 } from "../../ops/bf16_weights/reference.ts";
import { rmsnorm, rmsnormBackward } from "../../ops/rmsnorm/reference.ts";
import { rope } from "../../ops/rope/reference.ts";
import { gatherRows, scatterAddRows, scatterRows } from "../../ops/rows/reference.ts";
import { sample } from "../../ops/sample/reference.ts";
import { swiglu, swigluBackward } from "../../ops/swiglu/reference.ts";

export const REFERENCE_OPS: {
  readonly [K in OpName]: (args: Ops[K], computeDtype: ComputeDtype) => void;
} = {
  matmul,
  pack_weight: packWeight,
  rmsnorm,
  rmsnorm_backward: rmsnormBackward,
  layernorm,
  layernorm_backward: layernormBackward,
  add_bias: addBias,
  add_bias_backward: addBiasBackward,
  dora_gain: doraGain,
  scale_columns: scaleColumns,
  scale_columns_backward: scaleColumnsBackward,
  rope,
  swiglu,
  swiglu_backward: swigluBackward,
  gelu,
  gelu_backward: geluBackward,
  attention,
  attention_backward: attentionBackward,
  sinks_backward: sinksBackward,
  attention_decode: attentionDecode,
  decode_layer: decodeLayer,
  gather_rows: gatherRows,
  scatter_rows: scatterRows,
  scatter_add_rows: scatterAddRows,
  head,
  head_backward: headBackward,
  adjust_logits: adjustLogits,
  sample,
  dropout,
  adamw,
  adamw_8bit: adamw8bit,
  sum_squares: sumSquares,
  widen_bf16: widenBf16,
  round_bf16: roundBf16,
  add,
  copy,
  fill,
  multiply,
  soft_cap: softCap,
  soft_cap_backward: softCapBackward,
  short_conv: shortConv,
  short_conv_backward: shortConvBackward,
  route: routeReference,
  route_backward: routeBackwardReference,
  expert_matmul: expertMatmul,
  expert_gradient: expertGradient,
  delta_rule: deltaRule,
  delta_rule_backward: deltaRuleBackward,
};
