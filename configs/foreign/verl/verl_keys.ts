/**
 * Helpers of the tables of verl's keys. A table is written with the keys of one of verl's sections,
 * and then placed where verl has that section, sometimes at several places.
 */
import type { ForeignTable } from "../foreign_table.ts";

/** A table in which lists may be left out. */
export type VerlKeys = Partial<ForeignTable>;

/** Why a key of another engine has no effect. Keys of one reason share one note. */
export const PLACE = "it says how verl spreads, stores and schedules its work";
export const PRECISION = "fsdp_config.dtype of the actor says in which type products are";
export const PROFILER = "there is no profiler; rgx train CONFIG --verbose times each step";

/** The table with every key inside `section`. */
export function inside(section: string, keys: VerlKeys): VerlKeys {
  const placed = <T>(list: Readonly<Record<string, T>> = {}) =>
    Object.fromEntries(Object.entries(list).map(([name, value]) => [`${section}.${name}`, value]));
  return {
    obeyed: placed(keys.obeyed),
    values: placed(keys.values),
    translated: placed(keys.translated),
    withoutEffect: placed(keys.withoutEffect),
    dormant: placed(keys.dormant),
    refused: placed(keys.refused),
  };
}

/** The same names, none of which acts while the key or thing that `why` names is not there. */
export function asDormant(keys: VerlKeys, why: string): VerlKeys {
  const { obeyed, translated, withoutEffect, dormant, refused } = keys;
  const names = Object.keys({ ...obeyed, ...translated, ...withoutEffect, ...dormant, ...refused });
  return { dormant: Object.fromEntries(names.map((name) => [name, why])) };
}

/**
 * All tables as one.
 * @throws Error where a key is in two lists or tables
 */
export function join(...tables: readonly VerlKeys[]): ForeignTable {
  const seen = new Set<string>();
  const all = <T>(list: (table: VerlKeys) => Readonly<Record<string, T>> | undefined) => {
    const entries = tables.flatMap((table) => Object.entries(list(table) ?? {}));
    for (const [name] of entries) {
      if (seen.has(name)) throw new Error(`${name} is in two lists of verl's keys`);
      seen.add(name);
    }
    return Object.fromEntries(entries);
  };
  return {
    obeyed: all((table) => table.obeyed),
    translated: all((table) => table.translated),
    withoutEffect: all((table) => table.withoutEffect),
    dormant: all((table) => table.dormant),
    refused: all((table) => table.refused),
    values: Object.assign({}, ...tables.map((table) => table.values ?? {})),
  };
}
