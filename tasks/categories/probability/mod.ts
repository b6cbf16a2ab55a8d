/** The tasks of the category probability. Each is exported under its task name. */
export { default as coin_flip } from "./coin_flip.ts";
