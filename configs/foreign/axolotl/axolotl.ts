/**
 * Keys of Axolotl (main of 2026-07-24) in a configuration with `rl: grpo`. They stand at the top of
 * its files and in the sections `trl` and `vllm`. `configs/reading/axolotl_names.ts` knows such a
 * file. `tests/golden/axolotl_keys.json` has all names; a test compares them.
 */
import type { ForeignTable } from "../foreign_table.ts";
import { join } from "../verl/verl_keys.ts";
import { DATA } from "./data_keys.ts";
import { MODEL } from "./model_keys.ts";
import { RL } from "./rl_keys.ts";
import { TRAINING } from "./training_keys.ts";

/** The keys as they stand in files. */
export const AXOLOTL_AS_WRITTEN: ForeignTable = join(MODEL, DATA, RL, TRAINING);

/**
 * The keys as they stand in the tree: those that rgx does not obey are in a section `axolotl`, so
 * that they are known in files of Axolotl alone, and a typo in another file is one.
 */
export const AXOLOTL: ForeignTable = {
  ...AXOLOTL_AS_WRITTEN,
  withoutEffect: placed(AXOLOTL_AS_WRITTEN.withoutEffect),
  refused: placed(AXOLOTL_AS_WRITTEN.refused),
  dormant: placed(AXOLOTL_AS_WRITTEN.dormant ?? {}),
};

function placed<T>(list: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(list).map((
      [name, value],
    ) => [name.includes(".") ? name : `axolotl.${name}`, value]),
  );
}

/** Whether a key that has no effect is one of Axolotl's: by its path in the tree. */
export function isOfAxolotlAlone(path: string): boolean {
  return Object.hasOwn(AXOLOTL.withoutEffect, path);
}
