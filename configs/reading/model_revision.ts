/** The revision of a model, `model_revision`, as a part of `model.model_name_or_path`. */
import { basename, dirname, resolve } from "node:path";
import { isRevision, MAIN, parseNamed, withRevision } from "../../hub/repository.ts";
import { expandHome } from "../../hub/settings.ts";
import { asText, type MapNode, nodeAt, type Problems, withNode } from "../documents/node.ts";
import { findFile } from "./resolve_paths.ts";

const KEY = "model.model_revision";

/** The tree with the model and its revision as one name: `ORG/NAME@REVISION`. */
export async function withModelRevision(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const asked = asText(nodeAt(tree, ["model", "model_revision"]));
  if (asked === null) return tree;
  const revision = asked.value, key = asked.foreign ?? KEY;
  const fail = (text: string) => {
    problems.add(asked.at, key, text);
    return tree;
  };
  if (!isRevision(revision)) return fail(`${revision}: not the name of a branch, tag or commit`);
  const named = asText(nodeAt(tree, ["model", "model_name_or_path"]));
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
