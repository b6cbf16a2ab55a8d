/**
 * All built-in tasks. A new task needs its own file and one line in the `mod.ts` of its category.
 */
export * from "./categories/algebra/mod.ts";
export * from "./categories/algorithmic/mod.ts";
export * from "./categories/arc/mod.ts";
export * from "./categories/arithmetic/mod.ts";
export * from "./categories/code/mod.ts";
export * from "./categories/cognition/mod.ts";
export * from "./categories/games/mod.ts";
export * from "./categories/geometry/mod.ts";
export * from "./categories/graphs/mod.ts";
export * from "./categories/induction/mod.ts";
export * from "./categories/logic/mod.ts";
export * from "./categories/other/mod.ts";
export * from "./categories/probability/mod.ts";
