/** The code tasks, one line each, named as the task. */
export { default as bf } from "./bf.ts";
