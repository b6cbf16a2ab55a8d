/** The configuration of a data set, TRL's `dataset_config`, as a part of `data.dataset_name`. */
import { resolve } from "node:path";
import { RgxError } from "../../core/errors.ts";
import { expandHome } from "../../hub/settings.ts";
import { withConfiguration } from "../../hub/set_configuration.ts";
import { type MapNode, nodeAt, type Problems, withEntry } from "../documents/node.ts";
import { findFile } from "./resolve_paths.ts";

const KEY = "data.dataset_config";

/** The tree with the name of the data set and its configuration as one name. */
export async function withDatasetConfig(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const data = nodeAt(tree, ["data"]), asked = nodeAt(tree, ["data", "dataset_config"]);
  const named = nodeAt(tree, ["data", "dataset_name"]);
  if (data?.kind !== "map" || asked?.kind !== "scalar" || typeof asked.value !== "string") {
    return tree;
  }
  if (named?.kind !== "scalar" || typeof named.value !== "string") {
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
    return withEntry(tree, "data", withEntry(data, "dataset_name", { ...named, value: shown }));
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    const { message, advice } = error;
    problems.add(asked.at, KEY, advice === undefined ? message : `${message}. ${advice}`);
    return tree;
  }
}
