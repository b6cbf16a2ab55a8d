/**
 * The network for generation with products in bfloat16: float weights are rounded once, to copies
 * of two bytes a value, so that a step reads half as much memory. Products would round the same
 * values the same way. Adapters stay beside their weights (network/merged_copies.ts).
 */
import { storedWords } from "../../kernels/mod.ts";
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import {
  architectureOf,
  headName,
  linearDims,
  modulePath,
  modulesOf,
} from "../architectures/mod.ts";
import { fitsType } from "../formats/stored_weight.ts";
import type { Network } from "../network/forward_pass.ts";
import type { Linear } from "../network/linear.ts";
import { isStored, type ModelSizes } from "../network/weights/model_sizes.ts";
import type { SharedWeights } from "./shared_weights.ts";
import type { WeightCopies } from "../network/weights/weight_copies.ts";

/** Values that are rounded at once: a multiple of what views are aligned to. */
const PART = 2 ** 20;
/** The type of the copies. */
const TYPE = "bf16";

/** Rounds `n` (even) values to `copy`. `rest` takes what is left, which nobody needs. */
function round(device: Device, x: Tensor, copy: Tensor, rest: Tensor, n: number): void {
  const key = { first: 0, c1: 0, c2: 0, c3: 0, seedLow: 0, seedHigh: 0 };
  for (let first = 0; first < n; first += PART) {
    const count = Math.min(PART, n - first), weight = copy.view(first / 2, count / 2);
    device.run("round_bf16", { x: x.view(first, count), weight, rest, n: count, ...key });
  }
}

/** Bytes of a copy [rows, width], or 0 where halves cannot have rows of this width. */
function copyBytes(rows: number, width: number): number {
  return fitsType(TYPE, width) ? 4 * storedWords(TYPE, rows, width) : 0;
}

/** Bytes of the rounded copies, and of the buffer in which they are made. */
export function roundedBytes(sizes: ModelSizes): number {
  const { config } = sizes, { inOut } = architectureOf(config);
  let bytes = isStored(sizes, headName(config))
    ? 0
    : copyBytes(config.vocabSize, config.hiddenSize);
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const module of modulesOf(config)) {
      if (isStored(sizes, `${modulePath(config, layer, module)}.weight`)) continue;
      const [inDim, outDim] = linearDims(config, module);
      bytes += inOut ? copyBytes(inDim, outDim) : copyBytes(outDim, inDim);
    }
  }
  return bytes === 0 ? 0 : bytes + 2 * PART;
}

/**
 * The network with rounded copies of its float weights, with adapters or (when `adapter` is false)
 * without. It is valid as long as that of packWeights.
 */
export function roundWeights(
  network: Network,
  copies: WeightCopies,
  { adapter, shared }: { adapter: boolean; shared?: SharedWeights },
): Network {
  const { device, config, weights } = network, { workspace } = copies;
  const rest = () => workspace.fixed("rest", PART / 2, "u32");
  const copyOf = (name: string, value: Tensor, rows: number, width: number): Tensor => {
    const copy = workspace.fixed(`rounded.${name}`, storedWords(TYPE, rows, width), "u32");
    round(device, value, copy, rest(), rows * width);
    return copy;
  };
  const layers = weights.layers.map((layer, l) => {
    const rounded = { ...layer };
    for (const module of modulesOf(config)) {
      const linear: Linear = adapter ? layer[module] : { ...layer[module], lora: null };
      const same = shared?.linear(linear, l, module);
      if (same) {
        rounded[module] = { ...same, lora: linear.lora };
        continue;
      }
      const { weight, storage, inOut, inDim, outDim } = linear;
      const [rows, width] = inOut ? [inDim, outDim] : [outDim, inDim];
      rounded[module] = storage !== null || !fitsType(TYPE, width) ? linear : {
        ...linear,
        weight: copyOf(`${l}.${module}`, weight, rows, width),
        storage: TYPE,
      };
    }
    return rounded;
  });
  const headLora = adapter ? weights.headLora : null, sameHead = shared?.head(network);
  if (sameHead) return { ...network, weights: { ...weights, layers, headLora, ...sameHead } };
  const { vocabSize, hiddenSize } = config, { head } = weights;
  const roundsHead = head.storage == null && fitsType(TYPE, hiddenSize);
  return {
    ...network,
    weights: {
      ...weights,
      layers,
      headLora,
      head: roundsHead
        ? { ...head, value: copyOf("head", head.value, vocabSize, hiddenSize), storage: TYPE }
        : head,
    },
  };
}
