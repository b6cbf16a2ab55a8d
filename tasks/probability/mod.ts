/** The probability tasks, one line each, named as the task. */
export { default as coin_flip } from "./coin_flip.ts";
