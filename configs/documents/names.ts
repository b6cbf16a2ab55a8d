/**
 * What a written key means: one of rgx's keys under any of its spellings, a part of the way to one, a key
 * of another trainer, a key in the wrong section, or nothing known (then with the nearest name).
 */
import { nearest } from "../../core/suggest.ts";
import { FOREIGN_KEYS, type ForeignKey } from "../foreign/foreign_keys.ts";
import { type ConfigNode, isNull } from "./node.ts";
import type { KeySpec } from "../schema/key_spec.ts";
import { SECTIONS } from "../schema/schema.ts";
import { VERL_SECTIONS, WITHOUT_EFFECT } from "../foreign/without_effect.ts";

export type Meaning =
  | { kind: "key"; path: string }
  /** A section, or an inner part of a spelling; `section` when it is one of rgx's own. */
  | { kind: "prefix"; section: boolean }
  /** Of another trainer, and would change results. */
  | { kind: "foreign"; key: ForeignKey }
  /** Of another engine; `why` may be empty. */
  | { kind: "withoutEffect"; why: string }
  /** In a section of verl. */
  | { kind: "verl" }
  | { kind: "misplaced"; path: string }
  | { kind: "unknown"; suggestion: string | null };

/** Canonical dotted key → specification, for all keys. */
export const KEYS: ReadonlyMap<string, KeySpec> = new Map(
  SECTIONS.flatMap((section) =>
    Object.entries(section.keys).map(([name, spec]) => [join(section.path, name), spec] as const)
  ),
);

/** Every spelling of every key → its canonical dotted key. */
const SPELLINGS: ReadonlyMap<string, string> = collectSpellings();

/** Proper beginnings of spellings: `training`, `training.generation_config`. */
const PREFIXES: ReadonlySet<string> = new Set(
  [...SPELLINGS.keys(), ...FOREIGN_KEYS.keys(), ...WITHOUT_EFFECT.keys()].flatMap((spelling) => {
    const parts = spelling.split(".");
    return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("."));
  }),
);

/** Canonical names first: they win where two are equally near. */
const ALL_NAMES: ReadonlySet<string> = new Set([
  ...KEYS.keys(),
  ...SPELLINGS.keys(),
  ...FOREIGN_KEYS.keys(),
  ...WITHOUT_EFFECT.keys(),
]);

const OWN_SECTIONS: ReadonlySet<string> = new Set(SECTIONS.map((section) => section.path));

/** What a dotted key (as written) means. A prefix may also be a key: `model` is a map or a name. */
export function meaningOf(written: string, value?: ConfigNode): Meaning {
  const wantsPrefix = value === undefined || value.kind === "map" || isNull(value);
  const prefix = PREFIXES.has(written) || OWN_SECTIONS.has(written);
  if (prefix && wantsPrefix) return { kind: "prefix", section: OWN_SECTIONS.has(written) };
  const path = SPELLINGS.get(written);
  if (path !== undefined) return { kind: "key", path };
  const why = WITHOUT_EFFECT.get(written);
  if (why !== undefined) return { kind: "withoutEffect", why };
  const foreign = FOREIGN_KEYS.get(written);
  if (foreign !== undefined && !OWN_SECTIONS.has(written)) return { kind: "foreign", key: foreign };
  if (prefix) return { kind: "prefix", section: OWN_SECTIONS.has(written) };
  const parts = written.split(".");
  const last = parts.at(-1)!;
  const elsewhere = parts.length > 1 ? SPELLINGS.get(last) : undefined;
  if (elsewhere !== undefined && OWN_SECTIONS.has(parts[0]!)) {
    return { kind: "misplaced", path: elsewhere };
  }
  if (VERL_SECTIONS.includes(parts[0]!)) return { kind: "verl" };
  for (let n = parts.length - 1; n > 0; n--) {
    const around = FOREIGN_KEYS.get(parts.slice(0, n).join("."));
    if (around !== undefined) return { kind: "foreign", key: around };
  }
  return { kind: "unknown", suggestion: suggest(parts) };
}

/**
 * The longest beginning of a dotted key that is a key itself, and what follows it:
 * `data.task_config.min_terms`, `rewards.0.weight`. Null when no beginning is one
 * that has parts.
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

/** The nearest name among those that can stand in the same place, else among all flat ones. */
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
    // The name of a key that has no flat spelling.
    const inside = [...KEYS.keys()].filter((path) => path.endsWith(`.${last}`));
    return inside.length === 1 ? inside[0]! : nearest(last, names);
  }
  // Nothing is in this section: its own name is what is misspelt.
  const whole = names.size === 0 ? nearest(parts.join("."), KEYS.keys()) : null;
  return whole ?? nearest(last, names) ?? nearest(last, flat);
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
      // A flat seed is the training's.
      if (section.flat && name !== "enabled" && canonical !== "data.seed") add(name, canonical);
      for (const alias of spec.aliases) add(alias, canonical);
    }
  }
  return spellings;
}

function join(section: string, name: string): string {
  return section === "" ? name : `${section}.${name}`;
}
