/** The types that weights are written in, for code that needs only their names. */

export const WEIGHT_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0"] as const;
/** A type that the weights of an exported model can have. */
export type WeightType = typeof WEIGHT_TYPES[number];
