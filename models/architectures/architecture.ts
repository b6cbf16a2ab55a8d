/**
 * What distinguishes one decoder architecture from another: its parts, with their names in
 * transformers, and the keys of its config.json. The code that computes knows only the parts; an
 * architecture is a table of them. Models that such a table cannot describe (parallel blocks) are
 * refused.
 */

export const ARCHITECTURE_NAMES = [
  "llama",
  "mistral",
  "qwen2",
  "qwen3",
  "gpt2",
  "smollm3",
  "ministral3",
  "granite",
  "granitemoehybrid",
  "olmo2",
  "olmo3",
  "phi3",
  "gemma3_text",
  "gemma2",
  "lfm2",
  "qwen3_moe",
  "mixtral",
  "gpt_oss",
  "qwen3_5_text",
  "gemma4_text",
] as const;
/** `model_type` in a config.json. */
export type ArchitectureName = typeof ARCHITECTURE_NAMES[number];

/**
 * Linear modules of a layer by what they do; each can have an adapter. `qkv` computes queries, keys
 * and values together, `gateUp` both inputs of the MLP's product. `convIn` and `convOut` are before
 * and after a convolution; `router` chooses experts; those of `delta` are before and after a delta
 * rule (delta_layer.ts), and those of `perLayer` around the inputs that each layer has of its own
 * (per_layer.ts). Their order must never change: it keys the dropout of adapters.
 */
export const MODULES = [
  "q",
  "k",
  "v",
  "qkv",
  "o",
  "gate",
  "up",
  "gateUp",
  "down",
  "convIn",
  "convOut",
  "router",
  "deltaQkv",
  "deltaZ",
  "deltaB",
  "deltaA",
  "deltaOut",
  "perLayerGate",
  "perLayerOut",
  "perLayerModel",
] as const;
export type Module = typeof MODULES[number];

/** The linear module after the layers, which computes the logits. It can have an adapter, too. */
export const HEAD_MODULE = "lm_head";
export type HeadModule = typeof HEAD_MODULE;

/** Norms of a layer: before and after attention and MLP, of heads, and of inputs of its own. */
export const LAYER_NORMS = [
  "inputNorm",
  "postNorm",
  "attentionOutNorm",
  "mlpOutNorm",
  "qNorm",
  "kNorm",
  "deltaNorm",
  "vNorm",
  "perLayerNorm",
  "perLayerModelNorm",
] as const;
export type LayerNorm = typeof LAYER_NORMS[number];

/**
 * Parts of a layer with numbers: one for each head, of a delta rule or of attention; and a factor
 * of the layer's output, which is never trained.
 */
export const NUMBERS = ["aLog", "dtBias", "sinks", "layerScalar"] as const;
/** Parts of a layer with weights. */
export type LayerPart = Module | LayerNorm | "conv" | typeof NUMBERS[number];

/** Parts before all layers, which are in the tables as those of layer −1. */
export const BEFORE_LAYERS: readonly LayerPart[] = ["perLayerModel", "perLayerModelNorm"];
/** Parts of inputs that each layer has of its own. */
export const PER_LAYER: readonly LayerPart[] = [
  ...BEFORE_LAYERS,
  "perLayerGate",
  "perLayerOut",
  "perLayerNorm",
];
/** What layers lack that use the keys and values of an earlier one. */
export const OF_KEYS: readonly LayerPart[] = ["k", "v", "kNorm", "vNorm"];

const ATTENTION: readonly LayerPart[] = [
  "q",
  "k",
  "v",
  "qkv",
  "o",
  "qNorm",
  "kNorm",
  "vNorm",
  "sinks",
];
/** Parts that only layers have that mix positions in this way. */
export const MIXER_PARTS: Readonly<Record<LayerType, readonly LayerPart[]>> = {
  full: ATTENTION,
  sliding: ATTENTION,
  conv: ["convIn", "conv", "convOut"],
  linear: [
    "deltaQkv",
    "deltaZ",
    "deltaB",
    "deltaA",
    "conv",
    "aLog",
    "dtBias",
    "deltaNorm",
    "deltaOut",
  ],
};

/** Kinds of attention in a layer, or a short convolution or a delta rule in its place. */
export type LayerType = "full" | "sliding" | "conv" | "linear";

/** Whether layers of a type have a short convolution, alone or before a delta rule. */
export function convolves(type: LayerType): type is "conv" | "linear" {
  return type === "conv" || type === "linear";
}

export type OncePart = "embedding" | "positions" | "finalNorm" | "head" | "perLayerTable";

export interface Architecture {
  readonly name: ArchitectureName;
  readonly className: string;
  /** `general.architecture` of a GGUF file. */
  readonly gguf: string;
  /** Modules that get an adapter when none are named: those of PEFT, where it names some. */
  readonly loraTargets: readonly string[];
  readonly biases: readonly Module[];
  /** Keys of the configuration that can give more modules a bias. */
  readonly biasKeys: Readonly<Record<string, readonly Module[]>>;
  /** Rotation of queries and keys, or a learned table that is added to the embedding. */
  readonly positions: "rotary" | "learned";
  readonly layerNorm: boolean;
  /** Whether the weights of norms are stored as differences from 1. */
  readonly norm1: boolean;
  /** What the norms of queries and keys see: one head, or all heads of a row. */
  readonly headNorm: "head" | "row";
  /** silu(gate)·up, GELU (tanh form) of gate times up, or GELU of one projection. */
  readonly activation: "swiglu" | "geglu" | "gelu";
  /** Where the MLP is a mixture of experts; absent = it is not. */
  readonly experts?: ExpertKeys;
  /** Whether linear weights are [in, out] (Conv1D) instead of [out, in]. */
  readonly inOut: boolean;
  /** Whether a GGUF file has the rows of each query and key head in another order. */
  readonly interleavedInGguf: boolean;
  /**
   * What `sliding_window` does: nothing, always something, only with `use_sliding_window`, or
   * something in the sliding layers of `layer_types`.
   */
  readonly window: "none" | "always" | "flagged" | "typed";
  /**
   * With typed layers: every n-th has full attention where neither `layer_types` nor
   * `sliding_window_pattern` is set. Absent = `layer_types` must be set.
   */
  readonly fullEvery?: number;
  /** Where `rope_parameters` has a section for each type: the base of sliding layers without it. */
  readonly slidingTheta?: number;
  /** Which layers do not rotate: those with 0 in `no_rope_layers`, or all without "rope". */
  readonly unrotated?: "listed" | "by type";
  /** Whether `partial_rotary_factor` is the share of a head that is rotated. */
  readonly partialRotary?: boolean;
  /** Whether queries come with a gate of what their head attends to. */
  readonly attentionGate?: boolean;
  /** Whether queries grow with the position (`llama_4_scaling_beta`). */
  readonly growingQueries?: boolean;
  /** Names of the parts in transformers: of those that there are once, … */
  readonly names:
    & Readonly<Record<Exclude<OncePart, Optional>, string>>
    & {
      readonly [Part in Optional]?: string;
    };
  /** … what stands before the number of a layer, … */
  readonly layers: string;
  /** … and of the parts of a layer. A part without a name is not there. */
  readonly inLayer: Readonly<Partial<Record<LayerPart, string>>>;
  readonly config: ConfigKeys;
}

type Optional = "positions" | "perLayerTable";

/** How files describe a mixture of experts, whose matrices are those of `gateUp` and `down`. */
export interface ExpertKeys {
  /** Keys of the number of experts, the second one in files of transformers 5. */
  readonly count: readonly string[];
  /** The key that says whether gates sum to 1; null = they do. */
  readonly normalize: string | null;
  readonly defaults: { readonly count: number; readonly chosen: number };
  /**
   * The part of paths before ".gate" and ".experts", and an expert's gate, up and down. Null = all
   * experts are in one tensor in every file, [experts, in, out], and gate and up alternate.
   */
  readonly stored: readonly [block: string, gate: string, up: string, down: string] | null;
}

export type SizeName =
  | "vocabSize"
  | "hiddenSize"
  | "intermediateSize"
  | "numLayers"
  | "numHeads"
  | "numKvHeads"
  | "headDim"
  | "maxPositions"
  | "rmsNormEps";

/**
 * Numbers that something is multiplied by: the embedding, scores of attention (else 1/√headDim),
 * what attention and MLP add to the residual stream; and the divisor of the logits.
 */
export const SCALARS = ["embedding", "attention", "residual", "logits"] as const;
export type Scalar = typeof SCALARS[number];

/** Scores of attention or logits x become cap·tanh(x/cap). */
export const SOFT_CAPS = ["attention", "logits"] as const;
export type SoftCap = typeof SOFT_CAPS[number];

export interface ConfigKeys {
  /** Without a key the value follows: as many key heads as heads, which divide the width. */
  readonly sizes:
    & Readonly<Record<Exclude<SizeName, "numKvHeads" | "headDim">, string>>
    & Readonly<Partial<Record<SizeName, string>>>;
  /** What a missing key means; a size without a default must be there. */
  readonly defaults: {
    /** Width of the MLP's inner layer, in widths of the model. */
    readonly widening?: number;
    readonly maxPositions?: number;
    readonly sizes?: Readonly<Partial<Record<SizeName, number>>>;
    readonly rmsNormEps: number;
    readonly tieWordEmbeddings: boolean;
    /** Default 10 000. */
    readonly ropeTheta?: number;
    /** Default 4096. */
    readonly slidingWindow?: number | null;
    /** Positions of the first training, for a RoPE scaling; absent = its section says it. */
    readonly trainedPositions?: number;
  };
  /** The keys of scalars, the power of its value that a scalar is, and what a missing key means. */
  readonly scalars?: Readonly<
    Partial<Record<Scalar, readonly [key: string, power: number, absent?: number]>>
  >;
  /** The keys of soft caps, and what a missing key means; null = none. */
  readonly softCaps?: Readonly<
    Partial<Record<SoftCap, readonly [key: string, absent: number | null]>>
  >;
  /** What older files say in other keys, in those of today. */
  readonly renewed?: (
    json: Readonly<Record<string, unknown>>,
    where: string,
  ) => Readonly<Record<string, unknown>>;
  /** Keys with the only values that are supported. */
  readonly neutral: Readonly<Record<string, readonly unknown[]>>;
  /** Keys that must have the same value as another one. */
  readonly equal: Readonly<Record<string, string>>;
  /** Further keys that are understood, or that have no effect here. */
  readonly others: readonly string[];
  /** The same in the section of RoPE; default none. */
  readonly ropeOthers?: readonly string[];
  /** Further keys that are written. */
  readonly written: Readonly<Record<string, unknown>>;
}
