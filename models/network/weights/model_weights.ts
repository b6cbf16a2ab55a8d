/**
 * The tensors of a model and of its adapter as parameters, and their arrangement by layer for the
 * passes. A tied model has no lm_head tensor; a source that has only `lm_head.weight` provides the
 * embedding with it.
 */
import { RgxError } from "../../../core/errors.ts";
import type { Device } from "../../../kernels/device.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import {
  HEAD_MODULE,
  type HeadModule,
  LAYER_NORMS,
  type LayerNorm,
  type LayerPart,
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
  normSize,
  peftPath,
} from "../../architectures/mod.ts";
import { isOfExperts, isParameter, matrixCount } from "../../architectures/mixtures.ts";
import type { Linear, LoraWeights } from "../linear.ts";
import {
  type AdapterTensor,
  initialLora,
  loraFor,
  loraForParameter,
  loraNames,
  type LoraOptions,
  type LoraShape,
  loraTensors,
} from "../adapters/lora.ts";
import {
  arrangeEmbedding,
  type EmbeddingPlacement,
  embeddingTensors,
  initialEmbedding,
  tokensOfHead,
} from "./embedding_placement.ts";
import { type EmbeddingAdapter, isTrained } from "../embedding_adapter.ts";
import type { NormWeights } from "../norm.ts";
import type { RopeTables } from "../rope_table.ts";
import type { Parameters, ParameterSpec } from "./parameters.ts";
import { addProduct, rowSquares, weightFactors } from "../adapters/weight_factors.ts";
import { isSavedModule, type SavedTensor } from "../adapters/modules_to_save.ts";
import { ALL_FLOAT, type WeightStorage } from "../../formats/stored_weight.ts";
import { layerSizes, type ModelConfig } from "../../architectures/model_config.ts";
import type { RowReader } from "../../formats/row_reader.ts";
import type { Parameter } from "../types.ts";

/** The module, rank and scale of an adapter in a layer or, with `layer` null, of the head's. */
export interface LoraPlacement extends LoraShape {
  layer: number | null;
  module: Module | HeadModule;
  path: string;
  peftPath: string;
}

/** The module's number in the model, which keys its dropout masks. It must never change. */
function loraSite(config: ModelConfig, { layer, module }: LoraPlacement): number {
  const modules: readonly (Module | HeadModule)[] = modulesOf(config);
  const place = layer === null || layer < 0 ? config.numLayers : layer;
  return place * modules.length + Math.max(0, modules.indexOf(module));
}

export function layerAdapters(lora: readonly LoraPlacement[]): LoraPlacement[] {
  return lora.filter(({ layer }) => layer !== null);
}

/** The adapter of the head; null without one. */
export function headAdapter(lora: readonly LoraPlacement[]): LoraPlacement | null {
  return lora.find(({ layer }) => layer === null) ?? null;
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

/** The adapters that options ask for. @param embeds if one is on the embedding. @throws RgxError */
export function placeLora(
  config: ModelConfig,
  options: LoraOptions,
  embeds = false,
): LoraPlacement[] {
  const placed: LoraPlacement[] = [];
  for (let layer = -1; layer < config.numLayers; layer++) {
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
    const shape = loraFor(options, HEAD_MODULE, null), path = HEAD_MODULE;
    if (shape !== null) placed.push({ ...shape, layer: null, module: path, path, peftPath: path });
  }
  if (placed.length === 0 && !embeds) {
    throw new RgxError("LoRA's target_modules select no module of this model", {
      advice: `modules are called like ${modulePath(config, 0, modulesOf(config)[0]!)}`,
    });
  }
  return placed;
}

export function baseSpecs(
  config: ModelConfig,
  trainable: boolean,
  storage: WeightStorage = ALL_FLOAT,
  holdsTable = trainable,
): ParameterSpec[] {
  const specs = modelTensors(config).filter(({ part }) => holdsTable || part !== "perLayerTable")
    .map(
      (tensor): ParameterSpec => ({
        ...tensor,
        trainable: trainable && tensor.part !== "layerScalar",
        storage: storage.get(tensor.name) ?? null,
      }),
    );
  if (!hasPart(config, "vNorm")) return specs;
  const { headDim } = layerSizes(config, null);
  return [...specs, { name: ONES, shape: [headDim], decay: false, trainable: false }];
}

/** The weight of norms that have none. */
export const ONES = "ones";

/** An adapter's tensors: low-rank matrices, and full copies of modules. */
export interface AdapterTensors {
  lora: readonly LoraPlacement[];
  saved: readonly SavedTensor[];
  /** That of the table of embeddings; null or absent = none. */
  embedding?: EmbeddingPlacement | null;
}

/** The tensors of an adapter: those of its file, and those that are computed. */
export function adapterTensors(
  config: ModelConfig,
  { lora, saved, embedding = null }: AdapterTensors,
): AdapterTensor[] {
  return [
    ...saved,
    ...lora.flatMap((l) =>
      loraTensors(l, linearDims(config, l.module, l.layer), matrixCount(config, l.module))
    ),
    ...(embedding === null ? [] : embeddingTensors(config, embedding)),
  ];
}

export function adapterSpecs(
  config: ModelConfig,
  tensors: AdapterTensors,
  trained: boolean,
): ParameterSpec[] {
  return adapterTensors(config, tensors).map(({ name, shape, decay, computed = false }) => {
    return { name, shape, decay, trainable: trained && !computed, writable: computed };
  });
}

/** Initialises an adapter from its seed. Full copies begin with the base's values. */
export async function initializeAdapter(
  parameters: Parameters,
  config: ModelConfig,
  { lora, saved, embedding = null }: AdapterTensors,
  options: Pick<LoraOptions, "seed" | "init" | "taken">,
): Promise<void> {
  const { taken } = options;
  if (embedding !== null) {
    const { hiddenSize: d } = config, base = embeddingName(config);
    const row = (id: number) => parameters.read(base, id * d, d);
    const values = await initialEmbedding(config, embedding, options, row);
    for (const [name, data] of values) parameters.write(name, data);
  }
  for (const { name, base } of saved) parameters.write(name, await parameters.read(base));
  for (const { path, peftPath, layer, module, r, scale, bias, magnitude, from } of lora) {
    const names = loraNames(peftPath), dims = linearDims(config, module, layer);
    const { inOut } = architectureOf(config), pairs = matrixCount(config, module);
    const isRead = magnitude || from !== null && taken === undefined;
    const weight = isRead ? await parameters.read(`${path}.weight`) : null;
    const initial = initialLora(options, names, r * pairs, dims);
    const { a, b } = from === null
      ? initial
      : taken !== undefined
      ? { a: await taken(names.initialA), b: await taken(names.initialB) }
      : weightFactors(from, weight!, { dims, inOut, r, scale });
    parameters.write(names.a, a);
    parameters.write(names.b, b);
    if (bias) parameters.write(names.bias, initial.bias);
    if (from !== null) {
      parameters.write(names.initialA, a);
      parameters.write(names.initialB, b);
    }
    if (!magnitude) continue;
    parameters.write(names.squares, rowSquares(weight!, dims, inOut));
    addProduct(weight!, a, b, { dims, inOut, scale });
    parameters.write(names.magnitude, rowSquares(weight!, dims, inOut).map(Math.sqrt));
  }
}

/** Only the linear modules of the layer exist; the others must not be read. */
export type LayerWeights = Record<Module, Linear> & {
  /** A factor of the layer's output; null = 1. */
  scalar: Parameter | null;
  /** The weight of a short convolution, [d, 1, taps]; null = the layer has attention. */
  conv: Parameter | null;
  /** What only a delta rule has; null without one. */
  delta: { aLog: Parameter; dtBias: Parameter } | null;
  /** What the softmax of each head has besides; null = nothing. */
  sinks: Parameter | null;
  norms: Partial<Record<LayerNorm, NormWeights>>;
};

/** A model's weights on a device, with what every pass over them needs. */
export interface Network {
  readonly device: Device;
  readonly config: ModelConfig;
  readonly weights: ModelWeights;
  readonly rope: RopeTables;
  /** Largest rank of an adapter; 0 without adapters. */
  readonly maxRank: number;
  /** Reads rows of the table of `perLayer` from its file; null = there is none, or it is held. */
  readonly tokenRows: RowReader | null;
}

export interface ModelWeights {
  embedding: Parameter;
  /** [maxPositions, d], added to the embedding; null with rotary positions. */
  positions: Parameter | null;
  /** What makes the inputs that each layer has of its own; null = there are none. */
  perLayer: {
    model: Linear; // [d] to [layers·width]
    norm: NormWeights;
    /** [vocab, layers·width]; null = its rows are read from the file. */
    table: Parameter | null;
  } | null;
  layers: LayerWeights[];
  finalNorm: NormWeights;
  /** The embedding when the head is tied. */
  head: Parameter & Pick<Linear, "activations">;
  headLora: LoraWeights | null;
  embeddingAdapter: EmbeddingAdapter | null;
  /** The head in packed form (kernels/ops/matmul/spec.ts) for decoding; null = not packed. */
  packedHead: Tensor | null;
  /** Lowest layer with a trained tensor; numLayers = none, −1 = an embedding. */
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
  const { hiddenSize, rmsNormEps: eps } = config;
  const norm = (name: string, part?: LayerNorm, layer = 0): NormWeights => ({
    weight: part === "vNorm" ? parameters.get(ONES) : get(`${name}.weight`),
    bias: layerNorm ? get(`${name}.bias`) : null,
    offset: norm1 && part !== "deltaNorm" ? 1 : 0,
    ...(part === undefined ? { d: hiddenSize, repeats: 1 } : normSize(config, part, layer)),
    eps,
  });
  const adapterAt = (path: string): LoraWeights | null => {
    const adapter = placed.get(path);
    if (adapter === undefined) return null;
    const names = loraNames(adapter.peftPath);
    const find = (part: keyof typeof names) => parameters.get(names[part]);
    const value = (part: keyof typeof names) => find(part).value;
    const { r, scale } = adapter, a = find("a"), b = find("b");
    return {
      a: a.value,
      packedA: null,
      b: b.value,
      da: a.grad,
      db: b.grad,
      r,
      scale,
      site: loraSite(config, adapter),
      bias: adapter.bias ? find("bias") : null,
      dora: adapter.magnitude
        ? {
          magnitude: value("magnitude"),
          dmagnitude: find("magnitude").grad,
          squares: value("squares"),
          rho: value("rho"),
          gain: value("gain"),
        }
        : null,
      initial: adapter.from === null ? null : { a: value("initialA"), b: value("initialB") },
    };
  };
  const linear = (layer: number, module: Module): Linear => {
    const path = modulePath(config, layer, module);
    const [inDim, outDim] = linearDims(config, module, layer);
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
    const norms = LAYER_NORMS.filter((part) => hasPart(config, part, layer))
      .map((part) => [part, norm(modulePath(config, layer, part), part, layer)]);
    const find = (part: LayerPart, kind = "") =>
      hasPart(config, part, layer) ? get(`${modulePath(config, layer, part)}${kind}`) : null;
    const aLog = find("aLog"), dtBias = find("dtBias");
    return {
      ...linears,
      scalar: find("layerScalar"),
      conv: find("conv", ".weight"),
      delta: aLog !== null && dtBias !== null ? { aLog, dtBias } : null,
      sinks: find("sinks"),
      norms: Object.fromEntries(norms),
    };
  });
  const embedding = get(embeddingName(config));
  const positions = names.positions === undefined ? null : get(`${names.positions}.weight`);
  const embeddingAdapter = placedEmbedding === null
    ? null
    : arrangeEmbedding(placedEmbedding, (name) => parameters.get(name));
  const tableName = `${names.perLayerTable}.weight`;
  const perLayer = !hasPart(config, "perLayerModel") ? null : {
    model: linear(-1, "perLayerModel"),
    norm: norm(modulePath(config, -1, "perLayerModelNorm"), "perLayerModelNorm"),
    table: parameters.has(tableName) || copies.has(tableName) ? get(tableName) : null,
  };
  const ownTrained = perLayer !== null &&
    (isTrainedLinear(perLayer.model) || perLayer.norm.weight.grad !== null ||
      perLayer.table?.grad != null);
  const tied = config.tieWordEmbeddings && !copies.has(LM_HEAD);
  return {
    embedding,
    positions,
    perLayer,
    layers,
    finalNorm: norm(names.finalNorm),
    head: tied ? parameters.get(embeddingName(config)) : get(LM_HEAD),
    headLora: tied && embeddingAdapter?.kind === "tokens"
      ? tokensOfHead(embeddingAdapter)
      : adapterAt(HEAD_MODULE),
    embeddingAdapter,
    packedHead: null,
    lowestTrained: embedding.grad !== null || positions?.grad != null || ownTrained ||
        embeddingAdapter !== null && isTrained(embeddingAdapter)
      ? -1
      : lowestTrained(layers),
  };
}

function isTrainedLinear({ dweight, bias, lora }: Linear): boolean {
  return dweight !== null || bias?.grad != null || lora?.da != null;
}

/** An input norm counts as one layer lower: its gradient needs the layer's input's derivative. */
function lowestTrained(layers: readonly LayerWeights[]): number {
  const trains = (norm: NormWeights) => norm.weight.grad !== null || norm.bias?.grad != null;
  for (const [l, { norms, conv, delta, sinks, scalar: _, ...linears }] of layers.entries()) {
    const { inputNorm, ...others } = norms, numbers = [conv, delta?.aLog, delta?.dtBias, sinks];
    if (inputNorm !== undefined && trains(inputNorm)) return l - 1;
    const inLinears = Object.values(linears as Record<Module, Linear>).some(isTrainedLinear);
    const inNumbers = numbers.some((one) => one?.grad != null);
    if (inLinears || inNumbers || Object.values(others).some(trains)) return l;
  }
  return layers.length;
}
