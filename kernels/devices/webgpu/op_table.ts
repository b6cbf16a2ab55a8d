/** The implementation of each operation on the WebGPU device, from its folder in ops/. */
import { RgxError } from "../../../core/errors.ts";
import { adjustLogitsWebgpu } from "../../ops/adjust_logits/webgpu.ts";
import { attentionBackwardWebgpu, attentionWebgpu } from "../../ops/attention/webgpu.ts";
import { sinksBackwardWebgpu } from "../../ops/attention/sinks.wgsl.ts";
import { attentionDecodeWebgpu } from "../../ops/attention_decode/webgpu.ts";
import { dropoutWebgpu } from "../../ops/dropout/webgpu.ts";
import * as elementwise from "../../ops/elementwise/webgpu.ts";
import * as experts from "../../ops/experts/webgpu.ts";
import { deltaRuleBackwardWebgpu, deltaRuleWebgpu } from "../../ops/delta_rule/webgpu.ts";
import { shortConvBackwardWebgpu, shortConvWebgpu } from "../../ops/short_conv/webgpu.ts";
import { matmulWebgpu } from "../../ops/matmul/webgpu.ts";
import { headBackwardWebgpu, headWebgpu } from "../../ops/head/webgpu.ts";
import { geluBackwardWebgpu, geluWebgpu } from "../../ops/gelu/webgpu.ts";
import { addBiasBackwardWebgpu, addBiasWebgpu } from "../../ops/bias/webgpu.ts";
import * as dora from "../../ops/dora/webgpu.ts";
import { layernormBackwardWebgpu, layernormWebgpu } from "../../ops/layernorm/webgpu.ts";
import type { OpName, Ops } from "../../ops/ops.ts";
import { adamwWebgpu, sumSquaresWebgpu } from "../../ops/optimizer/webgpu.ts";
import { adamw8bitWebgpu } from "../../ops/adamw_8bit/webgpu.ts";
import { roundBf16Webgpu, widenBf16Webgpu } from "../../ops/bf16_weights/webgpu.ts";
import { rmsnormBackwardWebgpu, rmsnormWebgpu } from "../../ops/rmsnorm/webgpu.ts";
import { ropeWebgpu } from "../../ops/rope/webgpu.ts";
import * as rows from "../../ops/rows/webgpu.ts";
import { sampleWebgpu } from "../../ops/sample/webgpu.ts";
import { swigluBackwardWebgpu, swigluWebgpu } from "../../ops/swiglu/webgpu.ts";
import type { WebgpuOp } from "../../ops/common/webgpu_op.ts";

/**
 * A card runs the operations of `decode_layer` one by one: it does not wait between them. It reads
 * weights as they are, without packing them.
 */
type CardOps = { [K in Exclude<OpName, "decode_layer" | "pack_weight">]: WebgpuOp<Ops[K]> };

const OPS: CardOps = {
  matmul: matmulWebgpu,
  rmsnorm: rmsnormWebgpu,
  rmsnorm_backward: rmsnormBackwardWebgpu,
  layernorm: layernormWebgpu,
  layernorm_backward: layernormBackwardWebgpu,
  add_bias: addBiasWebgpu,
  add_bias_backward: addBiasBackwardWebgpu,
  dora_gain: dora.doraGainWebgpu,
  scale_columns: dora.scaleColumnsWebgpu,
  scale_columns_backward: dora.scaleColumnsBackwardWebgpu,
  rope: ropeWebgpu,
  swiglu: swigluWebgpu,
  swiglu_backward: swigluBackwardWebgpu,
  gelu: geluWebgpu,
  gelu_backward: geluBackwardWebgpu,
  attention: attentionWebgpu,
  attention_backward: attentionBackwardWebgpu,
  sinks_backward: sinksBackwardWebgpu,
  attention_decode: attentionDecodeWebgpu,
  gather_rows: rows.gatherRowsWebgpu,
  scatter_rows: rows.scatterRowsWebgpu,
  scatter_add_rows: rows.scatterAddRowsWebgpu,
  head: headWebgpu,
  head_backward: headBackwardWebgpu,
  sample: sampleWebgpu,
  adjust_logits: adjustLogitsWebgpu,
  dropout: dropoutWebgpu,
  adamw: adamwWebgpu,
  adamw_8bit: adamw8bitWebgpu,
  sum_squares: sumSquaresWebgpu,
  widen_bf16: widenBf16Webgpu,
  round_bf16: roundBf16Webgpu,
  add: elementwise.addWebgpu,
  copy: elementwise.copyWebgpu,
  fill: elementwise.fillWebgpu,
  multiply: elementwise.multiplyWebgpu,
  soft_cap: elementwise.softCapWebgpu,
  soft_cap_backward: elementwise.softCapBackwardWebgpu,
  short_conv: shortConvWebgpu,
  short_conv_backward: shortConvBackwardWebgpu,
  route: experts.routeWebgpu,
  route_backward: experts.routeBackwardWebgpu,
  expert_matmul: experts.expertMatmulWebgpu,
  expert_gradient: experts.expertGradientWebgpu,
  delta_rule: deltaRuleWebgpu,
  delta_rule_backward: deltaRuleBackwardWebgpu,
};

/** @throws RgxError for an operation that cards do not have */
export function webgpuOp<K extends OpName>(op: K): WebgpuOp<Ops[K]> {
  const found = (OPS as Partial<{ [K in OpName]: WebgpuOp<Ops[K]> }>)[op];
  if (found === undefined) throw new RgxError(`a graphics card has no operation "${op}"`);
  return found;
}
