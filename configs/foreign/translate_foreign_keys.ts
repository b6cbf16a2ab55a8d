/**
 * Translates keys of other trainers into rgx's keys, if they correspond to several keys of rgx or
 * depend on others. This happens after all files and overrides are merged. If the key of rgx is
 * written too, that one wins.
 */
import type { MapNode, Problems } from "../documents/node.ts";
import { noteAdapter } from "./adapter_switch.ts";
import { translateAxolotl } from "./axolotl/translate_axolotl.ts";
import { translateOpenR1 } from "./open_r1/translate_open_r1.ts";
import { translateOpenRlhf, translateOpenRlhfRewards } from "./openrlhf/translate_openrlhf.ts";
import { Translation } from "./translation.ts";
import { translateGenerationKwargs } from "./generation_kwargs.ts";
import {
  translateCurriculum,
  translatePrompts,
  translateReasoningGym,
} from "./translate_reasoning_gym.ts";
import { translateFp16 } from "./transformers.ts";
import { translateTrlServer } from "./trl_server.ts";
import { translateDatasets } from "./trl_datasets.ts";
import { translateTrackerSwitches } from "./tracker_switches.ts";
import { translateUnsloth } from "./unsloth.ts";
import { translateVerl, translateVerlRewards } from "./verl/translate_verl.ts";

/** The tree with rgx's keys set. The foreign keys stay in it, and nothing reads them afterwards. */
export function translateForeignKeys(tree: MapNode, problems: Problems): MapNode {
  const translation = new Translation(translateGenerationKwargs(tree, problems), problems);
  translateAxolotl(translation);
  translateUnsloth(translation);
  translateOpenRlhf(translation);
  translateCurriculum(translation);
  translatePrompts(translation);
  noteAdapter(translation);
  translateTrlServer(translation);
  translateDatasets(translation);
  translateFp16(translation);
  translateVerl(translation);
  translateOpenR1(translation);
  translateReasoningGym(translation);
  translateVerlRewards(translation);
  translateOpenRlhfRewards(translation);
  return translateTrackerSwitches(translation.tree, problems);
}
