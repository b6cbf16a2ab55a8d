/**
 * How many slots decode best on a device, and whether each of its threads takes rows of its own
 * through the layers.
 */
import { weightsFitInCache } from "../network/fused_layers.ts";
import type { Network } from "../network/forward_pass.ts";
import { floatBytes } from "../network/workspace.ts";

/** Rows that a core takes through such layers at once: three tiles of products. */
const ROWS_PER_CORE = 18;

/** Whether each thread of a CPU takes rows of its own through the layers. */
function ownsRows({ config, device }: Network): boolean {
  return device.name === "wasm" && weightsFitInCache(config, floatBytes(device));
}

/**
 * Branches that a CPU decodes best at once: while the layers stay in the cores' caches, more rows only push one
 * another's keys and values out; layers that come from memory each step are worth it for as many as there are.
 */
export function bestSlots(network: Network): number {
  return ownsRows(network) ? ROWS_PER_CORE * network.device.threads : Infinity;
}

/** Threads that take rows of their own through such layers: 1 where all work on the same rows. */
export function rowThreads(network: Network): number {
  return ownsRows(network) ? network.device.threads : 1;
}
