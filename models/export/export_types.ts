/** Export targets and weight types, for code that needs only their names. */

export const EXPORT_TARGETS = ["adapter", "hf", "gguf"] as const;
/** A PEFT adapter, a Hugging Face folder, or a GGUF file. */
export type ExportTarget = typeof EXPORT_TARGETS[number];

/** Types that weights are written in. */
export const WEIGHT_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0"] as const;
/** A type in which an exported model has its weights. */
export type WeightType = typeof WEIGHT_TYPES[number];
