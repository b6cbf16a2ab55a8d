/**
 * The files of a user's own tasks. A configuration names such a task by its file
 * (`data.task_name: ./digit_sum.ts`), also among several tasks and in a curriculum. The file is
 * registered here, its task's name takes the place of the path, and `data.task_files` keeps the
 * path, with a SHA-256 by which a changed file is noticed.
 */
import { resolve } from "node:path";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import { registerTaskFile } from "../../tasks/custom/task_file.ts";
import {
  type ConfigNode,
  emptyMap,
  type MapEntry,
  type MapNode,
  mistakeText,
  nodeAt,
  type Position,
  type Problems,
  textAt,
  withEntry,
  withNode,
} from "../documents/node.ts";
import { findCode } from "./resolve_paths.ts";

/** The keys that name the task in one part of a mixture of tasks. */
const NAME_KEYS = ["task_name", "name", "dataset"];

/** The tree with names of tasks in place of the paths of their files. */
export async function resolveTaskFiles(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const files = new TaskFiles(cwd, problems);
  await files.registerListed(nodeAt(tree, "data.task_files"));
  const data = nodeAt(tree, "data");
  if (data?.kind === "map") {
    let section = await files.inPart(data, "data", ["task_name"]);
    section = await files.inEntry(section, "tasks", "data.tasks");
    const config = section.entries.get("task_config")?.node;
    if (config?.kind === "map") {
      const key = "data.task_config.datasets";
      const inside = await files.inEntry(config, "datasets", key);
      if (inside !== config) section = withEntry(section, "task_config", inside);
    }
    tree = section === data ? tree : withEntry(tree, "data", section);
  }
  const curriculum = nodeAt(tree, "curriculum");
  if (curriculum?.kind === "map") {
    const section = await files.inEntry(curriculum, "curricula", "curriculum.curricula");
    tree = section === curriculum ? tree : withEntry(tree, "curriculum", section);
  }
  return files.listed(tree);
}

/** Registers the files of tasks that a tree names. */
export class TaskFiles {
  /** Path → where the path was written, and the checksum of the file. */
  readonly #files = new Map<string, { at: Position; sha256: string }>();

  constructor(private readonly cwd: string, private readonly problems: Problems) {}

  /** Registers the files that `data.task_files` lists. */
  async registerListed(list: ConfigNode | undefined): Promise<void> {
    if (list?.kind !== "list") return;
    for (const [i, item] of list.items.entries()) {
      const path = textAt(item, "path"), noted = nodeAt(item, "sha256");
      const key = `data.task_files.${i}`;
      if (path === null) continue;
      const found = await this.#register(path.value, path.at, `${key}.path`);
      if (found === null || noted?.kind !== "scalar" || noted.value === found.sha256) continue;
      this.problems.note(noted.at, `${key}.sha256`, `${path.value} has changed since then`);
    }
  }

  /** An entry of a section that holds parts: a list of them, or a map by their names. */
  async inEntry(section: MapNode, name: string, key: string): Promise<MapNode> {
    const parts = section.entries.get(name)?.node;
    if (parts?.kind === "list") {
      const items = await inOrder(parts.items, (item, i) => this.#part(item, `${key}.${i}`));
      if (items.every((item, i) => item === parts.items[i])) return section;
      return withEntry(section, name, { ...parts, items });
    }
    if (parts?.kind !== "map") return section;
    const entries = await inOrder([...parts.entries], async (
      [task, entry],
    ): Promise<[string, MapEntry]> => [await this.#name(task, entry.keyAt, key) ?? task, entry]);
    if (entries.every(([task]) => parts.entries.has(task))) return section;
    return withEntry(section, name, { ...parts, entries: new Map(entries) });
  }

  async #part(item: ConfigNode, key: string): Promise<ConfigNode> {
    if (item.kind === "map") return await this.inPart(item, key, NAME_KEYS);
    if (item.kind !== "scalar" || typeof item.value !== "string") return item;
    const value = await this.#name(item.value, item.at, key);
    return value === null ? item : { ...item, value };
  }

  /** A map that names one task. */
  async inPart(part: MapNode, key: string, names: readonly string[]): Promise<MapNode> {
    for (const name of names) {
      const node = textAt(part, name);
      if (node === null) continue;
      const value = await this.#name(node.value, node.at, `${key}.${name}`);
      if (value !== null) part = withEntry(part, name, { ...node, value });
    }
    return part;
  }

  /** The tree with `data.task_files` as it was resolved. */
  listed(tree: MapNode): MapNode {
    if (this.#files.size === 0) return tree;
    const items = [...this.#files].map(([path, { at, sha256 }]): ConfigNode => {
      const item = withEntry(emptyMap(at), "path", { kind: "scalar", value: path, at });
      return withEntry(item, "sha256", { kind: "scalar", value: sha256, at });
    });
    return withNode(tree, "data.task_files", { kind: "list", items, at: items[0]!.at });
  }

  /** The name of a file's task; null if `text` is no path of a file, or a file with a mistake. */
  async #name(text: string, at: Position, key: string): Promise<string | null> {
    return isCodePath(text) ? (await this.#register(text, at, key))?.name ?? null : null;
  }

  async #register(text: string, at: Position, key: string) {
    const { path, lookedAt } = await findCode(text, at.source.directory, this.cwd);
    if (path === null) {
      this.problems.add(at, key, `no such file: ${text} (looked for ${lookedAt.join(" and ")})`);
      return null;
    }
    try {
      const found = await registerTaskFile(resolve(this.cwd, path));
      this.#files.set(path, { at, sha256: found.sha256 });
      return found;
    } catch (error) {
      this.problems.add(at, key, mistakeText(error));
      return null;
    }
  }
}

/** Calls run one after the other, so that messages have the order of the file. */
async function inOrder<T, R>(
  items: readonly T[],
  call: (item: T, i: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (const [i, item] of items.entries()) results.push(await call(item, i));
  return results;
}
