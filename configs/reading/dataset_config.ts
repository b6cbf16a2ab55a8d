/** The configuration of a data set, TRL's `dataset_config`, as a part of `data.dataset_name`. */
import { resolve } from "node:path";
import { expandHome } from "../../hub/settings.ts";
import { withConfiguration } from "../../hub/data_files.ts";
import { type MapNode, mistakeText, type Problems, textAt, withNode } from "../documents/node.ts";
import { findFile } from "./resolve_paths.ts";

const KEY = "data.dataset_config";

/** The tree with the name of the data set and its configuration as one name. */
export async function withDatasetConfig(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const asked = textAt(tree, KEY), named = textAt(tree, "data.dataset_name");
  if (asked === null) return tree;
  if (named === null) {
    problems.add(asked.at, KEY, "needs the data set that has it: data.dataset_name");
    return tree;
  }
  const name = expandHome(named.value);
  const path = await findFile(name, named.at.source.directory, cwd);
  // Relative to the working directory of the caller, which is not always the process's.
  const place = path === null ? name : resolve(cwd, path);
  try {
    const value = await withConfiguration(place, asked.value);
    const shown = path === null
      ? value
      : path.replace(/(?<=.)\/+$/, "") + value.slice(place.length);
    return withNode(tree, "data.dataset_name", { ...named, value: shown });
  } catch (error) {
    problems.add(asked.at, KEY, mistakeText(error));
    return tree;
  }
}
