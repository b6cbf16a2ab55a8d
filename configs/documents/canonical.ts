/**
 * One document to its canonical form: every key under its canonical name in its section, so that bases
 * and the file that names them can be merged whatever their spelling. Reports unknown and misplaced keys,
 * two spellings of one key, and the keys of other trainers.
 */
import {
  type ConfigNode,
  describeNode,
  emptyMap,
  formatPosition,
  isNull,
  type Json,
  type MapEntry,
  type MapNode,
  type Position,
  type Problems,
  toJson,
} from "./node.ts";
import type { ForeignKey } from "../foreign/foreign_keys.ts";
import { meaningOf } from "./names.ts";
import { NULLABLE_SECTIONS } from "../schema/schema.ts";
import { WANDB_PROJECT } from "../schema/trackers.ts";
import { VALUE_RULES } from "../schema/value_rules.ts";

/** The document under canonical names: maps of the sections, `rewards`, `env`. */
export function canonicalise(document: MapNode, problems: Problems): MapNode {
  const builder = new Builder(document, problems);
  builder.walk(document, "");
  builder.noteIgnored();
  return builder.result();
}

class Builder {
  readonly #root: Branch;
  readonly #written = new Map<string, { spelling: string; at: Position; isNull: boolean }>();

  /** Keys of verl that are ignored, and where the first of them stands. */
  readonly #ignored: string[] = [];
  #ignoredAt: Position | null = null;

  constructor(document: MapNode, readonly problems: Problems) {
    this.#root = branch(document.at);
  }

  /** One note for all keys of verl that say nothing to rgx. */
  noteIgnored(): void {
    if (this.#ignoredAt === null) return;
    const [first, ...more] = this.#ignored;
    const others = more.length === 0 ? "" : `; likewise ${more.join(", ")}`;
    this.problems.note(this.#ignoredAt, first!, `a key of verl, has no effect in rgx${others}`);
  }

  result(): MapNode {
    return freeze(this.#root);
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
      case "withoutEffect": {
        if (isNull(node)) return;
        const why = meaning.why === "" ? "" : `; ${meaning.why}`;
        return this.problems.note(keyAt, written, `accepted, has no effect in rgx${why}`);
      }
      case "verl":
        this.#ignored.push(written);
        this.#ignoredAt ??= keyAt;
        return;
      case "foreign":
        return this.#foreign(written, meaning.key, keyAt, node);
      case "misplaced":
        return this.problems.add(keyAt, written, `wrong section: write it as ${meaning.path}`);
      case "unknown": {
        this.problems.incomplete = true;
        const { suggestion } = meaning;
        const hint = suggestion === null ? "" : `, did you mean ${suggestion}?`;
        return this.problems.add(keyAt, written, `unknown key${hint}`);
      }
    }
  }

  #section(written: string, own: boolean, keyAt: Position, node: ConfigNode): void {
    if (node.kind === "map") {
      if (own) open(this.#root, written.split("."), keyAt, node.at);
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
    // Of two spellings one may be null: a recipe of verl keeps the old name of a key beside the new one.
    if (earlier !== undefined && isNull(node)) return;
    if (earlier !== undefined && !earlier.isNull) {
      const where = formatPosition(earlier.at);
      this.problems.add(keyAt, written, `the same key as ${earlier.spelling} at ${where}`);
      return;
    }
    this.#written.set(path, { spelling: written, at: keyAt, isNull: isNull(node) });
    const value = VALUE_RULES.get(written)?.(node) ?? node;
    if (typeof value === "string") return this.problems.add(node.at, written, value);
    if (written.endsWith("wandb_project") && !isNull(node)) {
      this.#put(WANDB_PROJECT, keyAt, { kind: "scalar", value: true, at: node.at });
    }
    this.#put(path, keyAt, markDeletions(value, written, this.problems));
  }

  #put(path: string, keyAt: Position, node: ConfigNode): void {
    const parts = path.split(".");
    const parent = open(this.#root, parts.slice(0, -1), keyAt, keyAt);
    const name = parts.at(-1)!;
    const there = parent.children.get(name);
    if (there === undefined || !("children" in there.value)) {
      parent.children.set(name, { keyAt, value: node });
    }
  }

  #foreign(written: string, key: ForeignKey, keyAt: Position, node: ConfigNode): void {
    const value = toJson(node);
    if (isNeutral(key, value)) return;
    const advice = key.advice === "" ? "" : `; ${key.advice}`;
    if (key.noted?.(value)) {
      return this.problems.note(keyAt, written, `accepted, has no effect in rgx${advice}`);
    }
    const neutral = key.neutral.filter((item) => typeof item !== "object");
    const only = neutral.length === 0 ? "" : ` (only ${neutral.map(showValue).join(", ")})`;
    this.problems.add(keyAt, written, `not supported yet by this version${only}${advice}`);
  }

  #delete({ keyAt, node }: MapEntry, prefix: string): void {
    const wanted = deletion(node, prefix, this.problems);
    if (!wanted) return;
    const meaning = prefix === "" ? null : meaningOf(prefix);
    if (meaning !== null && !(meaning.kind === "prefix" && meaning.section)) {
      const text = `stands in ${prefix}, which is spread over other sections; put it into one`;
      return this.problems.add(keyAt, `${prefix}._delete_`, text);
    }
    const parts = prefix === "" ? [] : prefix.split(".");
    open(this.#root, parts, keyAt, keyAt).replace = true;
  }
}

function isNeutral(key: ForeignKey, value: Json): boolean {
  if (value === null) return true;
  // A section that is switched off asks for nothing, whatever else stands in it.
  if (typeof value === "object" && !Array.isArray(value) && value.enabled === false) return true;
  const text = JSON.stringify(value);
  return key.neutral.some((neutral) => JSON.stringify(neutral) === text);
}

function showValue(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A map under construction. */
interface Branch {
  at: Position;
  replace: boolean;
  children: Map<string, { keyAt: Position; value: Branch | ConfigNode }>;
}

function branch(at: Position): Branch {
  return { at, replace: false, children: new Map() };
}

/** The branch at a path, made where it is missing. */
function open(root: Branch, parts: readonly string[], keyAt: Position, at: Position): Branch {
  let current = root;
  for (const part of parts) {
    const child = current.children.get(part);
    if (child !== undefined && "children" in child.value) current = child.value;
    else {
      const made = branch(at);
      current.children.set(part, { keyAt, value: made });
      current = made;
    }
  }
  return current;
}

function freeze(from: Branch): MapNode {
  const entries = new Map<string, MapEntry>();
  for (const [name, { keyAt, value }] of from.children) {
    entries.set(name, { keyAt, node: "children" in value ? freeze(value) : value });
  }
  return { ...emptyMap(from.at), entries, ...(from.replace ? { replace: true } : {}) };
}

function deletion(node: ConfigNode, prefix: string, problems: Problems): boolean {
  if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
  const key = prefix === "" ? "_delete_" : `${prefix}._delete_`;
  problems.add(node.at, key, `expected true or false, found ${describeNode(node)}`);
  return false;
}

/** Takes `_delete_` out of the maps inside a value and marks them. */
function markDeletions(node: ConfigNode, key: string, problems: Problems): ConfigNode {
  if (node.kind === "scalar") return node;
  if (node.kind === "list") {
    return {
      ...node,
      items: node.items.map((item, i) => markDeletions(item, `${key}.${i}`, problems)),
    };
  }
  const entries = new Map<string, MapEntry>();
  let replace = false;
  for (const [name, entry] of node.entries) {
    if (name === "_delete_") replace = deletion(entry.node, key, problems);
    else {entries.set(name, {
        ...entry,
        node: markDeletions(entry.node, `${key}.${name}`, problems),
      });}
  }
  return { ...node, entries, ...(replace ? { replace: true } : {}) };
}
