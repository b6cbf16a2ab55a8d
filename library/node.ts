/**
 * What needs no device: tasks, prompts and answers, rewards, configurations, statistics. The npm
 * package has these sections, for Node 22 and later.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, loadConfig, scoreCompletion, wilsonInterval } from "@rgx/rgx/node";
 * const entry = createDataset("chain_sum", { seed: 1 }).entry(0);
 * assert.equal(scoreCompletion(`<answer>${entry.answer}</answer>`, entry).score, 1);
 * const { config } = await loadConfig("gsm8k");
 * assert.equal(config.lora?.lora_alpha, 32);
 * assert.ok(wilsonInterval(3, 4)[0] > 0.3);
 * ```
 * @module
 */
export * from "./tasks.ts";
export * from "./answers.ts";
export * from "./rewards.ts";
export * from "./configurations.ts";
export * from "./statistics.ts";
export * from "./errors.ts";
