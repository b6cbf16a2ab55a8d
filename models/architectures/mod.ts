/**
 * All architectures by `model_type`, and what a configuration's architecture says about its parts.
 */
import { deltaWidth } from "../../kernels/ops/delta_rule/spec.ts";
import { kvSource, layerSizes, layerType, type ModelConfig } from "./model_config.ts";
import {
  type Architecture,
  type ArchitectureName,
  BEFORE_LAYERS,
  convolves,
  type HeadModule,
  LAYER_NORMS,
  type LayerNorm,
  type LayerPart,
  MIXER_PARTS,
  type Module,
  MODULES,
  NUMBERS,
  OF_KEYS,
  type OncePart,
  PER_LAYER,
  type Scalar,
} from "./architecture.ts";
import { GEMMA2, GEMMA3 } from "./gemma.ts";
import { GEMMA4 } from "./gemma4.ts";
import { GPT2 } from "./gpt2.ts";
import { GRANITE, GRANITE_HYBRID } from "./granite.ts";
import { LFM2 } from "./lfm.ts";
import { LLAMA, MINISTRAL3, MISTRAL, QWEN2, QWEN3 } from "./llama.ts";
import { GPT_OSS, isOfExperts, isParameter, MIXTRAL, QWEN3_MOE } from "./mixtures.ts";
import { OLMO2, OLMO3 } from "./olmo.ts";
import { PHI3 } from "./phi.ts";
import { QWEN3_5 } from "./qwen3_5.ts";
import { SMOLLM3 } from "./smollm3.ts";
import { nameInWrapper } from "./wrapper.ts";

export const ARCHITECTURES: Readonly<Record<ArchitectureName, Architecture>> = {
  llama: LLAMA,
  mistral: MISTRAL,
  qwen2: QWEN2,
  qwen3: QWEN3,
  gpt2: GPT2,
  smollm3: SMOLLM3,
  ministral3: MINISTRAL3,
  granite: GRANITE,
  granitemoehybrid: GRANITE_HYBRID,
  olmo2: OLMO2,
  olmo3: OLMO3,
  phi3: PHI3,
  gemma3_text: GEMMA3,
  gemma2: GEMMA2,
  lfm2: LFM2,
  qwen3_moe: QWEN3_MOE,
  mixtral: MIXTRAL,
  gpt_oss: GPT_OSS,
  qwen3_5_text: QWEN3_5,
  gemma4_text: GEMMA4,
};

export function architectureOf(config: ModelConfig): Architecture {
  return ARCHITECTURES[config.architecture ?? "llama"];
}

/** Name of a head that is not tied to the embedding. */
export const LM_HEAD = "lm_head.weight";

export function embeddingName(config: ModelConfig): string {
  return `${architectureOf(config).names.embedding}.weight`;
}

/** Name of the tensor that computes the logits. */
export function headName(config: ModelConfig): string {
  return config.tieWordEmbeddings ? embeddingName(config) : LM_HEAD;
}

const OF_MIXERS = new Set(Object.values(MIXER_PARTS).flat());

/** Whether a layer has a part; without a layer, whether any of the architecture has it. */
export function hasPart(config: ModelConfig, part: LayerPart, layer?: number): boolean {
  if (architectureOf(config).inLayer[part] === undefined) return false;
  if (config.perLayer === undefined && PER_LAYER.includes(part)) return false;
  if (layer === undefined) return true;
  if (layer < 0 || BEFORE_LAYERS.includes(part)) return layer < 0 && BEFORE_LAYERS.includes(part);
  if (OF_KEYS.includes(part) && kvSource(config, layer) !== layer) return false;
  return !OF_MIXERS.has(part) || MIXER_PARTS[layerType(config, layer)].includes(part);
}

/** Whether a layer has attention, and not a short convolution or a delta rule in its place. */
export function hasAttention(config: ModelConfig, layer: number): boolean {
  return !convolves(layerType(config, layer));
}

/** Channels of a layer's short convolution. */
export function convWidth({ delta, hiddenSize }: ModelConfig): number {
  return delta === undefined ? hiddenSize : deltaWidth(delta);
}

/** Linear modules of a layer; without a layer, of all kinds of layers. */
export function modulesOf(config: ModelConfig, layer?: number): readonly Module[] {
  return MODULES.filter((module) => hasPart(config, module, layer));
}

export function moduleNames(config: ModelConfig): string[] {
  const { inLayer } = architectureOf(config);
  return modulesOf(config).map((module) => inLayer[module]!);
}

/** Names within a layer of what an adapter's `target_parameters` may name. */
export function parameterNames(config: ModelConfig): string[] {
  const { inLayer } = architectureOf(config);
  return modulesOf(config).filter((module) => isParameter(config, module)).map((module) =>
    inLayer[module]!
  );
}

export function hasBias(config: ModelConfig, module: Module | HeadModule): boolean {
  const biases: readonly string[] = config.biases ?? architectureOf(config).biases;
  return biases.includes(module);
}

/**
 * Input and output width of a linear module; of one expert, where it has several.
 * @param layer null = the widest of all layers
 */
export function linearDims(
  config: ModelConfig,
  module: Module | HeadModule,
  layer: number | null,
): [inDim: number, out: number] {
  const { hiddenSize: d, experts, delta, perLayer: p = 0 } = config;
  const { q, kv, f } = layerSizes(config, layer);
  const { valueHeads = 0, valueDim = 0 } = delta ?? {}, values = valueHeads * valueDim;
  const dims: Readonly<Record<Module | HeadModule, [inDim: number, out: number]>> = {
    q: [d, architectureOf(config).attentionGate ? 2 * q : q],
    k: [d, kv],
    v: [d, kv],
    qkv: [d, q + 2 * kv],
    o: [q, d],
    gate: [d, f],
    up: [d, f],
    gateUp: [d, 2 * f],
    down: [f, d],
    convIn: [d, 3 * d],
    convOut: [d, d],
    router: [d, experts?.count ?? 1],
    deltaQkv: [d, convWidth(config)],
    deltaZ: [d, values],
    deltaB: [d, valueHeads],
    deltaA: [d, valueHeads],
    deltaOut: [values, d],
    perLayerGate: [d, p],
    perLayerOut: [p, d],
    perLayerModel: [d, config.numLayers * p],
    lm_head: [d, config.vocabSize],
  };
  return dims[module];
}

/** Elements `d` that a norm of a layer sees at once, and how often a row of the layer has them. */
export function normSize(
  config: ModelConfig,
  norm: LayerNorm,
  layer: number,
): { d: number; repeats: number } {
  const { hiddenSize, numHeads, numKvHeads, numLayers, delta, perLayer } = config;
  if (norm === "deltaNorm") return { d: delta!.valueDim, repeats: delta!.valueHeads };
  if (norm === "perLayerModelNorm") return { d: perLayer!, repeats: numLayers };
  const heads = { qNorm: numHeads, kNorm: numKvHeads, vNorm: numKvHeads }[norm as "qNorm"];
  if (heads === undefined) return { d: hiddenSize, repeats: 1 };
  const { headDim } = layerSizes(config, layer);
  return architectureOf(config).headNorm === "row"
    ? { d: heads * headDim, repeats: 1 }
    : { d: headDim, repeats: heads };
}

/** Positions that a position of a layer attends to, itself included; null = all before it. */
export function layerWindow(config: ModelConfig, layer: number): number | null {
  return layerType(config, layer) === "full" ? null : config.slidingWindow ?? null;
}

/** The windows of all layers, each once. */
export function layerWindows(config: ModelConfig): (number | null)[] {
  return [...new Set(Array.from({ length: config.numLayers }, (_, l) => layerWindow(config, l)))];
}

/** A scalar of the model, or what it is without. */
export function scalarOf(config: ModelConfig, scalar: Scalar): number {
  return config.scalars?.[scalar] ??
    (scalar === "attention" ? 1 / Math.sqrt(config.headDim) : 1);
}

/** Such as "model.layers.0.self_attn.q_proj". */
export function modulePath(config: ModelConfig, layer: number, part: LayerPart): string {
  const { layers, inLayer } = architectureOf(config);
  return layer < 0 ? `model.${inLayer[part]}` : `${layers}${layer}.${inLayer[part]}`;
}

/** The path of a module, or the name of a tensor, as PEFT's adapters have it. */
export function peftPath({ wrapped = false }: ModelConfig, path: string): string {
  return wrapped ? nameInWrapper(path) : path;
}

/** Whether a part has no module, but numbers. */
function isNumber(part: LayerPart | OncePart): boolean {
  return (NUMBERS as readonly string[]).includes(part);
}

export interface ModelTensor {
  /** Its name in transformers: the path of its part, and its kind where that has one. */
  name: string;
  part: LayerPart | OncePart;
  /** Null for what there is once. */
  layer: number | null;
  kind: "weight" | "bias";
  shape: readonly number[];
  /** False for norm weights and biases. */
  decay: boolean;
  embedding?: boolean;
}

/** Whether a tensor is a matrix, or one for each expert, whose biases are no matrix. */
export function isMatrix({ kind, shape }: ModelTensor): boolean {
  return kind === "weight" && shape.length > 1;
}

/** All tensors of the base model, as in a checkpoint in Hugging Face's format. */
export function modelTensors(config: ModelConfig): ModelTensor[] {
  const { names, layerNorm, inOut } = architectureOf(config), d = config.hiddenSize;
  const tensors: ModelTensor[] = [];
  const add = (
    part: LayerPart | OncePart,
    layer: number | null,
    shape: readonly number[],
    more: { kind?: "bias"; decay?: boolean; embedding?: boolean } = {},
  ) => {
    const { kind = "weight", decay = false } = more;
    const path = layer === null
      ? names[part as OncePart]
      : modulePath(config, layer, part as LayerPart);
    const name = isNumber(part) ? path! : `${path}.${kind}`;
    tensors.push({ name, part, layer, shape, ...more, kind, decay });
  };
  const norm = (part: LayerPart | OncePart, layer: number | null, width = d) => {
    add(part, layer, [width]);
    if (layerNorm) add(part, layer, [width], { kind: "bias" });
  };
  const table = { decay: true, embedding: true };
  add("embedding", null, [config.vocabSize, d], table);
  if (names.positions !== undefined) add("positions", null, [config.maxPositions, d], table);
  if (names.perLayerTable !== undefined && config.perLayer !== undefined) {
    add("perLayerTable", null, [config.vocabSize, config.numLayers * config.perLayer], table);
  }
  for (let layer = -1; layer < config.numLayers; layer++) {
    for (const part of LAYER_NORMS) {
      // The norm of values has no weight.
      if (part === "vNorm" || !hasPart(config, part, layer)) continue;
      norm(part, layer, normSize(config, part, layer).d);
    }
    if (hasPart(config, "conv", layer)) {
      add("conv", layer, [convWidth(config), 1, config.convTaps!], { decay: true });
    }
    for (const part of NUMBERS) {
      const { numHeads, delta } = config, others = { layerScalar: 1, sinks: numHeads };
      const count = others[part as "sinks"] ?? delta?.valueHeads;
      if (hasPart(config, part, layer)) add(part, layer, [count!]);
    }
    for (const module of modulesOf(config, layer)) {
      const [inDim, outDim] = linearDims(config, module, layer);
      const shape = inOut ? [inDim, outDim] : [outDim, inDim];
      const each = isOfExperts(config, module) ? [config.experts!.count] : [];
      add(module, layer, [...each, ...shape], { decay: true });
      if (hasBias(config, module)) add(module, layer, [...each, outDim], { kind: "bias" });
    }
  }
  norm("finalNorm", null);
  if (!config.tieWordEmbeddings) add("head", null, [config.vocabSize, d], { decay: true });
  return tensors;
}

/** A tensor of a file: its name, its shape, and where its values begin in a tensor of the model. */
export interface FileTensor {
  name: string;
  shape: readonly number[];
  from: number;
  /** Whether the matrices are transposed in the file. */
  transposed?: boolean;
}

/** A tensor as checkpoints hold it: whole, or of experts each matrix by itself. */
export function fileTensors(
  config: ModelConfig,
  { name, part, layer, kind, shape }: ModelTensor,
): FileTensor[] {
  const { experts, layers } = architectureOf(config);
  if (experts === undefined || layer === null) return [{ name, shape, from: 0 }];
  if (experts.stored === null) {
    if (!isOfExperts(config, part)) return [{ name, shape, from: 0 }];
    if (kind === "bias") return [{ name: name.replace(/\.bias$/, "_bias"), shape, from: 0 }];
    const [count, out, width] = shape as [number, number, number];
    const named = name.replace(/\.weight$/, "");
    return [{ name: named, shape: [count, width, out], from: 0, transposed: true }];
  }
  const [block, gate, up, down] = experts.stored, path = `${layers}${layer}.${block}`;
  if (part === "router") return [{ name: `${path}.gate.weight`, shape, from: 0 }];
  if (!isOfExperts(config, part)) return [{ name, shape, from: 0 }];
  const parts = part === "down" ? [down] : [gate, up], [count, rows, width] = shape;
  return Array.from({ length: count! * parts.length }, (_, i) => {
    const each = [rows! / parts.length, width!], expert = Math.floor(i / parts.length);
    return {
      name: `${path}.experts.${expert}.${parts[i % parts.length]}.weight`,
      shape: each,
      from: i * each[0]! * each[1]!,
    };
  });
}

/** Whether `decode_layer` can compute all layers: a Llama's without biases or a window. */
export function isPlainLlama(config: ModelConfig): boolean {
  const { inLayer } = architectureOf(config);
  const { slidingWindow = null, scalars, unrotated, rotaryDim, growingQueries } = config;
  return Object.keys(inLayer).every((part) => part in LLAMA.inLayer) && hasPart(config, "gate") &&
    [scalars, unrotated, rotaryDim, growingQueries].every((special) => special === undefined) &&
    slidingWindow === null &&
    !modulesOf(config).some((module) => hasBias(config, module));
}
