/**
 * How fast a model would work, from counted operations and bytes: on a card of a data sheet, or on
 * this machine by the speed of a few operations. docs/cluster.md has the formulas. Left out:
 * softmax, norms and sampling, which take little beside the products, and completions that end
 * before the others.
 */
import {
  hasAttention,
  headName,
  linearDims,
  modulePath,
  modulesOf,
} from "../../models/architectures/mod.ts";
import { isOfExperts } from "../../models/architectures/mixtures.ts";
import { layerSizes, type ModelConfig } from "../../models/architectures/model_config.ts";
import { storedWords } from "../../models/formats/stored_weight.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import {
  headAdapter,
  layerAdapters,
  type LoraPlacement,
} from "../../models/network/weights/model_weights.ts";
import { parameterBytes } from "../../models/network/counted_network.ts";
import type { ModelSpeed } from "./speed_probe.ts";

/** Operations of a decode step for each layer and each adapted module (docs/log/gpu.md). */
const OPERATIONS_PER_LAYER = 17, OPERATIONS_PER_ADAPTER = 3;

export interface DeviceSpeed {
  products: number;
  bandwidth: number;
  /** Seconds that the start of an operation takes. */
  start: number;
}

export interface TypicalWork {
  promptTokens: number;
  completionTokens: number;
  /** Completions of a prompt, and completions that are decoded together. */
  group: number;
  lanes: number;
  moments: number;
}

/** Floating-point operations of a forward pass for one token. */
export interface ForwardFlops {
  layers: number;
  /** The part of them that recomputation repeats: all but the last product of each layer. */
  repeated: number;
  attention: number;
  /** The logits of a token; prompts have none. */
  head: number;
}

const layerNumbers = ({ numLayers }: ModelConfig) => Array.from({ length: numLayers }, (_, l) => l);

const sumOverAttention = (config: ModelConfig, of: (layer: number) => number) =>
  layerNumbers(config).filter((layer) => hasAttention(config, layer))
    .reduce((sum, layer) => sum + of(layer), 0);

/** Matrices of a module that `rows` tokens go through: each takes some of the experts. */
function matricesOf(config: ModelConfig, module: string, rows = 1): number {
  const { experts } = config;
  if (experts === undefined || !isOfExperts(config, module)) return 1;
  return Math.min(experts.count, rows * experts.chosen);
}

/** @param context tokens that a token attends to */
export function forwardFlops({ config, lora }: ModelSizes, context: number): ForwardFlops {
  const { vocabSize, hiddenSize } = config;
  const layers = layerNumbers(config);
  const products = layers.map((layer) =>
    modulesOf(config, layer).map((module) => {
      const [inDim, outDim] = linearDims(config, module, layer);
      return 2 * inDim * outDim * matricesOf(config, module);
    })
  );
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const lowRank = (placed: readonly LoraPlacement[]) =>
    placed.reduce((sum, { module, layer, r }) => {
      const [inDim, outDim] = linearDims(config, module, layer);
      return sum + 2 * r * (inDim + outDim) * matricesOf(config, module);
    }, 0);
  const head = headAdapter(lora);
  return {
    layers: sum(products.map(sum)) + lowRank(layerAdapters(lora)),
    repeated: sum(products.slice(1).map((each) => sum(each) - each.at(-1)!)),
    // Scores and weighted sums.
    attention: 4 * sumOverAttention(config, (layer) => layerSizes(config, layer).q) * context,
    head: 2 * vocabSize * hiddenSize + lowRank(head === null ? [] : [head]),
  };
}

/** Bytes that a decode step reads: all matrices once, and the keys and values of all lanes. */
export function decodeBytes(sizes: ModelSizes, lanes: number, context: number): number {
  const { config, storage, floatBytes } = sizes, { vocabSize, hiddenSize } = config;
  const bytes = (name: string, n: number, k: number) => {
    const type = storage.get(name);
    return type === undefined ? floatBytes * n * k : 4 * storedWords(type, n, k);
  };
  let weights = bytes(headName(config), vocabSize, hiddenSize);
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const module of modulesOf(config, layer)) {
      const [inDim, outDim] = linearDims(config, module, layer);
      const name = `${modulePath(config, layer, module)}.weight`;
      weights += matricesOf(config, module, lanes) * bytes(name, outDim, inDim);
    }
  }
  const keys = sumOverAttention(config, (layer) => layerSizes(config, layer).kv);
  const perToken = 2 * keys * floatBytes;
  return weights + lanes * context * perToken;
}

/** Seconds for each token, and for each update of the trained values. */
export interface CountedSpeed extends Omit<ModelSpeed, "sampled"> {
  update: number;
}

export function countedSpeed(
  { products, bandwidth, start }: DeviceSpeed,
  sizes: ModelSizes,
  { promptTokens, completionTokens, group, lanes, moments }: TypicalWork,
): CountedSpeed {
  const full = sizes.trainable === "full", again = sizes.recompute ? 1 : 0;
  const { layers, repeated, attention, head } = forwardFlops(
    sizes,
    (promptTokens + completionTokens) / 2,
  );
  const { gradients } = parameterBytes(sizes);
  // The share of a pass's tokens that have logits: prompts are shared by their group.
  const predicted = group * completionTokens / (promptTokens + group * completionTokens);
  const forward = layers + attention + predicted * head;
  // The backward multiplies by the weights and, for those that are trained, by the activations. It
  // does five products of attention where the forward does two. The head's forward also prepares
  // its backward when the head is frozen; a trained head, or one with an adapter, computes its
  // logits again.
  const headPasses = full ? 4 : headAdapter(sizes.lora) !== null ? 3 : 2;
  const trained = layers * (full ? 3 : 2) + again * repeated + attention * (3.5 + again) +
    predicted * head * headPasses;
  const context = promptTokens + completionTokens / 2;
  const decode = forwardFlops(sizes, context);
  const operations = OPERATIONS_PER_LAYER * sizes.config.numLayers +
    OPERATIONS_PER_ADAPTER * sizes.lora.length;
  const step = Math.max(
    decodeBytes(sizes, lanes, context) / bandwidth,
    lanes * (decode.layers + decode.attention + decode.head) / products,
    operations * start,
  );
  return {
    forwardRow: forward / products,
    trainedRow: trained / products,
    newToken: step / lanes,
    // Values, gradients and moments are read; values and moments are written.
    update: (3 * gradients + 2 * moments) / bandwidth,
  };
}
