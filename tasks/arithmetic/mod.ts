/** The arithmetic tasks, one line each, named as the task. */
export { default as basic_arithmetic } from "./basic_arithmetic.ts";
export { default as bitwise_arithmetic } from "./bitwise_arithmetic.ts";
export { default as chain_sum } from "./chain_sum.ts";
export { default as count_bits } from "./count_bits.ts";
export { default as decimal_chain_sum } from "./decimal_chain_sum.ts";
export { default as gcd } from "./gcd.ts";
export { default as gsm_symbolic } from "./gsm_symbolic.ts";
export { default as lcm } from "./lcm.ts";
export { default as leg_counting } from "./leg_counting.ts";
export { default as prime_factorization } from "./prime_factorization.ts";
export { default as products } from "./products.ts";
