/** The tasks of the category arc. Each is exported under its task name. */
export { default as arc_1d } from "./arc_1d.ts";
export { default as arc_agi } from "./arc_agi.ts";
export { default as rearc } from "./rearc.ts";
