/** Every built-in task: one line each, named as the task. Adding a task = its file and a line here. */
export { default as basic_arithmetic } from "./arithmetic/basic_arithmetic.ts";
export { default as chain_sum } from "./arithmetic/chain_sum.ts";
export { default as gsm_symbolic } from "./arithmetic/gsm_symbolic.ts";
export { default as leg_counting } from "./arithmetic/leg_counting.ts";
export { default as letter_counting } from "./algorithmic/letter_counting.ts";
export { default as mini_sudoku } from "./games/mini_sudoku.ts";
export { default as shortest_path } from "./graphs/shortest_path.ts";
export { default as simple_geometry } from "./geometry/simple_geometry.ts";
export { default as spell_backward } from "./algorithmic/spell_backward.ts";
export { default as tower_of_hanoi } from "./games/tower_of_hanoi.ts";
