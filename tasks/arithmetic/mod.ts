/** The arithmetic tasks, one line each, named as the task. */
export { default as basic_arithmetic } from "./basic_arithmetic.ts";
export { default as chain_sum } from "./chain_sum.ts";
export { default as gsm_symbolic } from "./gsm_symbolic.ts";
export { default as leg_counting } from "./leg_counting.ts";
