/**
 * The files that a run's own config.yaml names. Relative paths in it are relative to the folder in
 * which the run was started, which is rarely the working directory of a later reader.
 * `training.output_dir` is the path from that folder to the run, so that folder is found from the
 * place of the run, also after both were moved together. Otherwise run.json has it.
 */
import { basename, dirname, isAbsolute, normalize, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { readJsonObject } from "../../core/json_file.ts";
import {
  type ConfigNode,
  type MapNode,
  nodeAt,
  Problems,
  textAt,
  toJson,
  withEntry,
  withNode,
} from "../documents/node.ts";
import { parseYaml } from "../documents/yaml_source.ts";
import { isDataPath } from "../../hub/data_files.ts";
import {
  FILE_KEYS,
  isOutside,
  isThere,
  mapEnvironments,
  withCommandFiles,
} from "./resolve_paths.ts";

/** Texts that are paths even if no file exists. Other texts may be names on the Hub. */
const PATH_LIKE = /^\.{1,2}[/\\]|\.(?:(?:jsonl?|[ct]sv)(?:\.(?:gz|zst))?|parquet|jinja|ts|js)$/;

/**
 * The tree of a run's config.yaml, read from a folder other than the run's: relative paths of files
 * are replaced by absolute ones. Every other tree comes back as it is.
 * @param path the absolute path of the configuration
 */
export async function withFilesOfRun(tree: MapNode, path: string, cwd: string): Promise<MapNode> {
  if (basename(path) !== "config.yaml") return tree;
  const starts = await startFolders(tree, dirname(path));
  if (starts.length === 0 || starts[0] === resolve(cwd)) return tree;
  // The form of the paths is that of `findCode`.
  const codePlace = async (value: string) => {
    const found = await placeOf(value, starts);
    return isAbsolute(found) && !isOutside(found, cwd) ? relative(cwd, found) : found;
  };
  for (const key of FILE_KEYS) {
    const node = textAt(tree, key);
    if (node === null) continue;
    const test = key.endsWith("dataset_name") ? isDataPath : isThere;
    const value = await placeOf(node.value, starts, test);
    if (value !== node.value) tree = withNode(tree, key, { ...node, value });
  }
  for (const key of ["data.task_files", "rewards"]) {
    const list = nodeAt(tree, key);
    if (list?.kind !== "list") continue;
    const items = await Promise.all(list.items.map((item) => inItem(item, codePlace)));
    tree = withNode(tree, key, { ...list, items });
  }
  return await mapEnvironments(tree, (node) => inItem(node, codePlace));
}

/**
 * The text of a run's config.yaml with absolute paths, as {@link withFilesOfRun} makes them; a text
 * that is no YAML comes back as it is.
 */
export async function textWithFilesOfRun(text: string, path: string, cwd: string): Promise<string> {
  const source = { name: path, directory: dirname(path) };
  const tree = parseYaml(text, source, new Problems());
  return tree === null ? text : stringify(toJson(await withFilesOfRun(tree, path, cwd)));
}

/** Folders in which the run may have been started, the likeliest first; none: it is no run. */
async function startFolders(tree: MapNode, folder: string): Promise<string[]> {
  const run = await readJsonObject(`${folder}/run.json`).catch(() => null);
  if (run === null) return [];
  const found: string[] = [], output = textAt(tree, "training.output_dir");
  if (output !== null && !isAbsolute(output.value)) {
    const end = sep + normalize(output.value).replace(/[/\\]+$/, "");
    if (folder.endsWith(end)) found.push(resolve(folder.slice(0, -end.length) || sep));
  }
  const recorded = run["working_directory"];
  if (typeof recorded === "string") found.push(resolve(recorded));
  return [...new Set(found)];
}

/** The absolute path of a file; the text itself if it is no path. */
async function placeOf(
  value: string,
  starts: readonly string[],
  test = isThere,
): Promise<string> {
  if (value === "" || isAbsolute(value) || /^~|\$\{/.test(value)) return value;
  for (const start of starts) {
    if (await test(resolve(start, value))) return resolve(start, value);
  }
  return PATH_LIKE.test(value) ? resolve(starts[0]!, value) : value;
}

async function inItem(
  item: ConfigNode,
  place: (value: string) => Promise<string>,
): Promise<ConfigNode> {
  const path = textAt(item, "path");
  item = await withCommandFiles(item, place);
  if (item.kind !== "map" || path === null) return item;
  return withEntry(item, "path", { ...path, value: await place(path.value) });
}
