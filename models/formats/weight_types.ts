/** The types that weights are written in, for code that needs only their names. */

export const WEIGHT_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0", "q6_k", "q4_k_m"] as const;
/**
 * A type that the weights of an exported model can have. q4_k_m is llama.cpp's mix: blocks of Q4_K,
 * and of Q6_K for some matrices.
 */
export type WeightType = typeof WEIGHT_TYPES[number];
