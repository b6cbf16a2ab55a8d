/**
 * TRL's `generation_kwargs`: a map with the argument names of transformers' `generate`. It is
 * translated into the keys of sampling that it overrides, so that only the code that reads
 * configurations knows it.
 */
import {
  describeNode,
  type MapNode,
  nearness,
  nodeAt,
  type Problems,
  withEntry,
} from "../documents/node.ts";
import { didYouMean } from "../../core/suggest.ts";

const PATH = "training.generation_kwargs";

/** Name in the map → key of section training. */
export const GENERATION_KWARGS: ReadonlyMap<string, string> = new Map([
  ["temperature", "temperature"],
  ["top_p", "top_p"],
  ["top_k", "top_k"],
  ["min_p", "min_p"],
  ["repetition_penalty", "repetition_penalty"],
  ["max_new_tokens", "max_completion_length"],
  ["max_tokens", "max_completion_length"],
  ["min_new_tokens", "min_new_tokens"],
  ["min_tokens", "min_new_tokens"],
  ["stop", "stop"],
  ["stop_strings", "stop"],
  ["seed", "generation_seed"],
]);

/** The tree without the map. A key that is also written by itself is overridden, with a note. */
export function translateGenerationKwargs(tree: MapNode, problems: Problems): MapNode {
  const training = tree.entries.get("training");
  const map = nodeAt(tree, PATH.split("."));
  if (training?.node.kind !== "map" || map === undefined) return tree;
  const entries = new Map(training.node.entries);
  entries.delete("generation_kwargs");
  let translated: MapNode = { ...training.node, entries };
  if (map.kind !== "map") {
    if (map.kind !== "scalar" || map.value !== null) {
      problems.add(map.at, PATH, `expected a map, found ${describeNode(map)}`);
    }
    return withEntry(tree, "training", translated, training.keyAt);
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
    const there = translated.entries.get(key)?.node;
    if (there !== undefined && nearness(there, node) > 0) continue;
    if (there !== undefined) {
      problems.note(keyAt, `${PATH}.${name}`, `overrides training.${key}`);
    }
    translated = withEntry(translated, key, { ...node, foreign: `${PATH}.${name}` }, keyAt);
  }
  return withEntry(tree, "training", translated, training.keyAt);
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
