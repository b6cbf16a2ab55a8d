/**
 * The keys of all other projects, put together from one table per project (see `table.ts`). To add
 * a key of another project, add it to that table.
 */
import type { AnySection } from "../types/key_spec.ts";
import { AXOLOTL } from "./axolotl/axolotl.ts";
import { OPEN_R1 } from "./open_r1.ts";
import { OPENRLHF } from "./openrlhf/openrlhf.ts";
import { PEFT } from "./peft.ts";
import { REASONING_GYM } from "./reasoning_gym.ts";
import type { ForeignTable, RefusedKey } from "./table.ts";
import { TRACKER_SWITCHES } from "./tracker_switches.ts";
import { TRANSFORMERS } from "./transformers.ts";
import { TRL } from "./trl.ts";
import { UNSLOTH } from "./unsloth.ts";
import { VERL } from "./verl/verl.ts";

const TABLES = [TRL, TRANSFORMERS, PEFT, VERL, TRACKER_SWITCHES, REASONING_GYM, OPEN_R1]
  .concat(AXOLOTL, UNSLOTH, OPENRLHF);

/** Spelling → rgx's canonical key. */
export const FOREIGN_SPELLINGS = collect((table) => table.obeyed);

/** Spelling → how its value becomes the value of rgx's key. */
export const VALUE_RULES = collect((table) => table.values);

/** Spelling (flat and in its section) → why the key has no effect. */
export const WITHOUT_EFFECT = collect((table) => table.withoutEffect);

/** Spelling (flat and in its section) → at which values the key is refused, and the advice. */
export const REFUSED_KEYS = collect((table) => table.refused);

/** Spelling (flat and in its section) → the key together with which alone it acts. */
export const DORMANT = collect((table) => table.dormant);

/** Key that is translated → what its values set. */
export const RULES = collect((table) => table.rules);

/** Keys that `translate_foreign_keys.ts` turns into other keys. */
export const TRANSLATED_KEYS: AnySection = {
  path: "",
  flat: false,
  keys: Object.fromEntries(collect((table) => table.translated)),
};

/** What the lists have for a key that is not obeyed. */
export interface Listing {
  refused?: RefusedKey;
  withoutEffect?: string;
  dormant?: string;
  /** Whether it is a key of a section that is listed as a whole. */
  isOfSection: boolean;
}

/** The listing of a key, or of the nearest map or section that it stands in. */
export function listingOf(path: string): Listing | undefined {
  if (Object.hasOwn(TRANSLATED_KEYS.keys, path)) return undefined;
  for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
    const here = path.slice(0, end), found = listedAs(here, false);
    if (found !== undefined) return found;
    const section = here.slice(0, Math.max(0, here.lastIndexOf("."))) + ".*";
    const whole = listedAs(section, true);
    if (whole !== undefined) return whole;
  }
  return undefined;
}

function listedAs(path: string, isOfSection: boolean): Listing | undefined {
  const refused = REFUSED_KEYS.get(path), withoutEffect = WITHOUT_EFFECT.get(path);
  const dormant = DORMANT.get(path);
  if (refused !== undefined) return { refused, isOfSection };
  if (withoutEffect !== undefined) return { withoutEffect, isOfSection };
  return dormant === undefined ? undefined : { dormant, isOfSection };
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

/** Joins the lists of all projects. Two projects may have the same key if it means the same. */
function collect<T>(list: (table: ForeignTable) => Readonly<Record<string, T>>): Map<string, T> {
  const all = new Map<string, T>();
  for (const [spelling, value] of TABLES.flatMap((table) => Object.entries(list(table)))) {
    const before = all.get(spelling);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(value)) {
      throw new Error(`${spelling} has two meanings`);
    }
    all.set(spelling, value);
  }
  return all;
}
