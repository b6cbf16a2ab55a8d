/** What a model can be exported to, for code that needs only the names. */

export const EXPORT_TARGETS = ["adapter", "hf", "gguf"] as const;
/** A PEFT adapter, a Hugging Face folder, or a GGUF file. */
export type ExportTarget = typeof EXPORT_TARGETS[number];
