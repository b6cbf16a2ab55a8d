/** The tasks of the category graphs. Each is exported under its task name. */
export { default as course_schedule } from "./course_schedule.ts";
export { default as family_relationships } from "./family_relationships.ts";
export { default as largest_island } from "./largest_island.ts";
export { default as path_star } from "./path_star.ts";
export { default as quantum_lock } from "./quantum_lock.ts";
export { default as shortest_path } from "./shortest_path.ts";
