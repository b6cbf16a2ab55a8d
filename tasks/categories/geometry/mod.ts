/** The tasks of the category geometry. Each is exported under its task name. */
export { default as advanced_geometry } from "./advanced_geometry.ts";
export { default as simple_geometry } from "./simple_geometry.ts";
