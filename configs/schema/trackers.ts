/**
 * `report_to` and the switches that other trainers have in its place. Written in any of these ways, the result
 * is a list of trackers: `report_to` says which; without it those of verl's `trainer.logger` and the one
 * of `wandb_project`; `use_…` and `no_trackio` add and remove single ones.
 */
import { type TrackerName, TRACKERS } from "../../core/tracker_names.ts";
import { nearest } from "../../core/suggest.ts";
import {
  COMMAND_LINE,
  type ConfigNode,
  describeNode,
  isNull,
  nodeAt,
  toJson,
} from "../documents/node.ts";
import type { MapNode, Problems } from "../documents/node.ts";
import type { Complain, ValueType } from "./value_types.ts";

/** Names that ask for nothing beyond metrics.jsonl. */
const NOTHING: readonly string[] = ["none", "jsonl", "console", "file"];

/** Where the tree keeps that the project was written as `wandb_project`. */
export const WANDB_PROJECT = "logging.wandb_project";

/** One name or a list: trackers, `all`, `none`, `jsonl`. */
export function trackers(): ValueType<TrackerName[]> {
  return {
    expected: `one or a list of none, ${TRACKERS.join(", ")}, jsonl, all`,
    read(node, complain) {
      const found = new Set<TrackerName>();
      let good = true;
      itemsOf(node).forEach((item, i) => {
        const names = namesOf(item, (at, text) => {
          good = false;
          complain(at, text, node.kind === "list" ? `.${i}` : "");
        });
        for (const name of names) found.add(name);
      });
      return good ? TRACKERS.filter((name) => found.has(name)) : undefined;
    },
  };
}

/** A list's items, a value by itself, nothing of null. */
function itemsOf(node: ConfigNode): readonly ConfigNode[] {
  if (node.kind === "list") return node.items;
  return isNull(node) ? [] : [node];
}

function namesOf(item: ConfigNode, complain: Complain): readonly TrackerName[] {
  const value = toJson(item);
  if (value === "all") return TRACKERS;
  if (typeof value === "string" && NOTHING.includes(value)) return [];
  const known = TRACKERS.find((name) => name === value);
  if (known !== undefined) return [known];
  const near = typeof value === "string" ? nearest(value, [...TRACKERS, ...NOTHING, "all"]) : null;
  complain(
    item.at,
    `expected ${trackers().expected}, found ${describeNode(item)}` +
      (near === null ? "" : `, did you mean ${near}?`),
  );
  return [];
}

/** What the tree's keys say together, or undefined when they say nothing. */
export function reportTo(tree: MapNode, problems: Problems): ConfigNode | undefined {
  const node = (path: string) => nodeAt(tree, path.split("."));
  const value = (path: string) => {
    const found = node(path);
    return found?.kind === "scalar" ? found.value : undefined;
  };
  const written = node("logging.report_to"), logger = node("trainer.logger");
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
      if ([...TRACKERS, ...NOTHING].some((known) => known === name)) names.add(item);
      else problems.note(item.at, "trainer.logger", `rgx writes no files for ${String(name)}`);
    }
  }
  const off = new Set<string>();
  for (const name of ["wandb", "trackio"]) {
    const path = `logging.use_${name}`;
    if (value(path) === true) names.add(scalar(name, node(path)!));
    if (value(path) === false) off.add(name);
  }
  if (value("logging.no_trackio") === true) off.add("trackio");
  for (const item of names) {
    const name = String(toJson(item)), isTyped = item.at.source === COMMAND_LINE;
    const switched = [["no_trackio", "--no-trackio"], [`use_${name}`, `use_${name}=false`]]
      .find(([key]) => node(`logging.${key}`)?.at.source === COMMAND_LINE);
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
