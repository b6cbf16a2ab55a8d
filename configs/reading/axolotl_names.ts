/**
 * Files of Axolotl have keys that mean something else in rgx, many keys that no other project has,
 * and a few values that TRL does not have. Before such a file is read, its keys are renamed so that
 * each name has one meaning. Keys that rgx does not obey go into a section `axolotl`.
 */
import {
  type ConfigNode,
  describeNode,
  isNull,
  type MapEntry,
  type MapNode,
  type Position,
  type Problems,
} from "../documents/node.ts";

import { didYouMean } from "../../core/suggest.ts";
import { AXOLOTL, AXOLOTL_AS_WRITTEN } from "../foreign/axolotl/axolotl.ts";
import { meaningOf } from "./key_names.ts";

const { translated, obeyed, listed } = AXOLOTL_AS_WRITTEN;
/** The names that files of Axolotl have, without those that are TRL's too. */
const NAMES: readonly string[] = [
  ...Object.keys(obeyed),
  ...Object.keys(listed).filter((name) => !name.endsWith("*")),
  ...Object.entries(translated).flatMap(([path, { aliases }]) =>
    aliases.length > 0 ? aliases : [path.replace("axolotl.", "")]
  ),
];

/** Whether a key is one that only the section `axolotl` has. */
export function isKeyOfAxolotl(name: string): boolean {
  const path = `axolotl.${name}`;
  return [AXOLOTL.listed, translated].some((list) => Object.hasOwn(list, path)) ||
    meaningOf(name).kind === "unknown" && ["notObeyed", "prefix"].includes(meaningOf(path).kind);
}

/** The key by which its files are known. */
const MODEL = "base_model";

/** Whether a document is written for Axolotl. */
export function isOfAxolotl(entries: ReadonlyMap<string, MapEntry>): boolean {
  return entries.has(MODEL);
}

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
    // In Axolotl, a key without a value counts as not written.
    if (isNull(node)) continue;
    const isAlone = isKeyOfAxolotl(name);
    if (isAlone) own.set(name, { keyAt, node: { ...node, foreign: name } });
    // The model is put into the section, too, where the command line can replace it.
    if (isAlone && name !== MODEL) continue;
    if (meaningOf(name, node).kind === "unknown") {
      reportUnknown(name, keyAt, problems);
      continue;
    }
    const switched = switchOf(name, node, problems);
    if (switched !== null) entries.set(name, { ...entry, node: switched });
  }
  if (own.size === 0) return { ...document, entries };
  const at = document.at, section: MapNode = { kind: "map", entries: own, at };
  entries.set("axolotl", { keyAt: at, node: section });
  return { ...document, entries };
}

function reportUnknown(name: string, at: Position, problems: Problems): void {
  problems.incomplete = true;
  problems.add(at, name, `unknown key${didYouMean(name, NAMES)}`);
}

/** The value of a switch as true or false; null if it has no such value, which is reported. */
function switchOf(name: string, node: ConfigNode, problems: Problems): ConfigNode | null {
  if (!Object.hasOwn(SWITCHES, name)) return node;
  const value = node.kind === "scalar" ? node.value : undefined, values = SWITCHES[name]!;
  const isFilledInLater = typeof value === "string" && value.includes("${");
  if (typeof value === "boolean" || isFilledInLater) return node;
  if (typeof value !== "string" || !Object.hasOwn(values, value)) {
    const expected = ["true", "false", ...Object.keys(values)].join(", ");
    const text = `expected ${expected.replace(/, (?=[^,]*$)/, " or ")}, found`;
    problems.add(node.at, name, `${text} ${describeNode(node)}`);
    return null;
  }
  problems.note(node.at, name, `${value} is ${values[value]} in rgx`);
  return { kind: "scalar", value: values[value]!, at: node.at };
}
