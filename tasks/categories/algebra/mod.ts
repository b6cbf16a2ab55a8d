/** The tasks of the category algebra. Each is exported under its task name. */
export { default as complex_arithmetic } from "./complex_arithmetic.ts";
export { default as intermediate_integration } from "./intermediate_integration.ts";
export { default as polynomial_equations } from "./polynomial_equations.ts";
export { default as polynomial_multiplication } from "./polynomial_multiplication.ts";
export { default as simple_equations } from "./simple_equations.ts";
export { default as simple_integration } from "./simple_integration.ts";
