/**
 * Resolves the paths of files that a configuration names. Paths are relative to the working
 * directory; `~` at the beginning is the home folder. A configuration outside of the working
 * directory may also name files relative to itself. Files of rewards are looked for beside the
 * configuration first. Their SHA-256 is stored, so that a changed file is noticed.
 */
import { isAbsolute, relative, resolve } from "node:path";
import { findDataFiles, isDataPath } from "../../hub/data_files.ts";
import { expandHome } from "../../hub/settings.ts";
import { codeHash, isCodePath } from "../../core/sandbox/code_file.ts";
import {
  type ConfigNode,
  emptyMap,
  type MapNode,
  mistakeText,
  nodeAt,
  type Problems,
  type ScalarNode,
  textAt,
  withEntry,
  withNode,
} from "../documents/node.ts";
import { stat } from "node:fs/promises";

/** Keys of files, or of names on the Hub. */
export const FILE_KEYS = [
  "data.dataset_name",
  "data.eval_dataset_name",
  "model.model_name_or_path",
  "model.adapter_name_or_path",
  "model.tokenizer_name_or_path",
  "model.chat_template",
  "teacher.model_name_or_path",
  "teacher.adapter_name_or_path",
];

/** Stands for a data set of the calling program: that of a past run need not be here. */
export const ANY_DATASET = Symbol("any data set");

/**
 * The tree with its paths resolved: those that begin with `~` and those that only exist beside the
 * configuration are replaced.
 * @param heldDataset the name of a data set that the calling program holds, which is no file
 */
export async function resolveFiles(
  tree: MapNode,
  cwd: string,
  problems: Problems,
  heldDataset?: string | typeof ANY_DATASET,
): Promise<MapNode> {
  for (const key of ["training.output_dir", ...FILE_KEYS]) {
    const node = textAt(tree, key);
    if (node !== null) tree = withNode(tree, key, { ...node, value: expandHome(node.value) });
  }
  for (const key of FILE_KEYS) {
    const node = textAt(tree, key), isTrainData = key === "data.dataset_name";
    if (node === null || isTrainData && node.value === heldDataset) continue;
    const isData = key.endsWith("dataset_name");
    const test = isData ? isDataPath : isThere;
    const found = await findFile(node.value, node.at.source.directory, cwd, test);
    if (found === null && isData && heldDataset !== ANY_DATASET) {
      const split = isTrainData ? trainSplit(tree) : "test";
      await checkPulled({ ...node, key }, split, cwd, problems);
    }
    if (found === null && key === "model.chat_template" && !/[{\n]/.test(node.value)) {
      const place = resolve(cwd, node.value);
      const text = `no such file: ${node.value} (looked for ${place}); expected a file with a ` +
        "Jinja template, or the template itself";
      problems.add(node.at, key, text);
    }
    if (found !== null) tree = withNode(tree, key, { ...node, value: found });
  }
  tree = await resolveEnvironments(tree, cwd, problems);
  const rewards = nodeAt(tree, "rewards");
  const isOne = rewards?.kind === "scalar" && typeof rewards.value === "string";
  if (rewards === undefined || !isOne && rewards.kind !== "list") return tree;
  const list = rewards.kind === "list" ? rewards.items : [rewards];
  const items = await Promise.all(
    list.map(async (item, i) =>
      resolveCode(await asFunction(item, cwd), `rewards.${i}`, "reward", cwd, problems)
    ),
  );
  return withEntry(tree, "rewards", { kind: "list", items, at: rewards.at });
}

/** TRL's `my_lib.rewards.reward` as the function of a file, if there is `my_lib/rewards.py`. */
async function asFunction(item: ConfigNode, cwd: string): Promise<ConfigNode> {
  const [, module, name] = item.kind === "scalar"
    ? /^((?:\w+\.)*\w+)\.(\w+)$/.exec(String(item.value)) ?? []
    : [];
  const path = `${module?.replaceAll(".", "/")}.py`;
  if (module === undefined || (await findCode(path, item.at.source.directory, cwd)).path === null) {
    return item;
  }
  const file = withEntry(emptyMap(item.at), "path", { kind: "scalar", value: path, at: item.at });
  return withEntry(file, "function", { kind: "scalar", value: name!, at: item.at });
}

/** The first split that is trained on. A text that names none is reported with its key. */
function trainSplit(tree: MapNode): string {
  const text = textAt(tree, "data.dataset_train_split")?.value ?? "train";
  return /^[^[+(]*/.exec(text)![0];
}

/**
 * Reports a data set whose file does not exist. A data set of the Hub may be pulled later; a
 * command that needs it reports that it is missing.
 */
async function checkPulled(
  { at, value: written, key }: ScalarNode & { key: string },
  split: string,
  cwd: string,
  problems: Problems,
): Promise<void> {
  const value = String(written);
  try {
    const { files, lookedAt, advice } = await findDataFiles(value, split);
    if (files !== null || advice !== null) return;
    const places = [resolve(cwd, value), ...lookedAt.slice(1)].join(" and ");
    const where = places === value ? "" : ` (looked for ${places})`;
    problems.add(at, key, `no such file: ${value}${where}`);
  } catch (error) {
    problems.add(at, key, mistakeText(error));
  }
}

/** The tree with each environment and each tool changed. */
export async function mapEnvironments(
  tree: MapNode,
  change: (node: ConfigNode, key: string) => Promise<ConfigNode>,
): Promise<MapNode> {
  const single = nodeAt(tree, "environment"), several = nodeAt(tree, "environments");
  const tools = nodeAt(tree, "tools");
  if (single !== undefined) {
    tree = withEntry(tree, "environment", await change(single, "environment"));
  }
  if (several?.kind === "map") {
    let map = several;
    for (const [name, { node }] of several.entries) {
      map = withEntry(map, name, await change(node, `environments.${name}`));
    }
    tree = withEntry(tree, "environments", map);
  }
  if (tools?.kind !== "list") return tree;
  const items = await Promise.all(tools.items.map((item, i) => change(item, `tools.${i}`)));
  return withEntry(tree, "tools", { ...tools, items });
}

/** The files of environments and tools. A text that is the path of a file stands for {path}. */
export async function resolveEnvironments(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  return await mapEnvironments(tree, async (node, key) => {
    const isPath = node.kind === "scalar" && typeof node.value === "string" &&
      isCodePath(node.value);
    const item = isPath ? withEntry(emptyMap(node.at), "path", node) : node;
    // A command with its files as this configuration finds them.
    const found = await withCommandFiles(
      item,
      async (word, { at }) => (await findCode(word, at.source.directory, cwd)).path,
    );
    return await resolveCode(found, key, "environment", cwd, problems);
  });
}

/** Words of a command that may be files: scripts, and programs with a folder. */
const FILE_WORD = /^[^-].*(?:\.\w+|\/.*)$/;

/** An environment whose command names files as paths do; other words stay as they are. */
export async function withCommandFiles(
  item: ConfigNode,
  place: (word: string, node: ConfigNode) => Promise<string | null>,
): Promise<ConfigNode> {
  if (item.kind !== "map") return item;
  const mcp = nodeAt(item, "mcp");
  const key = nodeAt(item, "agent") === undefined ? "command" : "agent";
  const command = nodeAt(item, [key]);
  if (mcp?.kind === "map") return withEntry(item, "mcp", await withCommandFiles(mcp, place));
  if (command?.kind !== "list") return item;
  const items = await Promise.all(command.items.map(async (node, i) => {
    if (node.kind !== "scalar" || typeof node.value !== "string") return node;
    const found = FILE_WORD.test(node.value) ? await place(node.value, node) : null;
    if (found === null) return node;
    // A program is looked for in PATH, unless its name has a folder.
    return { ...node, value: i > 0 || /[/\\]/.test(found) ? found : `./${found}` };
  }));
  return withEntry(item, key, { ...command, items });
}

/** Code with its path relative to the working directory, and the SHA-256 of its file. */
async function resolveCode(
  item: ConfigNode,
  key: string,
  what: string,
  cwd: string,
  problems: Problems,
): Promise<ConfigNode> {
  const path = textAt(item, "path");
  if (item.kind !== "map" || path === null) return item;
  const { path: value, lookedAt } = await findCode(path.value, path.at.source.directory, cwd);
  if (value === null) {
    const text = `no such file: ${path.value} (looked for ${lookedAt.join(" and ")})`;
    problems.add(path.at, `${key}.path`, text);
    return item;
  }
  try {
    const hash = await codeHash(resolve(cwd, value), what), noted = nodeAt(item, "sha256");
    if (noted?.kind === "scalar" && noted.value !== hash) {
      problems.note(noted.at, `${key}.sha256`, `${path.value} has changed since this was written`);
    }
    const resolved = withEntry(item, "path", { ...path, value });
    return withEntry(resolved, "sha256", { kind: "scalar", value: hash, at: path.at });
  } catch (error) {
    problems.add(path.at, `${key}.path`, mistakeText(error));
    return item;
  }
}

/**
 * The path of a file that a configuration in `directory` names, or null when there is no such file.
 */
export async function findFile(
  value: string,
  directory: string | null,
  cwd: string,
  test: (path: string) => Promise<boolean> = isThere,
): Promise<string | null> {
  if (await test(resolve(cwd, value))) return value;
  if (directory === null || isAbsolute(value) || !isOutside(resolve(directory), cwd)) return null;
  const beside = resolve(directory, value);
  return await test(beside) ? beside : null;
}

/**
 * The file's path. It is looked for beside the configuration, then in the working directory.
 * @param directory the configuration's folder; null for the command line
 * @returns a path relative to the working directory if the file is below it; null: no such file
 */
export async function findCode(
  name: string,
  directory: string | null,
  cwd: string,
): Promise<{ path: string | null; lookedAt: string[] }> {
  const file = expandHome(name);
  const lookedAt = directory === null ? [] : [resolve(cwd, directory, file)];
  if (!lookedAt.includes(resolve(cwd, file))) lookedAt.push(resolve(cwd, file));
  for (const place of lookedAt) {
    if (!await isThere(place)) continue;
    return { path: isOutside(place, cwd) ? place : relative(cwd, place), lookedAt };
  }
  return { path: null, lookedAt };
}

/** Whether a path is not in the working directory. */
export function isOutside(folder: string, cwd: string): boolean {
  const path = relative(cwd, folder);
  return path.startsWith("..") || isAbsolute(path);
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
