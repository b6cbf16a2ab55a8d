/** The type of both sides of matrix products (../matmul/bf16.ts and f16.ts say what they mean). */
export type ComputeDtype = "float32" | "bfloat16" | "float16";
