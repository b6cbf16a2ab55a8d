/**
 * Keys of Axolotl (main of 2026-07-24) in a configuration with `rl: grpo`. They stand at the top of
 * its files and in the sections `trl` and `vllm`. A few have the name of another key of rgx:
 * `own_names.ts` puts those into a section `axolotl`. `tests/golden/axolotl_keys.json` has all
 * names; a test compares them.
 */
import type { ForeignTable } from "../foreign_table.ts";
import { join } from "../verl/verl_keys.ts";
import { DATA } from "./data_keys.ts";
import { MODEL } from "./model_keys.ts";
import { RL } from "./rl_keys.ts";
import { TRAINING } from "./training_keys.ts";

export const AXOLOTL: ForeignTable = join(MODEL, DATA, RL, TRAINING);

/** Whether a key that has no effect is one of Axolotl's. */
export function isOfAxolotlAlone(path: string): boolean {
  return Object.hasOwn(AXOLOTL.withoutEffect, path);
}
