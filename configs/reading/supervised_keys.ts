/**
 * For `rgx sft`: keys that both GRPO and supervised training have. Without a section, such a key
 * means the one of supervised training, as for `trl sft`:
 *
 *     rgx sft my.yaml --learning-rate 1e-4      sets sft.learning_rate
 */
import { type MapNode, nodeAt, type Problems, withEntry } from "../documents/node.ts";
import { SFT } from "../schema/data_keys.ts";
import { meaningOf } from "./key_names.ts";
import type { Override } from "./overrides.ts";

const NAMES: readonly string[] = Object.keys(SFT.keys);

/** The key of `sft` that a key without a section means; null where `sft` has none. */
function supervisedKey(written: string): string | null {
  if (written.includes(".")) return null;
  const meaning = meaningOf(written), path = meaning.kind === "key" ? meaning.path : "";
  const name = path.replace(/^training\./, "");
  return path.startsWith("training.") && NAMES.includes(name) ? `sft.${name}` : null;
}

/** Arguments without a section, such as `--max-steps 10`, as keys of `sft`. */
export function supervisedOverrides(overrides: readonly Override[]): Override[] {
  return overrides.map((override) => {
    return { ...override, key: supervisedKey(override.key) ?? override.key };
  });
}

/**
 * Gives a file without a section `sft` one: the keys that the file has without a section, where
 * `sft` has such keys. A note names them.
 */
export function withSupervisedKeys(tree: MapNode, problems: Problems): MapNode {
  const training = nodeAt(tree, ["training"]), sft = nodeAt(tree, ["sft"]);
  if (training?.kind !== "map" || (sft !== undefined && sft.kind !== "map")) return tree;
  // A section `sft` that comes only from arguments does not change the meaning of a file's keys.
  const isWritten = [...sft?.entries.values() ?? []].some(({ node }) => isOfFile(node.at));
  if (isWritten) return tree;
  const entries = new Map(sft?.entries), kept = new Map(training.entries);
  for (const name of NAMES) {
    const entry = training.entries.get(name);
    if (entry === undefined || !isOfFile(entry.node.at) || !entry.isFlat) continue;
    kept.delete(name);
    if (entries.has(name)) continue;
    entries.set(name, entry);
    const text = "read as keys of sft, because rgx sft runs and the file has no such section";
    problems.noteTogether(entry.keyAt, name, text);
  }
  if (entries.size === 0) return tree;
  const moved = withEntry(tree, "training", { ...training, entries: kept });
  return withEntry(moved, "sft", { kind: "map", at: sft?.at ?? training.at, entries });
}

/** Whether a value stands in a file, and not in arguments or variables. */
function isOfFile({ source }: MapNode["at"]): boolean {
  return source.directory !== null;
}
