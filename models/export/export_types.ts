/** What a model can be exported to, for those who need only the names. */

export const EXPORT_TARGETS = ["adapter", "hf", "gguf"] as const;
/** PEFT adapter, Hugging Face folder, or GGUF file. */
export type ExportTarget = typeof EXPORT_TARGETS[number];

/** Types that weights are written in. */
export const WEIGHT_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0"] as const;
/** A type that weights are written in. */
export type WeightType = typeof WEIGHT_TYPES[number];
