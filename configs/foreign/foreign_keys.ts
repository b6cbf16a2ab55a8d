/**
 * The keys of all other projects, put together from one table per project: `trl.ts`,
 * `transformers.ts`, `peft.ts`, `verl/verl.ts`, `reasoning_gym.ts`, `open_r1/open_r1.ts`,
 * `axolotl/axolotl.ts`, `unsloth.ts`, `openrlhf/openrlhf.ts`. To add a key of another project, add
 * it to a list of that table: `obeyed`, `translated`, `withoutEffect` or `refused` (see
 * `foreign_table.ts`).
 */
import type { AnySection } from "../types/key_spec.ts";
import type { ForeignTable, RefusedKey, ValueRule } from "./foreign_table.ts";
import { AXOLOTL } from "./axolotl/axolotl.ts";
import { OPEN_R1 } from "./open_r1/open_r1.ts";
import { OPENRLHF } from "./openrlhf/openrlhf.ts";
import { PEFT } from "./peft.ts";
import { REASONING_GYM } from "./reasoning_gym.ts";
import { TRACKER_SWITCHES } from "./tracker_switches.ts";
import { TRANSFORMERS } from "./transformers.ts";
import { TRL } from "./trl.ts";
import { UNSLOTH } from "./unsloth.ts";
import { VERL } from "./verl/verl.ts";

const TABLES: readonly ForeignTable[] = [
  TRL,
  TRANSFORMERS,
  PEFT,
  VERL,
  REASONING_GYM,
  OPEN_R1,
  AXOLOTL,
  UNSLOTH,
  OPENRLHF,
];

/** Spelling → rgx's canonical key. */
export const FOREIGN_SPELLINGS = collect((table) => table.obeyed);

/** Spelling → how its value becomes the value of rgx's key. */
export const VALUE_RULES: ReadonlyMap<string, ValueRule> = collect((table) => table.values);

/** Spelling (flat and in its section) → why the key has no effect. */
export const WITHOUT_EFFECT: ReadonlyMap<string, string> = collect((table) => table.withoutEffect);

/**
 * Spelling (flat and in its section) → at which values the key is refused, and with what advice.
 */
export const REFUSED_KEYS: ReadonlyMap<string, RefusedKey> = collect((table) => table.refused);

/** Spelling → the key together with which alone it acts. */
export const DORMANT: ReadonlyMap<string, string> = collect((table) => table.dormant ?? {});

/** What a list has for a key, or for the map that the key stands in. */
export function listedAt<T>(list: ReadonlyMap<string, T>, path: string): T | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
    const listed = list.get(path.slice(0, end));
    if (listed !== undefined) return listed;
  }
  return undefined;
}

/**
 * Where a key that is not obeyed is kept in the tree: a flat one in its section, so that it and its
 * longer spelling are one key. A `lora` section would ask for an adapter, so none is made.
 */
export function keptAt(spelling: string): string {
  if (spelling.includes(".")) return spelling;
  return ["training", "model", "data"].map((section) => `${section}.${spelling}`)
    .find((path) => REFUSED_KEYS.has(path) || WITHOUT_EFFECT.has(path)) ?? spelling;
}

/** Keys that `translate_foreign_keys.ts` turns into other keys. */
export const TRANSLATED_KEYS: AnySection = {
  path: "",
  flat: false,
  keys: {
    ...TRL.translated,
    ...TRANSFORMERS.translated,
    ...VERL.translated,
    ...TRACKER_SWITCHES,
    ...REASONING_GYM.translated,
    ...OPEN_R1.translated,
    ...AXOLOTL.translated,
    ...UNSLOTH.translated,
    ...OPENRLHF.translated,
  },
};

/** Joins the lists of all projects. Two projects may have the same key if it means the same. */
function collect<T>(list: (table: ForeignTable) => Readonly<Record<string, T>>): Map<string, T> {
  const all = new Map<string, T>();
  for (const [spelling, value] of TABLES.flatMap((table) => Object.entries(list(table)))) {
    const before = all.get(spelling);
    if (before !== undefined && before !== value) {
      throw new Error(`${spelling} has two meanings`);
    }
    all.set(spelling, value);
  }
  return all;
}
