/**
 * Reads the file of `rgx eval` as a tree: with its bases (`_base_`), and with the texts in `${…}`
 * filled in, as configurations of training have them.
 */
import { dirname, resolve } from "node:path";
import { EMBEDDED, evaluationNames } from "../../configs/documents/embedded.ts";
import {
  formatPosition,
  type MapNode,
  type Problems,
  withEntry,
} from "../../configs/documents/node.ts";
import { decodeUtf8 } from "../../configs/documents/yaml_source.ts";
import { type ConfigFile, loadInherited } from "../../configs/reading/inherit.ts";
import { interpolate } from "../../configs/reading/interpolation.ts";
import { meaningOf } from "../../configs/reading/key_names.ts";
import { TaskFiles } from "../../configs/reading/task_files.ts";
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { whyUnreadable } from "../../core/text_file.ts";
import { KEYS } from "./eval_keys.ts";

/**
 * The tree of a file, or of an embedded evaluation with this name. Null: it cannot be read as a
 * whole, which is among the problems.
 * @throws UsageError when there is no such file
 */
export async function readEvalTree(path: string, problems: Problems): Promise<MapNode | null> {
  const file = await fileOf(path, problems);
  if (file === null) return null;
  const env = Deno.env.toObject();
  const tree = await loadInherited(file, env, problems, { isRun: false });
  if (problems.incomplete) return null;
  refuseTraining(tree, path);
  return await withTaskFiles(interpolate(tree, env, problems), problems);
}

/** @throws UsageError for a configuration of training */
function refuseTraining(tree: MapNode, path: string): void {
  if (tree.entries.has("categories")) return;
  const ofTraining = [...tree.entries].find(([name, { node }]) => {
    if (Object.hasOwn(KEYS, name)) return false;
    const meaning = meaningOf(name, node);
    return meaning.kind === "prefix" ||
      (meaning.kind === "key" && /^(rewards$|data\.)/.test(meaning.path));
  });
  if (ofTraining === undefined) return;
  const at = formatPosition(ofTraining[1].keyAt);
  throw new UsageError(`${at}: ${ofTraining[0]}: this is a configuration of training`, {
    advice: `rgx train ${path} trains. An evaluation has categories of data sets, and a model.`,
  });
}

async function fileOf(path: string, problems: Problems): Promise<ConfigFile | null> {
  let bytes: Uint8Array;
  try {
    bytes = await Deno.readFile(path);
  } catch (cause) {
    const name = path.replace(/^rgx:(evaluations\/)?/, "").replace(/\.ya?ml$/, "");
    const embedded = `evaluations/${name}.yaml`;
    if (EMBEDDED.has(embedded)) return { kind: "embedded", path: embedded };
    throw new UsageError(
      `cannot read ${path}: ${whyUnreadable(cause)}${didYouMean(name, evaluationNames())}`,
      { advice: `embedded evaluations: ${evaluationNames().join(", ")}`, cause },
    );
  }
  const text = decodeUtf8(bytes, { name: path, directory: dirname(path) }, problems);
  return text === null ? null : { kind: "text", path: resolve(path), shown: path, text };
}

/** The tree with names of tasks in place of the paths of their files. */
async function withTaskFiles(tree: MapNode, problems: Problems): Promise<MapNode> {
  const categories = tree.entries.get("categories")?.node;
  if (categories?.kind !== "list") return tree;
  const files = new TaskFiles(Deno.cwd(), problems);
  const items = await Promise.all(
    categories.items.map(async (item, i) =>
      item.kind === "map" ? await files.inEntry(item, "datasets", `categories.${i}.datasets`) : item
    ),
  );
  return withEntry(tree, "categories", { ...categories, items });
}
