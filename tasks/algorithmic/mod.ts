/** The algorithmic tasks, one line each, named as the task. */
export { default as letter_counting } from "./letter_counting.ts";
export { default as spell_backward } from "./spell_backward.ts";
