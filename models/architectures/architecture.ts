/**
 * What tells one decoder architecture from another: its parts, and how transformers names them and its
 * configuration. The computing code knows the parts only; an architecture is a table of them. What such
 * a table cannot say (experts, soft caps, parallel blocks) is left out, and such models are refused.
 */

export const ARCHITECTURE_NAMES = ["llama", "mistral", "qwen2", "qwen3", "gpt2"] as const;
/** `model_type` in a config.json. */
export type ArchitectureName = typeof ARCHITECTURE_NAMES[number];

/** Linear modules of a layer of the Llama family. */
export const LLAMA_MODULES = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;

/** Linear modules of a GPT-2 layer; c_attn makes q, k and v at once. */
export const GPT2_MODULES = ["attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"] as const;

/** A linear module of a layer. Any of them can carry an adapter. */
export type Module = typeof LLAMA_MODULES[number] | typeof GPT2_MODULES[number];

export interface Architecture {
  readonly name: ArchitectureName;
  /** Class in transformers. */
  readonly className: string;
  /** All linear modules of a layer, in an order that never changes: it numbers their dropout. */
  readonly modules: readonly Module[];
  /** Those that get an adapter where none are named, as in PEFT. */
  readonly loraTargets: readonly string[];
  /** Those that always have a bias. */
  readonly biases: readonly Module[];
  /** Keys of the configuration that may give further modules a bias. */
  readonly biasKeys: Readonly<Record<string, readonly Module[]>>;
  /** RMSNorm of every query and key head before their rotation. */
  readonly headNorms: boolean;
  /** Rotation of queries and keys, or a table that is added to the embedding. */
  readonly positions: "rotary" | "learned";
  /** LayerNorm with a bias in place of RMSNorm. */
  readonly layerNorm: boolean;
  /** silu(gate)·up, or GELU (tanh form) of one projection. */
  readonly activation: "swiglu" | "gelu";
  /** Linear weights lie as [in, out] (Conv1D) in place of [out, in]. */
  readonly inOut: boolean;
  /** `sliding_window` where the configuration does not give one. */
  readonly defaultWindow: number | null;
  /** `sliding_window` counts only where `use_sliding_window` is true. */
  readonly windowNeedsFlag: boolean;
  readonly names: {
    readonly embedding: string;
    /** Of learned positions. */
    readonly positions: string | null;
    readonly finalNorm: string;
    /** "model.layers.3." */
    readonly layer: (layer: number) => string;
    /** Within a layer. */
    readonly inputNorm: string;
    readonly postNorm: string;
    readonly module: (module: Module) => string;
  };
}
