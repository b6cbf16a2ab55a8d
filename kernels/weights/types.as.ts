// The storage types of types.ts: their numbers (by the order there), and the sizes of their parts.

export const F16 = 0;
export const BF16 = 1;
export const Q8_0 = 2;
export const Q4_0 = 3;
export const Q4_1 = 4;
export const Q5_0 = 5;
export const Q4_K = 6;
export const Q6_K = 7;
export const INT8 = 8;
export const NF4 = 9;

/** Number of weights in a block; of halves 2. */
export function block_weights(type: i32): i32 {
  if (type <= BF16) return 2;
  if (type == Q4_K || type == Q6_K) return 256;
  return type == INT8 || type == NF4 ? 64 : 32;
}

/** Bytes of a record: a block of 16 rows. */
export function record_bytes(type: i32): usize {
  switch (type) {
    case Q8_0: return 544;
    case Q4_0: return 288;
    case Q4_1: return 320;
    case Q5_0: return 352;
    case Q4_K: return 2368;
    case Q6_K: return 3360;
    case INT8: return 1088;
    default: return 528;
  }
}

/** Bytes of a panel of 16 rows of k weights. */
export function panel_bytes(type: i32, k: i32): usize {
  if (type <= BF16) return (k as usize) * 32;
  const blocks = k / block_weights(type);
  const groups = type == NF4 ? (blocks + 15) / 16 : 0;
  return (blocks as usize) * record_bytes(type) + (groups as usize) * 16;
}
