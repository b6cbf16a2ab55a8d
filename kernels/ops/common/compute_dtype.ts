/** The type of both sides of matrix products (../matmul/bf16.ts says what bfloat16 means). */
export type ComputeDtype = "float32" | "bfloat16";
