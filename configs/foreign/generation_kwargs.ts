/**
 * TRL's `generation_kwargs`: a map with the argument names of transformers' `generate`. It is
 * translated into the keys of sampling that it overrides, so that only the code that reads
 * configurations knows it.
 */
import {
  describeNode,
  isNull,
  type MapNode,
  nearness,
  nodeAt,
  type Problems,
  withNode,
  without,
} from "../documents/node.ts";
import { didYouMean } from "../../core/suggest.ts";

const PATH = "training.generation_kwargs";

/** Name in the map → key of section training. */
export const GENERATION_KWARGS: ReadonlyMap<string, string> = new Map(
  ("temperature top_p top_k min_p repetition_penalty max_new_tokens=max_completion_length " +
    "max_tokens=max_completion_length min_new_tokens min_tokens=min_new_tokens stop " +
    "stop_strings=stop seed=generation_seed").split(" ").map((word) => {
      const [name, key = name] = word.split("=") as [string, string?];
      return [name, key];
    }),
);

/** The tree without the map. A key that is also written by itself is overridden, with a note. */
export function translateGenerationKwargs(tree: MapNode, problems: Problems): MapNode {
  const map = nodeAt(tree, PATH.split("."));
  if (map === undefined) return tree;
  let translated = without(tree, PATH.split("."));
  if (map.kind !== "map") {
    if (!isNull(map)) problems.add(map.at, PATH, `expected a map, found ${describeNode(map)}`);
    return translated;
  }
  const from = new Map<string, string>();
  for (const [name, { keyAt, node }] of map.entries) {
    if (name === "do_sample" && node.kind === "scalar" && node.value === true) continue;
    const key = GENERATION_KWARGS.get(name);
    if (key === undefined) {
      problems.add(keyAt, `${PATH}.${name}`, unknown(name));
      continue;
    }
    const earlier = from.get(key);
    if (earlier !== undefined) {
      problems.add(keyAt, `${PATH}.${name}`, `the same as ${earlier}`);
      continue;
    }
    from.set(key, name);
    const there = nodeAt(translated, ["training", key]);
    if (there !== undefined && nearness(there, node) > 0) continue;
    if (there !== undefined) {
      problems.note(keyAt, `${PATH}.${name}`, `overrides training.${key}`);
    }
    const foreign = `${PATH}.${name}`;
    translated = withNode(translated, `training.${key}`, { ...node, foreign }, { keyAt });
  }
  return translated;
}

function unknown(name: string): string {
  if (name === "do_sample") {
    return "completions of one prompt must differ to be compared; set temperature";
  }
  const hint = didYouMean(name, GENERATION_KWARGS.keys());
  return `not supported by this version${hint} (known: ${
    [...GENERATION_KWARGS.keys()].join(", ")
  })`;
}
