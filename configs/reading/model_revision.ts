/**
 * What belongs to a name as a part of the name: the revision of a model in
 * `model.model_name_or_path`, and the configuration of a data set in `data.dataset_name`.
 */
import { basename, dirname, resolve } from "node:path";
import { isRevision, MAIN, parseNamed, withRevision } from "../../hub/repository.ts";
import { expandHome } from "../../hub/settings.ts";
import {
  asText,
  type MapNode,
  mistakeText,
  nodeAt,
  type Problems,
  textAt,
  withNode,
} from "../documents/node.ts";
import { findFile } from "./resolve_paths.ts";
import { withConfiguration } from "../../hub/data_files.ts";

const REVISION = "model.model_revision", CONFIGURATION = "data.dataset_config";

/** The tree with the model and its revision as one name: `ORG/NAME@REVISION`. */
export async function withModelRevision(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const asked = asText(nodeAt(tree, "model.model_revision"));
  if (asked === null) return tree;
  const revision = asked.value, key = asked.foreign ?? REVISION;
  const fail = (text: string) => {
    problems.add(asked.at, key, text);
    return tree;
  };
  if (!isRevision(revision)) return fail(`${revision}: not the name of a branch, tag or commit`);
  const named = asText(nodeAt(tree, "model.model_name_or_path"));
  if (named === null) {
    return revision === MAIN ? tree : fail("needs the model that has it: model.model_name_or_path");
  }
  const name = expandHome(named.value);
  const path = await findFile(name, named.at.source.directory, cwd);
  if (path !== null) {
    if (revision === MAIN || snapshotOf(await Deno.realPath(resolve(cwd, path))) === revision) {
      return tree;
    }
    return fail(
      `${revision}: ${name} is on this machine, and is one revision already; name the model as ` +
        "on the Hub (ORG/NAME), or the folder of that revision",
    );
  }
  const parsed = parseNamed(name, "model");
  if (parsed === null || parsed.repository.kind !== "model") {
    return revision === MAIN
      ? tree
      : fail(`${revision}: ${name} is no name of a model on the Hub, which has revisions`);
  }
  if (parsed.revision !== null) {
    return parsed.revision === revision
      ? tree
      : fail(`${revision}: ${name} names the revision ${parsed.revision} already`);
  }
  const value = withRevision(name, revision);
  return withNode(tree, "model.model_name_or_path", { ...named, value });
}

/** The commit of a folder that is a snapshot in the Hub's cache; null for another. */
function snapshotOf(path: string): string | null {
  return basename(dirname(path)) === "snapshots" ? basename(path) : null;
}

/** The tree with the name of the data set and its configuration as one name. */
export async function withDatasetConfig(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const asked = textAt(tree, CONFIGURATION), named = textAt(tree, "data.dataset_name");
  if (asked === null) return tree;
  if (named === null) {
    problems.add(asked.at, CONFIGURATION, "needs the data set that has it: data.dataset_name");
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
    problems.add(asked.at, CONFIGURATION, mistakeText(error));
    return tree;
  }
}
