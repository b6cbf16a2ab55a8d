/** The tasks of the category code. Each is exported under its task name. */
export { default as bf } from "./bf.ts";
export { default as codeio } from "./codeio.ts";
