/** The induction tasks, one line each, named as the task. */
export { default as acre } from "./acre.ts";
export { default as list_functions } from "./list_functions.ts";
