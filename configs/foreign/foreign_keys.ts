/**
 * The keys of all other projects, put together from one table per project (see `table.ts`). To add
 * a key of another project, add it to that table.
 */
import type { Section } from "../types/key_spec.ts";
import { AXOLOTL } from "./axolotl/axolotl.ts";
import { OPEN_R1 } from "./open_r1.ts";
import { OPENRLHF } from "./openrlhf/openrlhf.ts";
import { REASONING_GYM } from "./reasoning_gym.ts";
import type { ForeignTable, ListedKey } from "./table.ts";
import { TRACKER_SWITCHES } from "./tracker_switches.ts";
import { PEFT, TRANSFORMERS } from "./transformers.ts";
import { TRL } from "./trl.ts";
import { UNSLOTH } from "./unsloth.ts";
import { VERL } from "./verl/verl.ts";

/**
 * One table for each project; the rules of an earlier one act first. The switches of trackers are
 * also keys of reasoning-gym's scripts.
 */
export const TABLES: readonly ForeignTable[] = [
  AXOLOTL,
  TRL,
  TRANSFORMERS,
  PEFT,
  VERL,
  TRACKER_SWITCHES,
  REASONING_GYM,
  OPEN_R1,
  UNSLOTH,
  OPENRLHF,
];

export const FOREIGN_SPELLINGS = collect((table) => table.obeyed);

/** Spelling (flat and in its section) → how a key that rgx does not obey is handled. */
export const LISTED = collect((table) => table.listed);

/** The beginnings of keys that are listed as a whole, the longest first. */
const PATTERNS = [...LISTED].filter(([name]) => name.endsWith("*"))
  .map(([name, key]) => ({ start: name.slice(0, -1), key }))
  .sort((a, b) => b.start.length - a.start.length);

/** Key that is translated → the keys of rgx that its values set. */
export const RULES = collect((table) => table.rules);

/** Keys that `translate_foreign_keys.ts` turns into other keys. */
export const TRANSLATED_KEYS: Section = {
  path: "",
  keys: Object.fromEntries(collect((table) => table.translated)),
};

export interface Listing extends ListedKey {
  /** Whether the key is one of many that are listed as a whole. */
  readonly isOfSection: boolean;
}

/** The entry for a key, or for the nearest map or section around the key. */
export function listingOf(path: string): Listing | undefined {
  if (Object.hasOwn(TRANSLATED_KEYS.keys, path)) return undefined;
  for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
    const here = path.slice(0, end), found = LISTED.get(here);
    if (found !== undefined) return { ...found, isOfSection: false };
    const section = here.lastIndexOf(".") + 1;
    const whole = PATTERNS.find(({ start }) => start.length >= section && here.startsWith(start));
    if (whole !== undefined) return { ...whole.key, isOfSection: true };
  }
  return undefined;
}

/**
 * The place in the tree of a key that rgx does not obey. A flat key is kept in its section, so that
 * the flat and the longer spelling are one key. A section `lora` is not made, as it would ask for
 * an adapter.
 */
export function keptAt(spelling: string): string {
  if (spelling.includes(".")) return spelling;
  return ["training", "model", "data"].map((section) => `${section}.${spelling}`)
    .find((path) => ["refused", "no effect"].includes(LISTED.get(path)?.kind ?? "")) ?? spelling;
}

/** Joins the lists of all projects. Two projects may have the same key if it means the same. */
function collect<T>(list: (table: ForeignTable) => Readonly<Record<string, T>>): Map<string, T> {
  const all = new Map<string, T>();
  for (const [spelling, value] of TABLES.flatMap((table) => Object.entries(list(table)))) {
    const before = all.get(spelling);
    if (before !== undefined && meaning(before) !== meaning(value)) {
      throw new Error(`${spelling} has two meanings`);
    }
    all.set(spelling, value);
  }
  return all;
}

function meaning(value: unknown): string {
  return JSON.stringify(value, (name, part) => name === "project" ? undefined : part);
}
