/** The code tasks, one line each, named as the task. */
export { default as bf } from "./bf.ts";
export { default as codeio } from "./codeio.ts";
