/**
 * A file of Axolotl has a few keys with the name of another key of rgx, and a few values that TRL
 * does not have. This brings such a file into names of one meaning, before it is read.
 */
import {
  type ConfigNode,
  isNull,
  type MapEntry,
  type MapNode,
  type Problems,
} from "../../documents/node.ts";

/** Whether a document is written for Axolotl. */
export function isOfAxolotl(entries: ReadonlyMap<string, MapEntry>): boolean {
  return entries.has("base_model");
}

/** Keys that mean something else in rgx, TRL or verl. */
const OTHER_MEANING = new Set([
  "datasets",
  "chat_template",
  "batch_size",
  "quantization",
  "reward_model",
]);

/** Values of switches that are more than true or false: key → value → what it means in rgx. */
const SWITCHES: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  bf16: { auto: true, full: true },
  gradient_checkpointing: { offload: true, offload_disk: true, unsloth: true },
};

/** The document with its own names. Other documents are returned as they are. */
export function withAxolotlNames(document: MapNode, problems: Problems): MapNode {
  if (!isOfAxolotl(document.entries)) return document;
  const entries = new Map<string, MapEntry>(), own = new Map<string, MapEntry>();
  for (const [name, entry] of document.entries) {
    const { keyAt, node } = entry;
    // There, a key without a value is not written.
    if (isNull(node)) continue;
    if (OTHER_MEANING.has(name)) own.set(name, { keyAt, node: { ...node, foreign: name } });
    else entries.set(name, { ...entry, node: switchOf(name, node, problems) });
  }
  if (own.size === 0) return { ...document, entries };
  const at = document.at, section: MapNode = { kind: "map", entries: own, at };
  entries.set("axolotl", { keyAt: at, node: section });
  return { ...document, entries };
}

function switchOf(name: string, node: ConfigNode, problems: Problems): ConfigNode {
  const text = node.kind === "scalar" && typeof node.value === "string" ? node.value : "";
  const values = Object.hasOwn(SWITCHES, name) ? SWITCHES[name]! : {};
  if (!Object.hasOwn(values, text)) return node;
  problems.note(node.at, name, `${text} is ${values[text]} in rgx`);
  return { kind: "scalar", value: values[text]!, at: node.at };
}
