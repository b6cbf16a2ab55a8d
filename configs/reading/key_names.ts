/**
 * What a written key means: one of rgx's keys under any of its spellings, a section on the way to
 * one, a key of another trainer, a key in the wrong section, or nothing known. An unknown key gets
 * the nearest name as a suggestion.
 */
import { isNearlySame, nearest } from "../../core/suggest.ts";
import { FOREIGN_SPELLINGS, LISTED, listingOf, TRANSLATED_KEYS } from "../foreign/foreign_keys.ts";
import { type ConfigNode, isNull } from "../documents/node.ts";
import type { KeySpec } from "../types/key_spec.ts";
import { SECTIONS } from "../schema/schema.ts";
import { asOfCritic } from "../foreign/verl/verl.ts";

export type Meaning =
  | { kind: "key"; path: string }
  /** The beginning of spellings; `section` says whether it is a section of rgx. */
  | { kind: "prefix"; section: boolean }
  /** A key of another trainer that is refused, has no effect, or acts only with such a key. */
  | { kind: "notObeyed" }
  | { kind: "misplaced"; path: string }
  /** What was probably meant: all names are compared, so only an error asks for it. */
  | { kind: "unknown"; suggestion: () => string | null };

/** Canonical dotted key → its specification, for all keys. */
export const KEYS: ReadonlyMap<string, KeySpec> = new Map(
  SECTIONS.flatMap((section) =>
    Object.entries(section.keys).map(([name, spec]) => [join(section.path, name), spec] as const)
  ),
);

/** Further spellings of keys that are translated. */
const FOREIGN_ALIASES: ReadonlySet<string> = new Set(
  Object.values(TRANSLATED_KEYS.keys).flatMap(({ aliases }) => aliases),
);

/** Every spelling of every key → its canonical dotted key. */
const SPELLINGS: ReadonlyMap<string, string> = collectSpellings();

/** Beginnings of spellings, without the last part: `training`, `training.generation_config`. */
const PREFIXES: ReadonlySet<string> = new Set(
  [...SPELLINGS.keys(), ...LISTED.keys()].flatMap((spelling) => {
    const parts = spelling.split(".");
    return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("."));
  }),
);

/** All known names. Canonical names come first: they win where two are equally near. */
const ALL_NAMES: ReadonlySet<string> = new Set([
  ...KEYS.keys(),
  ...SPELLINGS.keys(),
  ...[...LISTED.keys()].filter((name) => !name.endsWith("*")),
]);

/** Section → the names of the keys and sections in it. */
const NAMES_IN: ReadonlyMap<string, ReadonlySet<string>> = collectNames();

const SECTION_PATHS: ReadonlySet<string> = new Set(SECTIONS.map((section) => section.path));

/**
 * What a dotted key means, as it is written. Some names are both a section and a key, and the kind
 * of `value` decides: `model` is a map of keys, or the name of a model.
 */
export function meaningOf(written: string, value?: ConfigNode): Meaning {
  const wantsPrefix = value === undefined || value.kind === "map" || isNull(value);
  const prefix = PREFIXES.has(written) || SECTION_PATHS.has(written);
  if (prefix && wantsPrefix) return { kind: "prefix", section: SECTION_PATHS.has(written) };
  const path = SPELLINGS.get(written);
  if (path !== undefined) return { kind: "key", path };
  if (LISTED.has(written) && !SECTION_PATHS.has(written)) return { kind: "notObeyed" };
  if (prefix) return { kind: "prefix", section: SECTION_PATHS.has(written) };
  const parts = written.split(".");
  const last = parts.at(-1)!;
  const elsewhere = parts.length > 1 ? SPELLINGS.get(last) : undefined;
  if (elsewhere !== undefined && SECTION_PATHS.has(parts[0]!)) {
    return { kind: "misplaced", path: elsewhere };
  }
  // A key inside a map that is not obeyed, and the class that verl makes of a section.
  const inside = listingOf(written);
  if (inside?.isOfSection) {
    const meant = misspelt(parts);
    if (meant !== null) return { kind: "unknown", suggestion: () => meant };
    if (value?.kind === "map") return { kind: "prefix", section: false };
  }
  if (inside !== undefined || (last === "_target_" && parts.length > 1)) {
    return { kind: "notObeyed" };
  }
  return { kind: "unknown", suggestion: () => suggest(parts) };
}

/**
 * What was meant in a section whose keys are not all listed: a name there that is nearly the
 * written one, or the whole key where a section is misspelt. Null: the key is another one.
 */
function misspelt(parts: readonly string[]): string | null {
  for (const [i, part] of parts.entries()) {
    const names = NAMES_IN.get(parts.slice(0, i).join("."));
    if (names === undefined) return null;
    if (names.has(part)) continue;
    const near = [...names].filter((name) => isNearlySame(part, name));
    const meant = nearest(part, near) ?? near[0];
    if (meant === undefined) return null;
    return i === parts.length - 1 ? meant : parts.with(i, meant).join(".");
  }
  return null;
}

/** Whether a spelling belongs to another project. */
export function isForeign(written: string): boolean {
  return FOREIGN_SPELLINGS.has(written) || Object.hasOwn(TRANSLATED_KEYS.keys, written) ||
    FOREIGN_ALIASES.has(written);
}

/** Whether rgx never reads the value of a key. Such a value may be anything. */
export function isUnread(path: string): boolean {
  const listing = listingOf(path);
  return listing !== undefined && listing.kind !== "refused";
}

/**
 * The longest beginning of a dotted key that is itself a key, and the rest: `data.task_config` of
 * `data.task_config.min_terms`, and `rewards` of `rewards.0.weight`. Null when there is none, or
 * when the key's value has no parts.
 */
export function keyBeginning(written: string): { path: string; rest: string[] } | null {
  const parts = written.split(".");
  for (let n = parts.length; n > 0; n--) {
    const path = SPELLINGS.get(parts.slice(0, n).join("."));
    if (path === undefined) continue;
    const rest = parts.slice(n);
    if (rest.length === 0 || /^a (list|map)/.test(KEYS.get(path)!.type.expected)) {
      return { path, rest };
    }
  }
  return null;
}

/** The most similar name that can be written in this section, else of all flat names. */
function suggest(parts: readonly string[]): string | null {
  const last = parts.at(-1)!;
  const section = parts.slice(0, -1).join(".");
  const names = new Set<string>();
  const flat = new Set<string>();
  for (const spelling of ALL_NAMES) {
    const at = spelling.split(".");
    if (at.length === 1) flat.add(spelling);
    if (section === "") names.add(at[0]!);
    else if (spelling.startsWith(section + ".")) names.add(at[parts.length - 1]!);
  }
  if (section === "") {
    // The user wrote the last part of a key that needs its section.
    const inside = [...KEYS.keys()].filter((path) => path.endsWith(`.${last}`));
    return inside.length === 1 ? inside[0]! : nearest(last, names);
  }
  // No known name begins with this section, so the section itself is misspelt.
  const whole = names.size === 0 ? nearest(parts.join("."), KEYS.keys()) : null;
  return whole ?? nearest(last, names) ?? nearest(last, flat);
}

function collectNames(): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const name of [...ALL_NAMES, ...[...ALL_NAMES].map(asOfCritic)]) {
    const parts = name.split(".");
    for (const [i, part] of parts.entries()) {
      const section = parts.slice(0, i).join("."), others = names.get(section);
      if (others === undefined) names.set(section, new Set([part]));
      else others.add(part);
    }
  }
  return names;
}

function collectSpellings(): Map<string, string> {
  const spellings = new Map<string, string>();
  const add = (spelling: string, canonical: string) => {
    const taken = spellings.get(spelling);
    if (taken !== undefined && taken !== canonical) {
      throw new Error(`${spelling} spells both ${taken} and ${canonical}`);
    }
    spellings.set(spelling, canonical);
  };
  for (const section of SECTIONS) {
    for (const [name, spec] of Object.entries(section.keys)) {
      const canonical = join(section.path, name);
      add(canonical, canonical);
      // A flat `seed` means training.seed.
      if (section.flat && name !== "enabled" && canonical !== "data.seed") add(name, canonical);
      for (const alias of spec.aliases) add(alias, canonical);
    }
  }
  for (const [spelling, canonical] of FOREIGN_SPELLINGS) {
    if (!KEYS.has(canonical)) {
      throw new Error(`${spelling} stands for an unknown key: ${canonical}`);
    }
    add(spelling, canonical);
  }
  return spellings;
}

function join(section: string, name: string): string {
  return section === "" ? name : `${section}.${name}`;
}
