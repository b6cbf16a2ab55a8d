/**
 * What needs no device: tasks, prompts and answers, rewards, configurations, statistics. The npm
 * package has these sections, for Node 22 and later.
 * @module
 */
export * from "./tasks.ts";
export * from "./answers.ts";
export * from "./rewards.ts";
export * from "./configurations.ts";
export * from "./statistics.ts";
export * from "./errors.ts";
