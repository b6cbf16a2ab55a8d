/**
 * The keys that other trainers have in place of `report_to`: `use_wandb` and the like,
 * `no_trackio`, `wandb_project`, and verl's `trainer.logger`. They are translated into
 * `logging.report_to`.
 */
import { TRACKERS } from "../../core/tracker_names.ts";
import {
  type ConfigNode,
  emptyMap,
  isNull,
  type MapNode,
  nearness,
  nodeAt,
  type Problems,
  toJson,
  withEntry,
} from "../documents/node.ts";
import { itemsOf, NO_TRACKER } from "../types/value_types.ts";
import { table } from "./table.ts";

/** The switches themselves, checked like other keys. */
export const TRACKER_SWITCHES = table(
  "reasoning-gym",
  `
[logging]
use_wandb /use_wandb /training.use_wandb: bool? -- report_to with or without wandb
use_trackio /use_trackio /training.use_trackio: bool? -- report_to with or without trackio
use_mlflow /use_mlflow: bool? -- report_to with or without mlflow
use_tensorboard /use_tensorboard: bool? -- report_to with or without tensorboard
no_trackio /no_trackio /training.no_trackio: bool -- true: report_to without trackio
`,
);

/**
 * This entry of the tree records that the user wrote the project as `wandb_project`, which also
 * switches wandb on. The project's name itself is put into `logging.project`.
 */
export const WANDB_PROJECT = "logging.wandb_project";

/**
 * The tree with `logging.report_to` set to what all these keys ask for together. `report_to` names
 * the trackers. Where it is not written, verl's `trainer.logger` and `wandb_project` name them.
 * Then `use_…` and `no_trackio` add and remove single ones.
 */
export function translateTrackerSwitches(tree: MapNode, problems: Problems): MapNode {
  const value = reportTo(tree, problems), logging = nodeAt(tree, ["logging"]);
  if (value === undefined || (logging !== undefined && logging.kind !== "map")) return tree;
  const section: MapNode = logging ?? emptyMap(value.at);
  return withEntry(tree, "logging", withEntry(section, "report_to", value), section.at);
}

/** The list of trackers that the keys ask for, or undefined when none of them is written. */
function reportTo(tree: MapNode, problems: Problems): ConfigNode | undefined {
  const node = (path: string) => nodeAt(tree, path.split("."));
  const value = (path: string) => {
    const found = node(path);
    return found?.kind === "scalar" ? found.value : undefined;
  };
  const logger = node("trainer.logger"), named = node("logging.report_to");
  const isOverridden = named && logger && nearness(logger, named) > 0;
  const written = isOverridden ? undefined : named;
  const names = new Set<ConfigNode>(), at = tree.at;
  const scalar = (name: string, from: ConfigNode): ConfigNode => ({
    kind: "scalar",
    value: name,
    at: from.at,
  });
  if (written !== undefined) {
    for (const item of itemsOf(written)) names.add(item);
  } else {
    const project = node(WANDB_PROJECT);
    if (project !== undefined) names.add(scalar("wandb", project));
    for (const item of logger === undefined ? [] : itemsOf(logger)) {
      const name = toJson(item);
      if ([...TRACKERS, ...NO_TRACKER].some((known) => known === name)) names.add(item);
      else problems.note(item.at, "trainer.logger", `rgx writes no files for ${String(name)}`);
    }
  }
  const off = new Set<string>();
  for (const name of TRACKERS) {
    // The value is a key or a folder for OpenRLHF.
    const path = `logging.use_${name}`, ofOpenRlhf = node(`openrlhf.use_${name}`);
    if (ofOpenRlhf !== undefined && !isNull(ofOpenRlhf)) names.add(scalar(name, ofOpenRlhf));
    if (value(path) === true) names.add(scalar(name, node(path)!));
    if (value(path) === false) off.add(name);
  }
  if (value("logging.no_trackio") === true) off.add("trackio");
  for (const item of names) {
    const name = String(toJson(item)), isTyped = item.at.source.isLast;
    const switched = [["no_trackio", "--no-trackio"], [`use_${name}`, `use_${name}=false`]]
      .find(([key]) => node(`logging.${key}`)?.at.source.isLast);
    if (!off.has(name) || !isTyped || switched === undefined) continue;
    const text = `names ${name}, which ${switched[1]} switches off: give one of them`;
    problems.add(item.at, "logging.report_to", text);
  }
  if (names.size === 0 && off.size === 0) return undefined;
  const items = [...names].flatMap((item) =>
    toJson(item) === "all" && off.size > 0 ? TRACKERS.map((name) => scalar(name, item)) : [item]
  ).filter((item) => !off.has(String(toJson(item))));
  return { kind: "list", items, at: items[0]?.at ?? at };
}
