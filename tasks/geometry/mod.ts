/** The geometry tasks, one line each, named as the task. */
export { default as advanced_geometry } from "./advanced_geometry.ts";
export { default as simple_geometry } from "./simple_geometry.ts";
