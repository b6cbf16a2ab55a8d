/** The tasks of the category logic. Each is exported under its task name. */
export { default as aiw } from "./aiw.ts";
export { default as circuit_logic } from "./circuit_logic.ts";
export { default as knights_knaves } from "./knights_knaves.ts";
export { default as propositional_logic } from "./propositional_logic.ts";
export { default as self_reference } from "./self_reference.ts";
export { default as syllogism } from "./syllogism.ts";
export { default as zebra_puzzles } from "./zebra_puzzles.ts";
