/**
 * The tensors of a model and of its adapter as parameters, and their arrangement by layer for the
 * passes. A tied model has no lm_head tensor; a source that has only `lm_head.weight` provides the
 * embedding with it.
 */
import { RgxError } from "../../../core/errors.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import {
  HEAD_MODULE,
  type HeadModule,
  type LayerNorm,
  type Module,
} from "../../architectures/architecture.ts";
import {
  architectureOf,
  embeddingName,
  hasBias,
  hasPart,
  linearDims,
  LM_HEAD,
  modelTensors,
  modulePath,
  modulesOf,
  peftPath,
} from "../../architectures/mod.ts";
import { isOfExperts, isParameter, matrixCount } from "../../architectures/mixtures.ts";
import type { Linear, LoraWeights } from "../linear.ts";
import {
  computedNames,
  computedTensors,
  initialLoraA,
  initialLoraB,
  initialLoraBias,
  loraFor,
  loraForParameter,
  loraNames,
  type LoraOptions,
  type LoraShape,
  type LoraTensor,
  loraTensors,
} from "../adapters/lora.ts";
import {
  arrangeEmbedding,
  computedOfEmbedding,
  type EmbeddingPlacement,
  embeddingTensors,
  initialEmbedding,
  tokensOfHead,
} from "./embedding_placement.ts";
import { type EmbeddingAdapter, isTrained } from "../embedding_adapter.ts";
import type { NormWeights } from "../norm.ts";
import type { Parameters, ParameterSpec } from "./parameters.ts";
import { weightFactors } from "../adapters/weight_factors.ts";
import { addProduct, rowSquares } from "../adapters/weight_rows.ts";
import { isSavedModule, type SavedTensor } from "../adapters/modules_to_save.ts";
import { ALL_FLOAT, type WeightStorage } from "../../formats/stored_weight.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { Parameter } from "../types.ts";

/** The module's number in the model, which keys its dropout masks. It must never change. */
function loraSite(config: ModelConfig, { layer, module }: LoraPlacement): number {
  const modules = modulesOf(config);
  return layer === null
    ? config.numLayers * modules.length
    : layer * modules.length + modules.indexOf(module);
}

/** The module, rank and scale of an adapter in a layer. */
export interface LayerPlacement extends LoraShape {
  layer: number;
  module: Module;
  path: string;
  /** The path as PEFT has it. */
  peftPath: string;
}

/** The rank and scale of the head's adapter. */
export interface HeadPlacement extends LoraShape {
  layer: null;
  module: HeadModule;
  path: HeadModule;
  peftPath: HeadModule;
}

export type LoraPlacement = LayerPlacement | HeadPlacement;

/** The adapters in the layers. */
export function layerAdapters(lora: readonly LoraPlacement[]): LayerPlacement[] {
  return lora.filter((placed) => placed.layer !== null);
}

/** The adapter of the head; null without one. */
export function headAdapter(lora: readonly LoraPlacement[]): HeadPlacement | null {
  return lora.find((placed) => placed.layer === null) ?? null;
}

/** Largest rank of an adapter in a layer; 0 without one. */
export function maxLayerRank(lora: readonly LoraPlacement[]): number {
  return Math.max(0, ...layerAdapters(lora).map(({ r }) => r));
}

function parameterShape(
  config: ModelConfig,
  options: LoraOptions,
  layer: number,
  module: Module,
): LoraShape | null {
  const path = peftPath(config, modulePath(config, layer, module));
  return loraForParameter(options, isOfExperts(config, module) ? path : `${path}.weight`, layer);
}

/**
 * All adapters of linear modules that the options ask for. A module that is trained in full has
 * none.
 * @param embeds whether the embedding has one
 * @throws RgxError when the options select no module
 */
export function placeLora(
  config: ModelConfig,
  options: LoraOptions,
  embeds = false,
): LoraPlacement[] {
  const placed: LoraPlacement[] = [];
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const module of modulesOf(config, layer)) {
      const path = modulePath(config, layer, module), name = peftPath(config, path);
      if (isSavedModule(name, options.modulesToSave ?? [])) continue;
      const of = (module: Module) => parameterShape(config, options, layer, module);
      const shape = isParameter(config, module) ? of(module) : loraFor(options, name, layer);
      if (shape === null) continue;
      // PEFT wraps the experts once for each parameter: the last one is outside.
      const inside = module === "gateUp" && of("down") !== null ? ".base_layer" : "";
      const wrapper = isOfExperts(config, module) ? name.replace(/\.[^.]+$/, inside) : name;
      placed.push({ ...shape, layer, module, path, peftPath: wrapper });
    }
  }
  if (!isSavedModule(HEAD_MODULE, options.modulesToSave ?? [])) {
    const named = { path: HEAD_MODULE, peftPath: HEAD_MODULE } as const;
    const head = { layer: null, module: HEAD_MODULE, ...named } as const;
    const shape = loraFor(options, HEAD_MODULE, null);
    if (shape !== null) placed.push({ ...shape, ...head });
  }
  if (placed.length === 0 && !embeds) {
    throw new RgxError("LoRA's target_modules select no module of this model", {
      advice: `modules are called like ${modulePath(config, 0, modulesOf(config)[0]!)}`,
    });
  }
  return placed;
}

/** The base's tensors, with their storage types. */
export function baseSpecs(
  config: ModelConfig,
  trainable: boolean,
  storage: WeightStorage = ALL_FLOAT,
): ParameterSpec[] {
  return modelTensors(config).map((tensor) => ({
    ...tensor,
    trainable,
    storage: storage.get(tensor.name) ?? null,
  }));
}

/** An adapter's tensors: low-rank matrices, and full copies of modules. */
export interface AdapterTensors {
  lora: readonly LoraPlacement[];
  saved: readonly SavedTensor[];
  /** That of the table of embeddings; null or absent = none. */
  embedding?: EmbeddingPlacement | null;
}

/** The tensors of an adapter's file. */
export function adapterTensors(
  config: ModelConfig,
  { lora, saved, embedding = null }: AdapterTensors,
): LoraTensor[] {
  return [
    ...saved,
    ...lora.flatMap((l) =>
      loraTensors(l, linearDims(config, l.module), matrixCount(config, l.module))
    ),
    ...(embedding === null ? [] : embeddingTensors(config, embedding)),
  ];
}

/** An adapter's tensors as parameters, with what is computed from them. */
export function adapterSpecs(
  config: ModelConfig,
  tensors: AdapterTensors,
  trainable: boolean,
): ParameterSpec[] {
  const trained = adapterTensors(config, tensors).map(({ name, shape, decay }) => ({
    name,
    shape,
    decay,
    trainable,
  }));
  const { lora, embedding = null } = tensors;
  const computed = [
    ...lora.flatMap((l) => computedTensors(l, linearDims(config, l.module))),
    ...(embedding === null ? [] : computedOfEmbedding(config, embedding)),
  ];
  const rest = { decay: false, trainable: false, writable: true };
  return [...trained, ...computed.map((tensor) => ({ ...tensor, ...rest }))];
}

/** Initialises an adapter from its seed. Full copies begin with the base's values. */
export async function initializeAdapter(
  parameters: Parameters,
  config: ModelConfig,
  { lora, saved, embedding = null }: AdapterTensors,
  options: Pick<LoraOptions, "seed" | "init">,
): Promise<void> {
  if (embedding !== null) {
    const { hiddenSize: d } = config, base = embeddingName(config);
    for (
      const [name, data] of await initialEmbedding(
        config,
        embedding,
        options,
        (id) => parameters.read(base, id * d, d),
      )
    ) parameters.write(name, data);
  }
  for (const { name, base } of saved) parameters.write(name, await parameters.read(base));
  for (const { path, peftPath, module, r, scale, bias, magnitude, from } of lora) {
    const names = loraNames(peftPath), dims = linearDims(config, module), [inDim, outDim] = dims;
    const pairs = matrixCount(config, module);
    const { inOut } = architectureOf(config), { dora, initial } = computedNames(peftPath);
    const weight = magnitude || from !== null ? await parameters.read(`${path}.weight`) : null;
    const { a, b } = from === null
      ? {
        a: initialLoraA(options, names.a, r * pairs, inDim),
        b: initialLoraB(options, names.b, r * pairs, outDim),
      }
      : weightFactors(from, weight!, { dims, inOut, r, scale });
    parameters.write(names.a, a);
    parameters.write(names.b, b);
    if (bias) parameters.write(names.bias, initialLoraBias(options, names.bias, r, outDim));
    if (from !== null) {
      parameters.write(initial.a, a);
      parameters.write(initial.b, b);
    }
    if (!magnitude) continue;
    parameters.write(dora.squares, rowSquares(weight!, dims, inOut));
    addProduct(weight!, a, b, { dims, inOut, scale });
    parameters.write(names.magnitude, rowSquares(weight!, dims, inOut).map(Math.sqrt));
  }
}

/** Only the linear modules of the layer exist; the others must not be read. */
export type LayerWeights = Record<Module, Linear> & {
  /** The weight of a short convolution, [d, 1, taps]; null = the layer has attention. */
  conv: Parameter | null;
  /** What only a delta rule has; null without one. */
  delta: { aLog: Parameter; dtBias: Parameter; norm: NormWeights } | null;
  /** Norms before attention and MLP; null = there is none. */
  inputNorm: NormWeights | null;
  postNorm: NormWeights | null;
  /** Norms of what attention and MLP add to the residual stream. */
  attentionOutNorm: NormWeights | null;
  mlpOutNorm: NormWeights | null;
  /** Norms of queries and keys before their rotation. */
  headNorms: { q: NormWeights; k: NormWeights } | null;
};

export interface ModelWeights {
  embedding: Parameter;
  /** [maxPositions, d], added to the embedding; null with rotary positions. */
  positions: Parameter | null;
  layers: LayerWeights[];
  finalNorm: NormWeights;
  /** The embedding when the head is tied. */
  head: Parameter & Pick<Linear, "activations">;
  headLora: LoraWeights | null;
  embeddingAdapter: EmbeddingAdapter | null;
  /** The head in packed form (kernels/ops/matmul/spec.ts) for decoding; null = not packed. */
  packedHead: Tensor | null;
  /**
   * Lowest layer with a trainable tensor; numLayers when there is none, −1 when an embedding is
   * trained.
   */
  lowestTrained: number;
}

/** The layers with other linear modules in place of theirs. */
export function withLinears(
  config: ModelConfig,
  { layers }: Pick<ModelWeights, "layers">,
  change: (linear: Linear, layer: number, module: Module) => Linear,
): LayerWeights[] {
  return layers.map((layer, l) => {
    const changed = { ...layer };
    for (const module of modulesOf(config, l)) changed[module] = change(layer[module], l, module);
    return changed;
  });
}

/** Arranges parameters by layer, with the adapter's tensors in their places. */
export function arrangeWeights(
  parameters: Parameters,
  config: ModelConfig,
  { lora, saved, embedding: placedEmbedding = null }: AdapterTensors,
): ModelWeights {
  const { names, layerNorm, norm1, inOut } = architectureOf(config);
  const placed = new Map<string, LoraPlacement>(lora.map((l) => [l.path, l]));
  const copies = new Map(saved.map(({ replaces, name }) => [replaces, name]));
  const get = (name: string): Parameter => parameters.get(copies.get(name) ?? name);
  const norm = (name: string, offset = norm1 ? 1 : 0): NormWeights => ({
    weight: get(`${name}.weight`),
    bias: layerNorm ? get(`${name}.bias`) : null,
    offset,
  });
  const adapterAt = (path: string): LoraWeights | null => {
    const adapter = placed.get(path);
    if (adapter === undefined) return null;
    const names = loraNames(adapter.peftPath), computed = computedNames(adapter.peftPath);
    const a = parameters.get(names.a), b = parameters.get(names.b);
    const { r, scale } = adapter, site = loraSite(config, adapter);
    const pair = { a: a.value, packedA: null, b: b.value, da: a.grad, db: b.grad };
    const bias = adapter.bias ? parameters.get(names.bias) : null;
    const magnitude = adapter.magnitude ? parameters.get(names.magnitude) : null;
    const dora = magnitude === null ? null : {
      magnitude: magnitude.value,
      dmagnitude: magnitude.grad,
      squares: parameters.get(computed.dora.squares).value,
      rho: parameters.get(computed.dora.rho).value,
      gain: parameters.get(computed.dora.gain).value,
    };
    const initial = adapter.from === null ? null : {
      a: parameters.get(computed.initial.a).value,
      b: parameters.get(computed.initial.b).value,
    };
    return { ...pair, r, scale, site, bias, dora, initial };
  };
  const linear = (layer: number, module: Module): Linear => {
    const path = modulePath(config, layer, module);
    const [inDim, outDim] = linearDims(config, module);
    const { value, grad, storage } = get(`${path}.weight`);
    return {
      weight: value,
      storage,
      inOut,
      packed: null,
      dweight: grad,
      bias: hasBias(config, module) ? get(`${path}.bias`) : null,
      lora: adapterAt(path),
      merged: false,
      experts: isOfExperts(config, module) ? config.experts!.count : null,
      inDim,
      outDim,
    };
  };
  const layers = Array.from({ length: config.numLayers }, (_, layer): LayerWeights => {
    const linears = Object.fromEntries(
      modulesOf(config, layer).map((module) => [module, linear(layer, module)]),
    ) as Record<Module, Linear>;
    const normOf = (part: LayerNorm) =>
      hasPart(config, part, layer) ? norm(modulePath(config, layer, part)) : null;
    const q = normOf("qNorm"), k = normOf("kNorm");
    return {
      ...linears,
      conv: hasPart(config, "conv", layer)
        ? get(`${modulePath(config, layer, "conv")}.weight`)
        : null,
      delta: hasPart(config, "aLog", layer)
        ? {
          aLog: get(modulePath(config, layer, "aLog")),
          dtBias: get(modulePath(config, layer, "dtBias")),
          norm: norm(modulePath(config, layer, "deltaNorm"), 0),
        }
        : null,
      inputNorm: normOf("inputNorm"),
      postNorm: normOf("postNorm"),
      attentionOutNorm: normOf("attentionOutNorm"),
      mlpOutNorm: normOf("mlpOutNorm"),
      headNorms: q !== null && k !== null ? { q, k } : null,
    };
  });
  const embedding = get(embeddingName(config));
  const positions = names.positions === undefined ? null : get(`${names.positions}.weight`);
  const embeddingAdapter = placedEmbedding === null
    ? null
    : arrangeEmbedding(placedEmbedding, (name) => parameters.get(name));
  const tied = config.tieWordEmbeddings && !copies.has(LM_HEAD);
  return {
    embedding,
    positions,
    layers,
    finalNorm: norm(names.finalNorm),
    head: tied ? parameters.get(embeddingName(config)) : get(LM_HEAD),
    headLora: tied && embeddingAdapter?.kind === "tokens"
      ? tokensOfHead(embeddingAdapter)
      : adapterAt(HEAD_MODULE),
    embeddingAdapter,
    packedHead: null,
    lowestTrained: embedding.grad !== null || positions?.grad != null ||
        embeddingAdapter !== null && isTrained(embeddingAdapter)
      ? -1
      : lowestTrained(layers),
  };
}

/**
 * An input norm's gradient needs the derivative by the layer's input, so it counts as one layer
 * lower.
 */
function lowestTrained(layers: readonly LayerWeights[]): number {
  for (const [l, layer] of layers.entries()) {
    const { inputNorm, postNorm, attentionOutNorm, mlpOutNorm, headNorms, ...others } = layer;
    const { conv, delta, ...linears } = others, numbers = [conv, delta?.aLog, delta?.dtBias];
    const trains = (norm: NormWeights | null) =>
      norm !== null && (norm.weight.grad !== null || norm.bias?.grad != null);
    if (trains(inputNorm)) return l - 1;
    const heads = [...Object.values(headNorms ?? {}), delta?.norm ?? null];
    const norms = [postNorm, attentionOutNorm, mlpOutNorm, ...heads];
    const inLinears = Object.values(linears as Record<Module, Linear>).some(
      ({ dweight, bias, lora }) => dweight !== null || bias?.grad != null || lora?.da != null,
    );
    if (inLinears || norms.some(trains) || numbers.some((one) => one?.grad != null)) return l;
  }
  return layers.length;
}
