/** The games tasks, one line each, named as the task. */
export { default as mini_sudoku } from "./mini_sudoku.ts";
export { default as tower_of_hanoi } from "./tower_of_hanoi.ts";
