/** The tasks of the category induction. Each is exported under its task name. */
export { default as acre } from "./acre.ts";
export { default as list_functions } from "./list_functions.ts";
