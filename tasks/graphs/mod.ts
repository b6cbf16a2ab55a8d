/** The graphs tasks, one line each, named as the task. */
export { default as shortest_path } from "./shortest_path.ts";
