/**
 * Translates keys of other trainers into rgx's keys, if they correspond to several keys of rgx or
 * depend on others. This happens after all files and overrides are merged. If a key of rgx and a
 * foreign key for it are both written, the one from the later source wins. Keys that rgx does not
 * obey are reported then, too, so a later file can override a key of an earlier one.
 */
import {
  type ConfigNode,
  isNull,
  type Json,
  type MapEntry,
  type MapNode,
  type Problems,
  toJson,
} from "../documents/node.ts";
import { translateAxolotl } from "./axolotl/axolotl.ts";
import { translateDatasets } from "./datasets.ts";
import { listingOf, RULES, TRANSLATED_KEYS } from "./foreign_keys.ts";
import { translateOpenR1 } from "./open_r1.ts";
import {
  translateOpenRlhfBatches,
  translateOpenRlhfData,
  translateOpenRlhfRewards,
} from "./openrlhf/openrlhf.ts";
import { translateCurriculum, translatePrompts, translateReasoningGym } from "./reasoning_gym.ts";
import { translateTrackerSwitches } from "./tracker_switches.ts";
import { checkRatios } from "./transformers.ts";
import { NO_EFFECT, NOT_YET, Translation } from "./translation.ts";
import { noteAdapter, translateTrlServer } from "./trl.ts";
import { noteDefaultsOfUnsloth } from "./unsloth.ts";
import { translateVerl, translateVerlRewards } from "./verl/translate_verl.ts";
import type { ListedKey } from "./table.ts";

/** The order matters: a later function reads keys that an earlier function sets. */
const TRANSLATIONS: readonly ((keys: Translation) => void)[] = [
  (keys) => keys.applyRules(),
  translateAxolotl,
  translateDatasets,
  noteDefaultsOfUnsloth,
  translateOpenRlhfData,
  translateOpenRlhfBatches,
  translateCurriculum,
  translatePrompts,
  noteAdapter,
  checkRatios,
  translateTrlServer,
  translateVerl,
  translateOpenR1,
  translateReasoningGym,
  translateVerlRewards,
  translateOpenRlhfRewards,
  translateTrackerSwitches,
];

/** The tree with rgx's keys set. The foreign keys stay in it, and nothing reads them afterwards. */
export function translateForeignKeys(tree: MapNode, problems: Problems): MapNode {
  const keys = new Translation(tree, problems, TRANSLATED_KEYS.keys, RULES);
  for (const translate of TRANSLATIONS) translate(keys);
  return keys.tree;
}

/** Adds a problem or a note for each key of the tree that steers another engine or is refused. */
export function reportForeignKeys(tree: MapNode, problems: Problems): void {
  const kept = [...Map.groupBy(keptIn(tree, ""), ([, { keyAt }]) => keyAt.source).values()]
    .flatMap((ofSource) =>
      ofSource.sort(([, { keyAt: a }], [, { keyAt: b }]) => a.line - b.line || a.column - b.column)
    );
  for (const [path, entry] of kept) {
    const listing = listingOf(path);
    if (listing?.kind === "no effect") reportWithoutEffect(listing, entry, problems);
    else if (listing?.kind === "refused" && !asksForNothing(path, entry.node)) {
      reportRefused(listing, entry, problems);
    }
  }
}

/** The keys of other projects that are kept in the tree. */
function keptIn(map: MapNode, prefix: string): [path: string, entry: MapEntry][] {
  return [...map.entries].flatMap(([name, entry]): [string, MapEntry][] => {
    const path = prefix + name, { node } = entry;
    if (node.foreign !== undefined) return [[path, entry]];
    return node.kind === "map" ? keptIn(node, `${path}.`) : [];
  });
}

/** Whether a map has only keys without effect. Such a map came from another key by `${…}`. */
function asksForNothing(path: string, node: ConfigNode): boolean {
  return node.kind === "map" &&
    [...node.entries.keys()].every((name) => listingOf(`${path}.${name}`)?.kind === "no effect");
}

/** Projects whose whole configurations are read: their keys share a note for each reason. */
const WHOLE = ["verl", "Axolotl", "OpenRLHF"];

/** Notes a key that steers another engine. */
function reportWithoutEffect(
  { why, project }: ListedKey,
  { keyAt, node }: MapEntry,
  problems: Problems,
): void {
  if (isNull(node)) return;
  const written = node.foreign!;
  if (!WHOLE.includes(project)) return problems.note(keyAt, written, withReason(NO_EFFECT, why));
  // A whole configuration has many switches that are off.
  if (["false", "[]", "{}", '""'].includes(JSON.stringify(toJson(node)))) return;
  problems.noteTogether(keyAt, written, `of ${project}, no effect in rgx (${why})`);
}

const withReason = (text: string, why: string) => why === "" ? text : `${text}; ${why}`;

/**
 * Reports a key that would change results: nothing at a neutral value, else a note or a refusal.
 */
function reportRefused(key: ListedKey, { keyAt, node }: MapEntry, problems: Problems): void {
  const value = toJson(node), written = node.foreign!;
  if (isNeutral(key, value)) return;
  if (key.noted === "any" || key.noted.includes(value)) {
    return problems.note(keyAt, written, withReason(NO_EFFECT, key.why));
  }
  const neutral = key.neutral.filter((item) => typeof item !== "object");
  const only = neutral.length === 0 ? "" : ` (only ${neutral.join(", ")})`;
  problems.add(keyAt, written, withReason(NOT_YET + only, key.why));
}

function isNeutral(key: ListedKey, value: Json): boolean {
  if (value === null || ['""', "[]", "{}"].includes(JSON.stringify(value))) return true;
  // A section with `enabled: false` asks for nothing, whatever else it contains.
  if (typeof value === "object" && !Array.isArray(value) && value.enabled === false) return true;
  const text = JSON.stringify(value);
  return key.neutral.some((neutral) => JSON.stringify(neutral) === text);
}
