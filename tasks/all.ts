/**
 * All built-in tasks. A new task needs its own file and one line in the `mod.ts` of its category.
 */
export * from "./algebra/mod.ts";
export * from "./algorithmic/mod.ts";
export * from "./arc/mod.ts";
export * from "./arithmetic/mod.ts";
export * from "./code/mod.ts";
export * from "./cognition/mod.ts";
export * from "./games/mod.ts";
export * from "./geometry/mod.ts";
export * from "./graphs/mod.ts";
export * from "./induction/mod.ts";
export * from "./logic/mod.ts";
export * from "./other/mod.ts";
export * from "./probability/mod.ts";
