/** The type of `report_to`: one tracker or a list of trackers, by name. */
import { didYouMean } from "../../core/suggest.ts";
import { type TrackerName, TRACKERS } from "../../core/tracker_names.ts";
import { type ConfigNode, describeNode, isNull, toJson } from "../documents/node.ts";
import type { Complain, ValueType } from "./value_types.ts";

/** Names that add no tracker, because metrics.jsonl and the terminal are always written. */
export const NO_TRACKER: readonly string[] = ["none", "jsonl", "console", "file"];

/** One name or a list: trackers, `all`, `none`, `jsonl`. */
export function trackers(): ValueType<TrackerName[]> {
  return {
    expected: `one or a list of none, ${TRACKERS.join(", ")}, jsonl, all`,
    ts: "TrackerName[]",
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

/**
 * The items of a list; null counts as an empty list. A text is one name or, as on TRL's command
 * line, several names with commas.
 */
export function itemsOf(node: ConfigNode): readonly ConfigNode[] {
  if (node.kind === "list") return node.items;
  if (isNull(node)) return [];
  if (node.kind !== "scalar" || typeof node.value !== "string") return [node];
  return node.value.split(",").map((name) => ({ kind: "scalar", value: name.trim(), at: node.at }));
}

function namesOf(item: ConfigNode, complain: Complain): readonly TrackerName[] {
  const value = toJson(item);
  if (value === "all") return TRACKERS;
  if (typeof value === "string" && NO_TRACKER.includes(value)) return [];
  const known = TRACKERS.find((name) => name === value);
  if (known !== undefined) return [known];
  const near = typeof value === "string"
    ? didYouMean(value, [...TRACKERS, ...NO_TRACKER, "all"])
    : "";
  complain(
    item.at,
    `expected ${trackers().expected}, found ${describeNode(item)}${near}`,
  );
  return [];
}
