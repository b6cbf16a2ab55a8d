/**
 * Translates keys of other trainers into rgx's keys, if they correspond to several keys of rgx or
 * depend on others. This happens after all files and overrides are merged. If a key of rgx and a
 * foreign key for it are both written, the one from the later source wins.
 */
import type { MapNode, Problems } from "../documents/node.ts";
import { translateAxolotl, translateAxolotlServer } from "./axolotl/axolotl.ts";
import { translateDatasets } from "./datasets.ts";
import { RULES, TRANSLATED_KEYS } from "./foreign_keys.ts";
import { translateOpenR1 } from "./open_r1.ts";
import { translateOpenRlhf, translateOpenRlhfRewards } from "./openrlhf/openrlhf.ts";
import { translateCurriculum, translatePrompts, translateReasoningGym } from "./reasoning_gym.ts";
import { translateTrackerSwitches } from "./tracker_switches.ts";
import { translateFp16 } from "./transformers.ts";
import { Translation } from "./translation.ts";
import { noteAdapter, translateTrlServer } from "./trl.ts";
import { noteDefaultsOfUnsloth } from "./unsloth.ts";
import { translateVerl, translateVerlRewards } from "./verl/translate_verl.ts";

/** The order matters: a later function reads keys that an earlier function sets. */
const TRANSLATIONS: readonly ((translation: Translation) => void)[] = [
  translateAxolotlServer,
  (translation) => translation.applyRules(),
  translateAxolotl,
  translateDatasets,
  noteDefaultsOfUnsloth,
  translateOpenRlhf,
  translateCurriculum,
  translatePrompts,
  noteAdapter,
  translateTrlServer,
  translateFp16,
  translateVerl,
  translateOpenR1,
  translateReasoningGym,
  translateVerlRewards,
  translateOpenRlhfRewards,
];

/** The tree with rgx's keys set. The foreign keys stay in it, and nothing reads them afterwards. */
export function translateForeignKeys(tree: MapNode, problems: Problems): MapNode {
  const translation = new Translation(tree, problems, TRANSLATED_KEYS.keys, RULES);
  for (const translate of TRANSLATIONS) translate(translation);
  return translateTrackerSwitches(translation.tree, problems);
}
