/** The geometry tasks, one line each, named as the task. */
export { default as simple_geometry } from "./simple_geometry.ts";
