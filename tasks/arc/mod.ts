/** The arc tasks, one line each, named as the task. */
export { default as arc_1d } from "./arc_1d.ts";
export { default as arc_agi } from "./arc_agi.ts";
export { default as rearc } from "./rearc.ts";
