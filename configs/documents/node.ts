/**
 * A configuration as a tree, in which every key and value knows where it was written; and the list
 * of problems that are found in it. Trees are immutable: merging and interpolation make new ones.
 */
import { RgxError, UsageError } from "../../core/errors.ts";

/** Where a value comes from: a file, the command line, an environment variable, or the defaults. */
export interface Source {
  /** The name for the user: `a/b.yaml`, `rgx:base.yaml`, `command line`, `RGX_SEED`, `default`. */
  readonly name: string;
  /** Folder of a file on disk; null for everything else. */
  readonly directory: string | null;
  /** Whether it comes after all files: what the user typed, or what a program overrides. */
  readonly isLast?: true;
  /** The rank of a file. It is higher than the rank of every file that this file inherits from. */
  rank?: number;
}

/** Above 0: `a` overrides `b`. Below 0: `b` overrides `a`. 0: both stand in one source. */
export function nearness({ at: { source: a } }: ConfigNode, { at: { source: b } }: ConfigNode) {
  if (a === b) return 0;
  const order = (source: Source) =>
    source === DEFAULTS ? -1 : source.isLast ? 2e9 : source.rank ?? 1e9;
  return order(a) - order(b);
}

/** Line and column are counted from 1. Line 0 means that the source has no lines. */
export interface Position {
  readonly source: Source;
  readonly line: number;
  readonly column: number;
}

export type Scalar = null | boolean | number | string;
export type Json = Scalar | Json[] | { [key: string]: Json };

interface Written {
  readonly at: Position;
  /** The key that the user wrote, if it was a key of another project. */
  readonly foreign?: string;
}

export interface ScalarNode extends Written {
  readonly kind: "scalar";
  readonly value: Scalar;
  /** The text as it was typed, for values of the command line and of environment variables. */
  readonly raw?: string;
  /** The text before interpolation, if a secret environment variable is part of the value. */
  readonly secret?: string;
}
export interface ListNode extends Written {
  readonly kind: "list";
  readonly items: readonly ConfigNode[];
}
export interface MapEntry {
  readonly keyAt: Position;
  readonly node: ConfigNode;
  /** In a canonical tree: the key was written without a section (`max_steps: 4`). */
  readonly isFlat?: true;
}
export interface MapNode extends Written {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, MapEntry>;
  /** `_delete_: true`: an inherited map of this name is dropped instead of merged. */
  readonly replace?: boolean;
}
export type ConfigNode = ScalarNode | ListNode | MapNode;

/**
 * The node of a text; null for any other. A value from a command line counts as text, even if it
 * looks like a number, such as the revision `1.0`. The type `text()` does the same.
 */
export function asText(node: ConfigNode | undefined): (ScalarNode & { value: string }) | null {
  if (node?.kind !== "scalar" || node.value === null) return null;
  const { value, raw } = node, text = typeof value === "string" ? value : raw ?? "";
  return text === "" ? null : { ...node, value: text };
}

export function isNull(node: ConfigNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

export const COMMAND_LINE: Source = { name: "command line", directory: null, isLast: true };
export const OVERRIDES: Source = { name: "overrides", directory: null, isLast: true };
export const DEFAULTS: Source = { name: "default", directory: null };

export function nowhere(source: Source): Position {
  return { source, line: 0, column: 0 };
}

export function formatPosition(at: Position): string {
  return at.line === 0 ? at.source.name : `${at.source.name}:${at.line}:${at.column}`;
}

/** A value in words, for messages: `text "fast"`, `3`, `a list`. */
export function describeNode(node: ConfigNode): string {
  if (node.kind !== "scalar") return `a ${node.kind}`;
  if (typeof node.value !== "string") return String(node.value);
  const shown = node.value.length > 60 ? node.value.slice(0, 59) + "…" : node.value;
  return `text ${JSON.stringify(shown)}`;
}

export function emptyMap(at: Position): MapNode {
  return { kind: "map", entries: new Map(), at };
}

/** The node at a path of map keys and list indices, dotted or in parts, or undefined. */
export function nodeAt(
  node: ConfigNode | undefined,
  path: string | readonly string[],
): ConfigNode | undefined {
  for (const part of typeof path === "string" ? path.split(".") : path) {
    if (node === undefined || node.kind === "scalar") return undefined;
    if (node.kind === "map") node = node.entries.get(part)?.node;
    else node = /^\d+$/.test(part) ? node.items[Number(part)] : undefined;
  }
  return node;
}

/** A copy of `map` with `name` set to `node`. */
export function withEntry(map: MapNode, name: string, node: ConfigNode, keyAt = node.at): MapNode {
  return { ...map, entries: new Map(map.entries).set(name, { keyAt, node }) };
}

/** The node at a dotted path if it holds a text; null for any other. */
export function textAt(tree: ConfigNode, path: string): (ScalarNode & { value: string }) | null {
  const node = nodeAt(tree, path);
  if (node?.kind !== "scalar" || typeof node.value !== "string") return null;
  return { ...node, value: node.value };
}

/**
 * A copy of `tree` with the node at a dotted path replaced or added.
 * @param entry the key's entry; a section that is made for it gets the entry's position
 */
export function withNode(
  tree: MapNode,
  path: string,
  node: ConfigNode,
  entry: Partial<Omit<MapEntry, "node">> = {},
): MapNode {
  const [, name, rest] = /^([^.]*)(?:\.(.*))?$/s.exec(path)!;
  const there = tree.entries.get(name!), { keyAt = node.at } = entry;
  const section = there?.node.kind === "map" ? there.node : emptyMap(keyAt);
  const made = rest === undefined
    ? { keyAt, ...entry, node }
    : { keyAt, ...there, node: withNode(section, rest, node, entry) };
  return { ...tree, entries: new Map(tree.entries).set(name!, made) };
}

/** A copy of a tree without the node at a path, which is there. */
export function without<N extends ConfigNode>(node: N, path: readonly string[]): N;
export function without(node: ConfigNode, path: readonly string[]): ConfigNode {
  const [name, ...deeper] = path as [string, ...string[]];
  if (node.kind === "map") {
    const entries = new Map(node.entries);
    const entry = entries.get(name)!;
    if (deeper.length === 0) entries.delete(name);
    else entries.set(name, { ...entry, node: without(entry.node, deeper) });
    return { ...node, entries };
  }
  if (node.kind === "scalar") return node;
  const index = Number(name);
  if (deeper.length === 0) return { ...node, items: node.items.toSpliced(index, 1) };
  return { ...node, items: node.items.with(index, without(node.items[index]!, deeper)) };
}

/** A copy of a tree with each scalar changed. @param key the dotted path of `node` */
export function mapScalars(
  node: ConfigNode,
  change: (scalar: ScalarNode, key: string) => ConfigNode,
  key = "",
): ConfigNode {
  if (node.kind === "scalar") return change(node, key);
  return mapChildren(node, (child, key) => mapScalars(child, change, key), key);
}

/** A list or map with each of its nodes replaced. @param key its own dotted key */
export function mapChildren(
  node: ListNode | MapNode,
  change: (child: ConfigNode, key: string) => ConfigNode,
  key = "",
): ConfigNode {
  const below = (name: string | number) => key === "" ? `${name}` : `${key}.${name}`;
  if (node.kind === "list") {
    return { ...node, items: node.items.map((item, i) => change(item, below(i))) };
  }
  const entries = [...node.entries].map(([name, entry]) =>
    [name, { ...entry, node: change(entry.node, below(name)) }] as const
  );
  return { ...node, entries: new Map(entries) };
}

/** The plain value of a tree. Keys named `__proto__` stay ordinary keys. */
export function toJson(node: ConfigNode): Json {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(toJson);
  return Object.fromEntries([...node.entries].map(([name, entry]) => [name, toJson(entry.node)]));
}

/** A tree from a plain value. All of its nodes get the same position. */
export function fromJson(value: Json, at: Position): ConfigNode {
  if (Array.isArray(value)) {
    return { kind: "list", items: value.map((item) => fromJson(item, at)), at };
  }
  if (typeof value === "object" && value !== null) {
    const entries = new Map<string, MapEntry>();
    for (const [name, item] of Object.entries(value)) {
      entries.set(name, { keyAt: at, node: fromJson(item, at) });
    }
    return { kind: "map", entries, at };
  }
  return { kind: "scalar", value, at };
}

/** The message of a user's mistake, with its advice. Any other error is thrown again. */
export function mistakeText(error: unknown): string {
  if (!(error instanceof RgxError)) throw error;
  const { message, advice } = error;
  return advice === undefined ? message : `${message}. ${advice}`;
}

interface Problem {
  at: Position;
  key: string;
  text: string;
}

const MAX_NAMED = 6;

/**
 * Collects everything that is wrong, so that the user sees all of it at once. Also collects notes.
 */
export class Problems {
  readonly notes: string[] = [];
  readonly #list: Problem[] = [];
  /** Source and text → their note: its index, its beginning and the keys that it names. */
  readonly #together = new Map<string, { index: number; begin: string; keys: string[] }>();
  /** True once a key or a file was not understood. Missing keys are not reported then. */
  incomplete = false;

  /** `key` is the dotted key as written, or "" for the file as a whole. */
  add(at: Position, key: string, text: string): undefined {
    this.#list.push({ at, key, text });
  }

  note(at: Position, key: string, text: string): void {
    const line = `${formatPosition(at)}: ${key}: ${text}`;
    if (!this.notes.includes(line)) this.notes.push(line);
  }

  /** Notes that several keys of one source share, because their text is the same. */
  noteTogether(at: Position, key: string, text: string): void {
    const id = `${at.source.name}: ${text}`;
    const begin = `${formatPosition(at)}: ${text}: `;
    const note = this.#together.get(id) ?? { index: this.notes.length, begin, keys: [] };
    this.#together.set(id, note);
    note.keys.push(key);
    const more = note.keys.length - MAX_NAMED;
    this.notes[note.index] = note.begin + note.keys.slice(0, MAX_NAMED).join(", ") +
      (more > 0 ? ` and ${more} more` : "");
  }

  get count(): number {
    return this.#list.length;
  }

  /** Whether something is wrong with this key or with anything below it. */
  has(key: string): boolean {
    return this.#list.some((p) => p.key === key || p.key.startsWith(key + "."));
  }

  /** One line per problem, `file:line:column: key: what`, in the order of the sources. */
  lines(): string[] {
    const order = new Map<string, number>();
    for (const { at } of this.#list) {
      if (!order.has(at.source.name)) order.set(at.source.name, order.size);
    }
    const sorted = [...this.#list].sort((a, b) =>
      order.get(a.at.source.name)! - order.get(b.at.source.name)! ||
      a.at.line - b.at.line || a.at.column - b.at.column
    );
    const lines = sorted.map(({ at, key, text }) =>
      `${formatPosition(at)}: ${key === "" ? "" : key + ": "}${text}`
    );
    return [...new Set(lines)];
  }

  /** If there are problems, throws one {@link UsageError} with the lines of all of them. */
  throwIfAny(): void {
    if (this.#list.length > 0) throw new UsageError(this.lines().join("\n"));
  }
}

/** `over` on top of `under`. A map that is marked `replace` (`_delete_: true`) inherits nothing. */
function mergeNodes(under: ConfigNode, over: ConfigNode): ConfigNode {
  if (over.kind !== "map" || over.replace) return over;
  // A map that replaces a value also hides what is below that value in further bases.
  if (under.kind !== "map") return { ...over, replace: true };
  return mergeMaps(under, over);
}

/**
 * Merges canonical trees. Maps are merged key by key; any other value is replaced. The result
 * depends only on the order of the trees, not on how they are grouped, so bases that have bases
 * themselves need no special care.
 */
export function mergeMaps(under: MapNode, over: MapNode): MapNode {
  if (over.replace) return over;
  const entries = new Map<string, MapEntry>(under.entries);
  for (const [name, entry] of over.entries) {
    const inherited = entries.get(name);
    const node = inherited === undefined ? entry.node : mergeNodes(inherited.node, entry.node);
    entries.set(name, { ...entry, node });
  }
  const { foreign = under.foreign } = over;
  return {
    ...over,
    entries,
    ...(foreign === undefined ? {} : { foreign }),
    ...(under.replace ? { replace: true } : {}),
  };
}
