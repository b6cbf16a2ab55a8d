/**
 * The keys that other trainers have in place of `report_to`: `use_wandb` and the like,
 * `no_trackio`, `wandb_project`, and verl's `trainer.logger`. They are translated into
 * `logging.report_to`.
 */
import { TRACKERS } from "../../core/tracker_names.ts";
import { type ConfigNode, fromJson, type Json, nearness, toJson } from "../documents/node.ts";
import { withNode } from "../documents/node.ts";
import { itemsOf, NO_TRACKER } from "../types/value_types.ts";
import { table } from "./table.ts";
import type { Translation } from "./translation.ts";

/** The switches themselves, checked like other keys. */
export const TRACKER_SWITCHES = table(
  "reasoning-gym",
  `
[logging]
${
    TRACKERS.map((name) =>
      `use_${name} /use_${name} /training.use_${name}: bool? -- report_to with or without ${name}`
    ).join("\n")
  }
no_trackio /no_trackio /training.no_trackio: bool -- true: report_to without trackio
`,
);

/**
 * This entry of the tree records that the user wrote the project as `wandb_project`, which also
 * switches wandb on. The project's name itself is put into `logging.project`.
 */
export const WANDB_PROJECT = "logging.wandb_project";

/**
 * Sets `logging.report_to` to what all these keys ask for together. `report_to` names the trackers.
 * Where it is not written, verl's `trainer.logger` and `wandb_project` name them. Then `use_…` and
 * `no_trackio` add and remove single ones.
 */
export function translateTrackerSwitches(keys: Translation): void {
  const names = [...namedIn(keys), ...TRACKERS.flatMap((name) => switchedOn(keys, name))];
  const off: Json[] = TRACKERS.filter((name) => isFalse(keys, `logging.use_${name}`));
  if (keys.isTrue("logging.no_trackio")) off.push("trackio");
  for (const item of names) {
    const name = toJson(item);
    const switched = [["no_trackio", "--no-trackio"], [`use_${name}`, `use_${name}=false`]]
      .find(([key]) => keys.node(`logging.${key}`)?.at.source.isLast);
    if (!off.includes(name) || !item.at.source.isLast || switched === undefined) continue;
    const text = `names ${name}, which ${switched[1]} switches off: give one of them`;
    keys.problems.add(item.at, "logging.report_to", text);
  }
  const logging = keys.node("logging");
  if (names.length + off.length === 0 || (logging && logging.kind !== "map")) return;
  const items = names.flatMap((item) =>
    toJson(item) === "all" && off.length > 0
      ? TRACKERS.map((name) => fromJson(name, item.at))
      : item
  ).filter((item) => !off.includes(toJson(item)));
  const list: ConfigNode = { kind: "list", items, at: (items[0] ?? keys.tree).at };
  keys.tree = withNode(keys.tree, "logging.report_to", list);
}

/** The trackers that `report_to` names, or the keys in place of it. */
function namedIn(keys: Translation): readonly ConfigNode[] {
  const logger = keys.node("trainer.logger"), named = keys.node("logging.report_to");
  if (named && !(logger && nearness(logger, named) > 0)) return itemsOf(named);
  const project = keys.node(WANDB_PROJECT), known: readonly Json[] = [...TRACKERS, ...NO_TRACKER];
  const names = project === undefined ? [] : [fromJson("wandb", project.at)];
  for (const item of logger === undefined ? [] : itemsOf(logger)) {
    const name = toJson(item);
    if (known.includes(name)) names.push(item);
    else keys.problems.note(item.at, "trainer.logger", `rgx writes no files for ${String(name)}`);
  }
  return names;
}

function switchedOn(keys: Translation, name: string): ConfigNode[] {
  // The value is a key or a folder for OpenRLHF.
  const path = `logging.use_${name}`, ofOpenRlhf = keys.given(`openrlhf.use_${name}`);
  return [ofOpenRlhf, keys.isTrue(path) ? keys.node(path) : undefined]
    .flatMap((node) => node === undefined ? [] : fromJson(name, node.at));
}

function isFalse(keys: Translation, path: string): boolean {
  const node = keys.node(path);
  return node !== undefined && toJson(node) === false;
}
