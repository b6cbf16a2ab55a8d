/** The arc tasks, one line each, named as the task. */
export { default as arc_agi } from "./arc_agi.ts";
