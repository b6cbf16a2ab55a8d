/**
 * How many slots decode best on a device, and whether each of its threads takes its own rows
 * through the layers.
 */
import { coreCacheBytes } from "../../core/machine/caches.ts";
import { weightsFitInCache } from "../network/fused_layers.ts";
import type { Network } from "../network/forward_pass.ts";
import { floatBytes } from "../network/workspace.ts";

/**
 * Rows that a core takes through the layers together, measured: three tiles of the matrix product
 * where its own cache has 1 MB, which their keys and values share with the weights, and more where
 * it is larger. Each row has the same bits with any number of others.
 */
const ROWS_PER_CORE = 18, ROWS_PER_LARGE_CORE = 32;
/** Bytes of a large cache of one core. */
const LARGE_CACHE = 2 ** 21;

let rowsPerCore: number | undefined;

function bestRows(): number {
  const isLarge = () => (coreCacheBytes() ?? 0) >= LARGE_CACHE;
  return rowsPerCore ??= isLarge() ? ROWS_PER_LARGE_CORE : ROWS_PER_CORE;
}

/** Whether each thread of a CPU takes its own rows through the layers. */
function ownsRows({ config, device }: Network): boolean {
  return device.name === "wasm" && weightsFitInCache(config, floatBytes(device));
}

/**
 * The number of branches that a CPU decodes best together. While the layers' weights stay in the
 * caches of the cores, more rows only evict each other's keys and values. Weights that are read
 * from memory in each step are used by as many rows as there are.
 */
export function bestSlots(network: Network): number {
  return ownsRows(network) ? bestRows() * network.device.threads : Infinity;
}

/**
 * Number of threads that take their own rows through the layers; 1 when all threads work on the
 * same rows.
 */
export function rowThreads(network: Network): number {
  return ownsRows(network) ? network.device.threads : 1;
}
