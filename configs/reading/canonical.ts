/**
 * Brings one document into canonical form: every key stands in its section under its canonical
 * name. Bases and the file that names them can then be merged, however their keys are spelt.
 * Reports unknown and misplaced keys, two spellings of one key, and the keys of other trainers.
 */
import {
  type ConfigNode,
  describeNode,
  emptyMap,
  formatPosition,
  isNull,
  mapChildren,
  type MapEntry,
  type MapNode,
  mapScalars,
  nodeAt,
  type Position,
  type Problems,
  toJson,
  withNode,
  without,
} from "../documents/node.ts";
import { keptAt } from "../foreign/foreign_keys.ts";
import { WANDB_PROJECT } from "../foreign/tracker_switches.ts";
import { isKeyOfAxolotl } from "./axolotl_names.ts";
import { isForeign, meaningOf } from "./key_names.ts";
import { NULLABLE_SECTIONS } from "../schema/schema.ts";

/** The document in canonical form: the maps of the sections, `rewards` and `env`. */
export function canonicalise(document: MapNode, problems: Problems): MapNode {
  const builder = new Builder(document, problems);
  builder.walk(document, "");
  return builder.result();
}

class Builder {
  #root: MapNode;
  readonly #written = new Map<string, { spelling: string; at: Position; text: string }>();

  constructor(document: MapNode, readonly problems: Problems) {
    this.#root = emptyMap(document.at);
  }

  /** The canonical document, after {@link walk}. */
  result(): MapNode {
    return this.#root;
  }

  walk(map: MapNode, prefix: string): void {
    for (const [name, entry] of map.entries) {
      if (name === "_delete_") this.#delete(entry, prefix);
      else this.#entry(prefix === "" ? name : `${prefix}.${name}`, entry);
    }
  }

  #entry(written: string, { keyAt, node }: MapEntry): void {
    const meaning = meaningOf(written, node);
    switch (meaning.kind) {
      case "key":
        return this.#set(written, meaning.path, keyAt, node);
      case "prefix":
        return this.#section(written, meaning.section, keyAt, node);
      case "notObeyed":
        return this.#put(keptAt(written), keyAt, {
          ...absolute(node, written),
          foreign: node.foreign ?? written.replace(/^axolotl\./, ""),
        });
      case "misplaced":
        return this.problems.add(keyAt, written, `wrong section: write it as ${meaning.path}`);
      case "unknown": {
        this.problems.incomplete = true;
        const suggestion = meaning.suggestion();
        const hint = suggestion !== null
          ? `, did you mean ${suggestion}?`
          : isKeyOfAxolotl(written)
          ? "; Axolotl's keys are known in the file that has base_model"
          : "";
        return this.problems.add(keyAt, written, `unknown key${hint}`);
      }
    }
  }

  #section(written: string, isSection: boolean, keyAt: Position, node: ConfigNode): void {
    if (node.kind === "map") {
      if (isSection) this.#put(written, keyAt, emptyMap(node.at));
      return this.walk(node, written);
    }
    if (isNull(node)) {
      if (NULLABLE_SECTIONS.includes(written)) this.#put(written, keyAt, node);
      return;
    }
    this.problems.add(node.at, written, `expected a map of keys, found ${describeNode(node)}`);
  }

  #set(written: string, path: string, keyAt: Position, node: ConfigNode): void {
    const earlier = this.#written.get(path);
    // One of two spellings may be null: a recipe of verl keeps the old name of a key beside the new
    // one.
    if (earlier !== undefined && isNull(node)) return;
    const text = JSON.stringify(toJson(node));
    if (earlier !== undefined && earlier.text === text && isForeign(written)) return;
    if (earlier !== undefined && earlier.text !== "null") {
      const where = formatPosition(earlier.at);
      this.problems.add(keyAt, written, `the same key as ${earlier.spelling} at ${where}`);
      return;
    }
    this.#written.set(path, { spelling: written, at: keyAt, text });
    if (written.endsWith("wandb_project") && !isNull(node)) {
      this.#put(WANDB_PROJECT, keyAt, { kind: "scalar", value: true, at: node.at });
    }
    const kept = markDeletions(absolute(node, written), written, this.problems);
    const marked = isForeign(written) ? { ...kept, foreign: node.foreign ?? written } : kept;
    this.#put(path, keyAt, marked, !written.includes("."));
  }

  /** Sets a node. A section that exists is kept, because its keys are set one by one. */
  #put(path: string, keyAt: Position, node: ConfigNode, isFlat = false): void {
    if (nodeAt(this.#root, path)?.kind === "map") return;
    this.#root = withNode(this.#root, path, node, { keyAt, ...isFlat && { isFlat } });
  }

  #delete({ keyAt, node }: MapEntry, prefix: string): void {
    const wanted = deletion(node, prefix, this.problems);
    if (!wanted) return;
    const meaning = prefix === "" ? null : meaningOf(prefix);
    if (meaning !== null && !(meaning.kind === "prefix" && meaning.section)) {
      const text =
        `is in ${prefix}, whose keys are in several sections of rgx; put it into one of these`;
      return this.problems.add(keyAt, `${prefix}._delete_`, text);
    }
    if (prefix === "") this.#root = { ...this.#root, replace: true };
    else {
      const there = nodeAt(this.#root, prefix);
      const section = there?.kind === "map" ? there : emptyMap(keyAt);
      this.#root = withNode(this.#root, prefix, { ...section, replace: true }, { keyAt });
    }
  }
}

function deletion(node: ConfigNode, prefix: string, problems: Problems): boolean {
  if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
  const key = prefix === "" ? "_delete_" : `${prefix}._delete_`;
  problems.add(node.at, key, `expected true or false, found ${describeNode(node)}`);
  return false;
}

/** Removes `_delete_` from the maps inside a value, and marks those maps as `replace`. */
function markDeletions(node: ConfigNode, key: string, problems: Problems): ConfigNode {
  if (node.kind === "scalar") return node;
  const marked = mapChildren(node, (child, key) => markDeletions(child, key, problems), key);
  const entry = node.kind === "map" ? node.entries.get("_delete_") : undefined;
  if (entry === undefined || marked.kind !== "map") return marked;
  const replace = deletion(entry.node, key, problems);
  return { ...without(marked, ["_delete_"]), ...(replace ? { replace: true } : {}) };
}

/**
 * OmegaConf's relative keys: `${.a}` is a key beside the one that holds the text, `${..a}` one of
 * the section around. They are made absolute while the key is still where it was written.
 */
const RELATIVE = /(\$\{\s*(?:oc\.select:\s*)?)(\.+)(?=[\w-])/g;

/** The node of the key `written`, with absolute keys in its texts. */
function absolute(node: ConfigNode, written: string): ConfigNode {
  return mapScalars(node, (scalar, key) => {
    if (typeof scalar.value !== "string" || !scalar.value.includes("${")) return scalar;
    const value = scalar.value.replace(RELATIVE, (_, begin: string, dots: string) => {
      const around = key.split(".").slice(0, -dots.length);
      return begin + around.map((part) => `${part}.`).join("");
    });
    return { ...scalar, value };
  }, written);
}
