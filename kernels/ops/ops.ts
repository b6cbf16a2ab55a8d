/**
 * All operations by name, with their arguments. The folder of each says what it computes, and has
 * its kernels for cards. Those for the CPU are in native/c/, where a file of the folder's name or
 * the first lines of a file name the folder.
 */
import type { MatmulArgs, PackWeightArgs } from "./matmul/spec.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./rmsnorm/spec.ts";
import type { LayernormArgs, LayernormBackwardArgs } from "./layernorm/spec.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./bias/spec.ts";
import type { DoraGainArgs, ScaleColumnsArgs, ScaleColumnsBackwardArgs } from "./dora/spec.ts";
import type { RopeArgs } from "./rope/spec.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./swiglu/spec.ts";
import type { GeluArgs, GeluBackwardArgs } from "./gelu/spec.ts";
import type {
  AttentionBackwardArgs,
  AttentionForwardArgs,
  SinksBackwardArgs,
} from "./attention/spec.ts";
import type { AttentionDecodeArgs } from "./attention_decode/spec.ts";
import type { DecodeLayerArgs } from "./decode_layer/spec.ts";
import type { GatherRowsArgs, ScatterAddRowsArgs, ScatterRowsArgs } from "./rows/spec.ts";
import type { DropoutArgs } from "./dropout/spec.ts";
import type { HeadArgs, HeadBackwardArgs } from "./head/spec.ts";
import type { AdjustLogitsArgs } from "./adjust_logits/spec.ts";
import type { SampleArgs } from "./sample/spec.ts";
import type { AdamwArgs, SumSquaresArgs } from "./optimizer/spec.ts";
import type { Adamw8bitArgs } from "./adamw_8bit/spec.ts";
import type { RoundBf16Args, WidenBf16Args } from "./bf16_weights/spec.ts";
import type {
  AddArgs,
  CopyArgs,
  FillArgs,
  MultiplyArgs,
  SoftCapArgs,
  SoftCapBackwardArgs,
} from "./elementwise/spec.ts";
import type {
  ExpertGradientArgs,
  ExpertMatmulArgs,
  RouteArgs,
  RouteBackwardArgs,
} from "./experts/spec.ts";
import type { ShortConvArgs, ShortConvBackwardArgs } from "./short_conv/spec.ts";
import type { DeltaRuleArgs, DeltaRuleBackwardArgs } from "./delta_rule/spec.ts";

export interface Ops {
  matmul: MatmulArgs;
  pack_weight: PackWeightArgs;
  rmsnorm: RmsnormArgs;
  rmsnorm_backward: RmsnormBackwardArgs;
  layernorm: LayernormArgs;
  layernorm_backward: LayernormBackwardArgs;
  add_bias: AddBiasArgs;
  add_bias_backward: AddBiasBackwardArgs;
  dora_gain: DoraGainArgs;
  scale_columns: ScaleColumnsArgs;
  scale_columns_backward: ScaleColumnsBackwardArgs;
  rope: RopeArgs;
  swiglu: SwigluArgs;
  swiglu_backward: SwigluBackwardArgs;
  gelu: GeluArgs;
  gelu_backward: GeluBackwardArgs;
  attention: AttentionForwardArgs;
  attention_backward: AttentionBackwardArgs;
  sinks_backward: SinksBackwardArgs;
  attention_decode: AttentionDecodeArgs;
  decode_layer: DecodeLayerArgs;
  gather_rows: GatherRowsArgs;
  scatter_rows: ScatterRowsArgs;
  scatter_add_rows: ScatterAddRowsArgs;
  head: HeadArgs;
  head_backward: HeadBackwardArgs;
  adjust_logits: AdjustLogitsArgs;
  sample: SampleArgs;
  dropout: DropoutArgs;
  adamw: AdamwArgs;
  adamw_8bit: Adamw8bitArgs;
  sum_squares: SumSquaresArgs;
  widen_bf16: WidenBf16Args;
  round_bf16: RoundBf16Args;
  add: AddArgs;
  copy: CopyArgs;
  fill: FillArgs;
  multiply: MultiplyArgs;
  soft_cap: SoftCapArgs;
  soft_cap_backward: SoftCapBackwardArgs;
  short_conv: ShortConvArgs;
  short_conv_backward: ShortConvBackwardArgs;
  route: RouteArgs;
  route_backward: RouteBackwardArgs;
  expert_matmul: ExpertMatmulArgs;
  expert_gradient: ExpertGradientArgs;
  delta_rule: DeltaRuleArgs;
  delta_rule_backward: DeltaRuleBackwardArgs;
}

export type OpName = keyof Ops;
