/**
 * Configurations from a name, a file or an object, which are checked as a whole.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { loadConfig } from "@rgx/rgx";
 * const { config, yaml } = await loadConfig("gsm8k", { overrides: ["training.max_steps=10"] });
 * assert.equal(config.training.max_steps, 10);
 * assert.equal(config.lora?.lora_alpha, 32);
 * assert.match(yaml, /max_steps: 10/);
 * const misspelt = { _base_: "rgx:experiments/gsm8k", training: { max_step: 10 } };
 * await assert.rejects(loadConfig(misspelt), /max_step: unknown key, did you mean max_steps/);
 * ```
 * @module
 */
export {
  type ConfigObject,
  loadConfig,
  type LoadedConfig,
  type LoadOptions as ConfigOptions,
} from "../configs/load.ts";
export type { RunConfig } from "../configs/schema/run_config.ts";
