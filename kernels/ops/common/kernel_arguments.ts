/**
 * The arguments of each kernel in c/, so that the bindings are checked with them. Written by
 * `deno task build:kernels`.
 */
// deno-fmt-ignore-file
export interface KernelArguments {
  matmul_blocks: "s" | "sStep" | "sLayout" | "vDirect" | "vDirectStep" | "directPanels"
    | "vPacked" | "out" | "outStep" | "rows" | "columns" | "k" | "kBlock" | "blockTiles" | "alpha"
    | "accumulate" | "swapped";
  matmul_tall: "a" | "b" | "partial" | "m" | "n" | "k" | "depth" | "kBlock";
  matmul_pack: "source" | "stride" | "columns" | "k" | "firstPanel" | "panels";
  matmul_pack_tiles: "source" | "stride" | "low" | "high" | "k" | "packed";
  transpose_to_panels: "source" | "stride" | "columns" | "k" | "panels";
  matmul_sum_partial: "partial" | "chunks" | "size" | "out" | "alpha" | "accumulate";
  matmul_stored: "type" | "a" | "w" | "out" | "m" | "n" | "k" | "unitRows" | "unitPanels"
    | "slice" | "kBlock" | "blockTiles" | "alpha" | "accumulate" | "xa" | "loraB" | "r" | "rBlock"
    | "loraScale";
  matmul_stored_rows: "type" | "a" | "w" | "out" | "m" | "n" | "k" | "unitRows" | "unitColumns"
    | "slice" | "kBlock" | "blockTiles" | "alpha" | "accumulate";
  stored_panels: "type" | "w" | "rows" | "k" | "to";
  stored_columns: "type" | "w" | "width" | "rows" | "unitColumns" | "to";
  expert_matmul: "a" | "b" | "out" | "at" | "n" | "k" | "transB" | "unitColumns" | "slice"
    | "kBlock" | "blockTiles" | "alpha" | "accumulate";
  expert_gradient: "a" | "b" | "out" | "at" | "m" | "n" | "unitRows" | "unitColumns" | "alpha";
  matmul_stored_dot: "type" | "x" | "sums" | "w" | "out" | "m" | "n" | "k" | "alpha"
    | "accumulate";
  matmul_stored_prepare: "type" | "x" | "k" | "to" | "sums";
  matmul_dot: "x" | "w" | "out" | "m" | "n" | "k" | "alpha" | "accumulate";
  matmul_halves_prepare: "x" | "k" | "factor" | "to";
  matmul_halves_dot: "bf16" | "x" | "w" | "out" | "m" | "n" | "k" | "alpha" | "accumulate";
  attention: "q" | "k" | "v" | "sinks" | "out" | "lse" | "segments" | "rowSegment" | "keyRows"
    | "rows" | "heads" | "kvHeads" | "headDim" | "scale" | "softCap" | "window" | "firstKeysOffset";
  attention_backward: "q" | "k" | "v" | "out" | "lse" | "dout" | "dq" | "dk" | "dv" | "segments"
    | "rowSegment" | "segmentCount" | "heads" | "kvHeads" | "headDim" | "scale" | "softCap"
    | "window";
  attention_decode: "q" | "prefixK" | "packedPrefixK" | "prefixV" | "branchK" | "branchV"
    | "sinks" | "out" | "branches" | "branchCount" | "maxNew" | "heads" | "kvHeads" | "headDim"
    | "scale" | "softCap" | "blockBranches" | "width" | "window" | "halves";
  decode_layer: "x" | "inputNorm" | "wq" | "wk" | "wv" | "wo" | "postNorm" | "wGate" | "wUp"
    | "wDown" | "cos" | "sin" | "positions" | "cacheRow" | "branches" | "prefixK" | "packedPrefixK"
    | "prefixV" | "branchK" | "branchV" | "keptRow" | "keptH" | "keptQ" | "keptK" | "keptV"
    | "keptMid" | "keptGate" | "keptUp" | "count" | "maxNew" | "d" | "f" | "heads" | "kvHeads"
    | "headDim" | "scale" | "eps" | "kBlockD" | "kBlockQ" | "kBlockF" | "unitRows" | "blockBranches"
    | "attentionBytes";
  head_forward: "hidden" | "panels" | "values" | "stats" | "rows" | "firstColumn" | "endColumn"
    | "d" | "alpha" | "pairStart" | "targets" | "logp" | "mean" | "chunk" | "kBlock" | "chunkBlock"
    | "xa" | "loraPanels" | "r" | "rBlock" | "loraAlpha" | "softCap";
  head_merge: "z" | "width" | "first" | "row" | "stats" | "pairStart" | "targets" | "logp";
  head_dlogits: "z" | "width" | "first" | "row" | "pairStart" | "targets" | "lse" | "entropy"
    | "dlogp" | "dentropy";
  head_finish: "stats" | "pairStart" | "logp" | "lse" | "entropy" | "mean" | "d";
  head_from_mean: "mean" | "weight" | "type" | "pairStart" | "targets" | "dlogp" | "dhidden"
    | "d" | "scale";
  rmsnorm: "x" | "addend" | "sum" | "weight" | "out" | "rho" | "d" | "eps" | "offset";
  rmsnorm_backward: "dout" | "x" | "weight" | "rho" | "dx" | "accumulate" | "d" | "offset";
  rmsnorm_dweight: "dout" | "x" | "rho" | "dweight" | "rows" | "d";
  rope: "x" | "cos" | "sin" | "positions" | "heads" | "headDim" | "rotaryDim" | "sign";
  scatter_rows: "src" | "index" | "table" | "d";
  scatter_bf16_rows: "src" | "index" | "table" | "d";
  gather_rows: "table" | "index" | "out" | "d";
  scatter_add_rows: "src" | "order" | "runs" | "target" | "table" | "d";
  swiglu: "gate" | "up" | "out" | "n";
  swiglu_backward: "dout" | "gate" | "up" | "dgate" | "dup" | "activated" | "n";
  sigmoid_gate: "gate" | "up" | "out" | "n";
  sigmoid_gate_backward: "dout" | "gate" | "up" | "dgate" | "dup" | "activated" | "n";
  clamped_swiglu: "gate" | "up" | "out" | "n" | "limit";
  clamped_swiglu_backward: "dout" | "gate" | "up" | "dgate" | "dup" | "activated" | "n"
    | "limit";
  sample_plain: "logits" | "scored" | "counters" | "tokens" | "distances" | "vocab"
    | "temperature";
  sample_filtered: "logits" | "scored" | "counters" | "tokens" | "distances" | "vocab"
    | "temperature" | "topK" | "topP" | "minP";
  sample_logp: "distances" | "logp";
  add: "a" | "b" | "out" | "n" | "scale";
  multiply_each: "a" | "b" | "out" | "n";
  soft_cap: "x" | "out" | "n" | "cap";
  soft_cap_backward: "dout" | "y" | "dx" | "n" | "cap";
  copy: "src" | "out" | "n";
  fill: "out" | "n" | "value";
  zero: "target";
  adamw: "param" | "grad" | "m" | "v" | "n" | "decay" | "beta1" | "rest1" | "beta2" | "rest2"
    | "step" | "root" | "eps" | "gradScale";
  sum_squares: "x" | "partial" | "n";
  add_bias: "x" | "bias" | "d" | "scale";
  add_bias_backward: "dout" | "dbias" | "rows" | "d" | "scale";
  dora_gain: "squares" | "q" | "b" | "magnitude" | "rho" | "gain" | "r" | "d";
  scale_columns: "x" | "gain" | "out" | "d" | "byRow";
  scale_columns_backward: "dout" | "x" | "rho" | "dmagnitude" | "rows" | "d";
  adamw_8bit: "param" | "grad" | "m" | "v" | "mMax" | "vMax" | "n" | "decay" | "beta1" | "rest1"
    | "beta2" | "rest2" | "step" | "root" | "eps" | "gradScale" | "signed_" | "unsigned_"
    | "signedBounds" | "unsignedBounds" | "signedCells" | "unsignedCells";
  adjust_logits: "logits" | "out" | "vocab" | "penalty" | "seen" | "slots" | "newest"
    | "forbidden" | "forbiddenCount" | "allowed";
  widen_bf16: "weight" | "rest" | "out" | "n";
  round_bf16_kahan: "x" | "weight" | "rest" | "n";
  round_bf16_stochastic: "x" | "weight" | "n" | "firstBlock" | "c1" | "c2" | "c3" | "seedLow"
    | "seedHigh";
  delta_prepare: "x" | "a" | "b" | "aLog" | "dtBias" | "qk" | "gates" | "keyHeads" | "valueHeads"
    | "keyDim" | "valueDim";
  delta_rule: "x" | "qk" | "gates" | "segments" | "first" | "state" | "out" | "keyHeads"
    | "valueHeads" | "keyDim" | "valueDim";
  delta_rule_backward: "x" | "dout" | "qk" | "gates" | "dqk" | "dgates" | "dx" | "segments"
    | "segmentCount" | "states" | "longest" | "keyHeads" | "valueHeads" | "keyDim" | "valueDim";
  delta_prepare_backward: "x" | "a" | "b" | "aLog" | "dtBias" | "gates" | "dqk" | "dgates" | "dx"
    | "da" | "db" | "dlog" | "keyHeads" | "valueHeads" | "keyDim" | "valueDim";
  dropout: "x" | "keys" | "out" | "d" | "threshold" | "scale" | "site" | "seedLow" | "seedHigh"
    | "accumulate";
  gelu: "x" | "out" | "n";
  gelu_backward: "dout" | "x" | "dx" | "activated" | "n";
  geglu: "gate" | "up" | "out" | "n";
  geglu_backward: "dout" | "gate" | "up" | "dgate" | "dup" | "activated" | "n";
  layernorm: "x" | "addend" | "sum" | "weight" | "bias" | "out" | "mean" | "rho" | "d" | "eps";
  layernorm_backward: "dout" | "x" | "weight" | "mean" | "rho" | "dx" | "accumulate" | "d";
  layernorm_dweight: "dout" | "x" | "mean" | "rho" | "dweight" | "rows" | "d";
  short_conv: "x" | "table" | "before" | "weight" | "gate" | "out" | "d" | "taps";
  short_conv_backward: "dout" | "x" | "before" | "after" | "users" | "weight" | "gate" | "dx"
    | "dgate" | "d" | "taps";
  short_conv_weight: "dout" | "x" | "before" | "gate" | "dweight" | "rows" | "d" | "taps";
  gather_stored_rows: "type" | "table" | "index" | "out" | "d";
  quantize_panels: "type" | "source" | "x" | "rows" | "k" | "to" | "limit" | "unusual";
  pack_panels: "type" | "x" | "rows" | "k" | "to";
  matmul_int8: "type" | "bytes" | "scales" | "w" | "out" | "m" | "n" | "k" | "unitRows" | "alpha"
    | "accumulate";
  matmul_int8_prepare: "x" | "k" | "bytes" | "scales";
  matmul_bf16: "type" | "transB" | "a" | "b" | "out" | "m" | "n" | "k" | "unitRows"
    | "unitColumns" | "slice" | "alpha" | "accumulate" | "xa" | "loraB" | "r" | "loraScale";
  matmul_bf16_rows: "a" | "transA" | "b" | "out" | "m" | "n" | "k" | "unitColumns" | "alpha"
    | "accumulate" | "xa" | "loraB" | "r" | "loraScale";
  bf16_pack_rows: "a" | "m" | "k" | "transA" | "packed";
  bf16_pack_columns: "type" | "transB" | "b" | "n" | "k" | "unitColumns" | "packed";
  f16_pack_rows: "a" | "m" | "k" | "transA" | "packed";
  matmul_f16: "type" | "transB" | "a" | "b" | "out" | "m" | "n" | "k" | "unitRows"
    | "unitColumns" | "slice" | "alpha" | "accumulate" | "xa" | "loraB" | "r" | "loraScale";
  f16_pack_columns: "type" | "transB" | "b" | "n" | "k" | "unitColumns" | "packed";
  matmul_f16_rows: "a" | "transA" | "b" | "out" | "m" | "n" | "k" | "unitColumns" | "alpha"
    | "accumulate" | "xa" | "loraB" | "r" | "loraScale";
}
