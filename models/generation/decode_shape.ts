/**
 * What decoding depends on before there is anything to decode: whether layers are one operation each, how many
 * branches are best at once, and where prompts begin in their cache.
 */
import { VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import { PANEL } from "../../kernels/ops/matmul/spec.ts";
import { isPlainLlama, linearDims, modulesOf } from "../architectures/mod.ts";
import type { Network } from "../network/forward_pass.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { floatBytes } from "../network/workspace.ts";

/**
 * Layers are one operation each as long as all of them fit a cache that the threads share: every thread then
 * reads all weights for its own branches. Larger ones are read from memory, once for all branches.
 */
const MOST_FUSED_BYTES = 2 ** 24;

/** Rows that a core takes through such layers at once: three tiles of products. */
const ROWS_PER_CORE = 18;

function stayInCaches(config: ModelConfig, floatBytes: number): boolean {
  const weights = modulesOf(config).map((module) => linearDims(config, module));
  const elements = config.numLayers * weights.reduce((sum, [i, o]) => sum + i * o, 0);
  return floatBytes * elements <= MOST_FUSED_BYTES;
}

/** Whether a decoding layer is one operation, when its weights are packed. */
export function canFuseLayers(config: ModelConfig, floatBytes: number): boolean {
  return isPlainLlama(config) && stayInCaches(config, floatBytes);
}

/** Whether each thread of a CPU takes rows of its own through the layers. */
function ownsRows({ config, device }: Network): boolean {
  return device.name === "wasm" && stayInCaches(config, floatBytes(device));
}

/**
 * Branches that a CPU decodes best at once: while the layers stay in the cores' caches, more rows only push one
 * another's keys and values out; layers that come from memory each step are worth it for as many as there are.
 */
export function bestSlots(core: Network): number {
  return ownsRows(core) ? ROWS_PER_CORE * core.device.threads : Infinity;
}

/** Threads that take rows of their own through such layers: 1 where all work on the same rows. */
export function rowThreads(core: Network): number {
  return ownsRows(core) ? core.device.threads : 1;
}

/** Multiples of rows at which a prompt can begin in the cache: those where views can, and panels of packed keys. */
export function promptAlignment({ numKvHeads, headDim }: ModelConfig): number {
  let rows = VIEW_ALIGNMENT;
  while (rows % 2 === 0 && (rows / 2 * numKvHeads * headDim) % VIEW_ALIGNMENT === 0) rows /= 2;
  return Math.max(rows, PANEL);
}
