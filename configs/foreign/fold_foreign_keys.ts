/**
 * Turns keys of other trainers that are no single key of rgx into rgx's keys. This happens after
 * all files and overrides are merged. If the key of rgx is written too, that one wins.
 */
import type { MapNode, Problems } from "../documents/node.ts";
import { Folding } from "./folding.ts";
import { foldGenerationKwargs } from "./generation_kwargs.ts";
import { foldReasoningGym } from "./reasoning_gym_folding.ts";
import { foldTrackerSwitches } from "./tracker_switches.ts";
import { foldVerl } from "./verl_folding.ts";

/** The tree with rgx's keys set. The foreign keys stay in it, and nothing reads them afterwards. */
export function foldForeignKeys(tree: MapNode, problems: Problems): MapNode {
  const folding = new Folding(foldGenerationKwargs(tree, problems), problems);
  foldVerl(folding);
  foldReasoningGym(folding);
  return foldTrackerSwitches(folding.tree, problems);
}
