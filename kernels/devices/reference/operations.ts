/** The reference implementations by name; each stands in its operation's folder. */
import type { OpName, Ops } from "../ops.ts";
import { adjustLogits } from "../adjust_logits/reference.ts";
import { attention, attentionBackward } from "../attention/reference.ts";
import { attentionDecode } from "../attention_decode/reference.ts";
import { dropout } from "../dropout/reference.ts";
import { decodeLayer } from "../decode_layer/reference.ts";
import { add, copy, fill } from "../elementwise/reference.ts";
import { addBias, addBiasBackward } from "../bias/reference.ts";
import { gelu, geluBackward } from "../gelu/reference.ts";
import { layernorm, layernormBackward } from "../layernorm/reference.ts";
import { head, headBackward } from "../head/reference.ts";
import { matmul, packWeight } from "../matmul/reference.ts";
import { adamw, sumSquares } from "../optimizer/reference.ts";
import { rmsnorm, rmsnormBackward } from "../rmsnorm/reference.ts";
import { rope } from "../rope/reference.ts";
import { gatherRows, scatterAddRows, scatterRows } from "../rows/reference.ts";
import { sample } from "../sample/reference.ts";
import { swiglu, swigluBackward } from "../swiglu/reference.ts";

export const REFERENCE_OPS: { readonly [K in OpName]: (args: Ops[K]) => void } = {
  matmul,
  pack_weight: packWeight,
  rmsnorm,
  rmsnorm_backward: rmsnormBackward,
  layernorm,
  layernorm_backward: layernormBackward,
  add_bias: addBias,
  add_bias_backward: addBiasBackward,
  rope,
  swiglu,
  swiglu_backward: swigluBackward,
  gelu,
  gelu_backward: geluBackward,
  attention,
  attention_backward: attentionBackward,
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
  sum_squares: sumSquares,
  add,
  copy,
  fill,
};
