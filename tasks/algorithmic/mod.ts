/** The algorithmic tasks, one line each, named as the task. */
export { default as letter_counting } from "./letter_counting.ts";
export { default as number_sorting } from "./number_sorting.ts";
export { default as palindrome_generation } from "./palindrome_generation.ts";
export { default as palindrome_partitioning } from "./palindrome_partitioning.ts";
export { default as pool_matrix } from "./pool_matrix.ts";
export { default as ransom_note } from "./ransom_note.ts";
export { default as rotate_matrix } from "./rotate_matrix.ts";
export { default as rotten_oranges } from "./rotten_oranges.ts";
export { default as spell_backward } from "./spell_backward.ts";
export { default as spiral_matrix } from "./spiral_matrix.ts";
export { default as string_insertion } from "./string_insertion.ts";
export { default as string_manipulation } from "./string_manipulation.ts";
export { default as string_splitting } from "./string_splitting.ts";
export { default as string_synthesis } from "./string_synthesis.ts";
