/**
 * What distinguishes one decoder architecture from another: its parts, and their names in
 * transformers. The code that computes knows only the parts; an architecture is a table of them.
 * Models that such a table cannot describe (experts, soft caps, parallel blocks) are refused.
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

/** Linear modules of a GPT-2 layer. c_attn computes q, k and v together. */
export const GPT2_MODULES = ["attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"] as const;

/** A linear module of a layer. Each of them can have an adapter. */
export type Module = typeof LLAMA_MODULES[number] | typeof GPT2_MODULES[number];

/** The linear module after the layers, which computes the logits. It can have an adapter, too. */
export const HEAD_MODULE = "lm_head";
export type HeadModule = typeof HEAD_MODULE;

export interface Architecture {
  readonly name: ArchitectureName;
  /** Name of the class in transformers. */
  readonly className: string;
  /** All linear modules of a layer. Their order must never change: it keys their dropout. */
  readonly modules: readonly Module[];
  /** Modules that get an adapter when none are named, as in PEFT. */
  readonly loraTargets: readonly string[];
  /** Modules that always have a bias. */
  readonly biases: readonly Module[];
  /** Keys of the configuration that can give more modules a bias. */
  readonly biasKeys: Readonly<Record<string, readonly Module[]>>;
  /** RMSNorm of every query and key head before their rotation. */
  readonly headNorms: boolean;
  /** Rotation of queries and keys, or a learned table that is added to the embedding. */
  readonly positions: "rotary" | "learned";
  /** LayerNorm with a bias in place of RMSNorm. */
  readonly layerNorm: boolean;
  /** silu(gate)·up, or GELU (tanh form) of one projection. */
  readonly activation: "swiglu" | "gelu";
  /** Whether linear weights are [in, out] (Conv1D) instead of [out, in]. */
  readonly inOut: boolean;
  /** What `sliding_window` does: nothing, always something, or only with `use_sliding_window`. */
  readonly window: "none" | "always" | "flagged";
  readonly names: {
    readonly embedding: string;
    /** Only with learned positions. */
    readonly positions: string | null;
    readonly finalNorm: string;
    /** "model.layers.3." */
    readonly layer: (layer: number) => string;
    /** Name within a layer. */
    readonly inputNorm: string;
    readonly postNorm: string;
    readonly module: (module: Module) => string;
  };
}
