/** The tasks of the category cognition. Each is exported under its task name. */
export { default as color_cube_rotation } from "./color_cube_rotation.ts";
export { default as figlet_font } from "./figlet_font.ts";
export { default as modulo_grid } from "./modulo_grid.ts";
export { default as needle_haystack } from "./needle_haystack.ts";
export { default as number_sequence } from "./number_sequence.ts";
export { default as rectangle_count } from "./rectangle_count.ts";
export { default as rubiks_cube } from "./rubiks_cube.ts";
