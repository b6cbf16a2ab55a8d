/**
 * The ranks and the device that a configuration asks for: training.nnodes ×
 * training.n_gpus_per_node, and training.use_cpu, beside what is named on the command line.
 */
import { UsageError } from "../core/errors.ts";
import type { RunConfig } from "./schema/run_config.ts";

/** The keys that ask for ranks. */
export type RankKeys = Pick<RunConfig["training"], "nnodes" | "n_gpus_per_node">;

/** Nodes, and ranks on each of them. */
export interface RankPlaces {
  nodes: number;
  perNode: number;
}

/** The places that the keys ask for; null: neither of them is written. */
export function askedPlaces({ nnodes, n_gpus_per_node }: RankKeys): RankPlaces | null {
  if (nnodes === null && n_gpus_per_node === null) return null;
  return { nodes: nnodes ?? 1, perNode: n_gpus_per_node ?? 1 };
}

/** How a message names the keys, with their values. */
export function placesText({ nodes, perNode }: RankPlaces): string {
  const count = nodes * perNode;
  return `training.nnodes × training.n_gpus_per_node is ${nodes} × ${perNode}` +
    (nodes > 1 && perNode > 1 ? ` = ${count}` : "");
}

/**
 * Compares the keys with a number of ranks that comes from elsewhere.
 * @param ranks that number
 * @param from where it comes from, as the beginning of a sentence: "--ranks 4"
 * @throws UsageError when the keys ask for another number
 */
export function requireAsked(training: RankKeys, ranks: number, from: string): void {
  const asked = askedPlaces(training);
  if (asked === null || asked.nodes * asked.perNode === ranks) return;
  const other = asked.nodes > 1 && ranks % asked.nodes === 0 ? asked.nodes : 1;
  throw new UsageError(`${from}: ${placesText(asked)}`, {
    advice: "Ask for the same number in both, or leave one of them out: " +
      `training.nnodes=${other} training.n_gpus_per_node=${ranks / other}`,
  });
}

/**
 * The device of a run: the named one, or `wasm` where `use_cpu` is true and none is named.
 * @param named a device's name; undefined or "auto" names none
 * @param source where it is named, for the message: `--device` or `RGX_DEVICE`
 * @throws UsageError when a graphics card is named and the configuration asks for the CPU
 */
export function deviceOfConfig(
  { use_cpu: useCpu }: { readonly use_cpu: boolean },
  named: string | undefined,
  source = "--device",
): string | undefined {
  if (!useCpu) return named;
  if (named === undefined || named === "auto") return "wasm";
  if (!/^(webgpu|vulkan)/.test(named)) return named;
  throw new UsageError(`${source} ${named}: training.use_cpu is true, which asks for the CPU`, {
    advice: "Give one of them: training.use_cpu=false takes the key back.",
  });
}
