/**
 * Files that a configuration names. Paths are relative to the working directory; a configuration that lies
 * outside of it may also name files relative to itself.
 */
import { isAbsolute, relative, resolve } from "node:path";
import { stat } from "node:fs/promises";
import { type MapNode, nodeAt, type Problems, type ScalarNode, withEntry } from "./node.ts";

const FILE_KEYS = [
  ["data", "dataset_name"],
  ["model", "model_name_or_path"],
  ["model", "tokenizer_name_or_path"],
] as const;

/** The tree with those paths replaced that only exist beside the configuration. */
export async function resolveFiles(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  for (const [section, name] of FILE_KEYS) {
    const node = nodeAt(tree, [section, name]);
    if (node?.kind !== "scalar" || typeof node.value !== "string") continue;
    const found = await findFile(node, node.value, cwd);
    if (found === null && name === "dataset_name") {
      const text = `no such file: ${node.value} (looked for ${resolve(cwd, node.value)})`;
      problems.add(node.at, `${section}.${name}`, text);
    }
    if (found === null || found === node.value) continue;
    const map = nodeAt(tree, [section]) as MapNode;
    tree = withEntry(tree, section, withEntry(map, name, { ...node, value: found }));
  }
  return tree;
}

async function findFile(node: ScalarNode, value: string, cwd: string): Promise<string | null> {
  if (await exists(resolve(cwd, value))) return value;
  const { directory } = node.at.source;
  if (directory === null || isAbsolute(value) || !isOutside(directory, cwd)) return null;
  const beside = resolve(directory, value);
  return await exists(beside) ? beside : null;
}

function isOutside(folder: string, cwd: string): boolean {
  const path = relative(cwd, folder);
  return path.startsWith("..") || isAbsolute(path);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
