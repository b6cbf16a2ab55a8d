/** Which host binding runs which operation on the WebGPU device. One line an operation. */
import { adjustLogitsWebgpu } from "../adjust_logits/webgpu.ts";
import { attentionBackwardWebgpu, attentionWebgpu } from "../attention/webgpu.ts";
import { attentionDecodeWebgpu } from "../attention_decode/webgpu.ts";
import { decodeLayerWebgpu } from "../decode_layer/webgpu.ts";
import { dropoutWebgpu } from "../dropout/webgpu.ts";
import { addWebgpu, copyWebgpu, fillWebgpu } from "../elementwise/webgpu.ts";
import { matmulWebgpu, packWeightWebgpu } from "../matmul/webgpu.ts";
import { headBackwardWebgpu, headWebgpu } from "../head/webgpu.ts";
import { geluBackwardWebgpu, geluWebgpu } from "../gelu/webgpu.ts";
import { addBiasBackwardWebgpu, addBiasWebgpu } from "../bias/webgpu.ts";
import { layernormBackwardWebgpu, layernormWebgpu } from "../layernorm/webgpu.ts";
import type { OpName, Ops } from "../ops.ts";
import { adamwWebgpu, sumSquaresWebgpu } from "../optimizer/webgpu.ts";
import { rmsnormBackwardWebgpu, rmsnormWebgpu } from "../rmsnorm/webgpu.ts";
import { ropeWebgpu } from "../rope/webgpu.ts";
import { gatherRowsWebgpu, scatterAddRowsWebgpu, scatterRowsWebgpu } from "../rows/webgpu.ts";
import { sampleWebgpu } from "../sample/webgpu.ts";
import { swigluBackwardWebgpu, swigluWebgpu } from "../swiglu/webgpu.ts";
import type { WebgpuOp } from "./webgpu_op.ts";

export const webgpuOps: { [K in OpName]: WebgpuOp<Ops[K]> } = {
  matmul: matmulWebgpu,
  pack_weight: packWeightWebgpu,
  rmsnorm: rmsnormWebgpu,
  rmsnorm_backward: rmsnormBackwardWebgpu,
  layernorm: layernormWebgpu,
  layernorm_backward: layernormBackwardWebgpu,
  add_bias: addBiasWebgpu,
  add_bias_backward: addBiasBackwardWebgpu,
  rope: ropeWebgpu,
  swiglu: swigluWebgpu,
  swiglu_backward: swigluBackwardWebgpu,
  gelu: geluWebgpu,
  gelu_backward: geluBackwardWebgpu,
  attention: attentionWebgpu,
  attention_backward: attentionBackwardWebgpu,
  attention_decode: attentionDecodeWebgpu,
  decode_layer: decodeLayerWebgpu,
  gather_rows: gatherRowsWebgpu,
  scatter_rows: scatterRowsWebgpu,
  scatter_add_rows: scatterAddRowsWebgpu,
  head: headWebgpu,
  head_backward: headBackwardWebgpu,
  sample: sampleWebgpu,
  adjust_logits: adjustLogitsWebgpu,
  dropout: dropoutWebgpu,
  adamw: adamwWebgpu,
  sum_squares: sumSquaresWebgpu,
  add: addWebgpu,
  copy: copyWebgpu,
  fill: fillWebgpu,
};
