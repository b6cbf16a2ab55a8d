/** The other tasks, one line each, named as the task. */
export { default as composite } from "./composite.ts";
