/**
 * Which tensors a Llama model has (Hugging Face names, weights [out, in]), and their arrangement by layer
 * for the forward and backward passes. Tied models have no lm_head of their own; a source that holds only
 * `lm_head.weight` gives the embedding through it.
 */
import { RgxError } from "../core/errors.ts";
import type { Tensor } from "../kernels/device.ts";
import type { Linear } from "./linear.ts";
import {
  initialLoraA,
  LORA_MODULES,
  loraFor,
  type LoraModule,
  loraNames,
  type LoraOptions,
  type LoraShape,
} from "./lora.ts";
import type { Parameters, ParameterSpec } from "./parameters.ts";
import { elementCount } from "./safetensors.ts";
import type { LlamaConfig, Parameter, WeightSource } from "./types.ts";

export const EMBEDDING = "model.embed_tokens.weight";
export const FINAL_NORM = "model.norm.weight";
export const LM_HEAD = "lm_head.weight";

/** A tensor of the base model. */
export interface LlamaTensor {
  name: string;
  shape: readonly number[];
  /** False for norm weights. */
  decay: boolean;
}

/** Input and output width of a linear module. */
export function linearDims(config: LlamaConfig, module: LoraModule): [inDim: number, out: number] {
  const d = config.hiddenSize, f = config.intermediateSize;
  const q = config.numHeads * config.headDim, kv = config.numKvHeads * config.headDim;
  switch (module) {
    case "q_proj":
      return [d, q];
    case "k_proj":
    case "v_proj":
      return [d, kv];
    case "o_proj":
      return [q, d];
    case "gate_proj":
    case "up_proj":
      return [d, f];
    case "down_proj":
      return [f, d];
  }
}

/** "model.layers.0.self_attn.q_proj" */
export function modulePath(layer: number, module: LoraModule): string {
  const part = module === "gate_proj" || module === "up_proj" || module === "down_proj"
    ? "mlp"
    : "self_attn";
  return `model.layers.${layer}.${part}.${module}`;
}

/** Number of a module in the model, which keys its dropout: never to be changed. */
function loraSite(layer: number, module: LoraModule): number {
  return layer * LORA_MODULES.length + LORA_MODULES.indexOf(module);
}

/** All tensors of the base model, as a checkpoint in Hugging Face's format holds them. */
export function llamaTensors(config: LlamaConfig): LlamaTensor[] {
  const d = config.hiddenSize;
  const tensors: LlamaTensor[] = [
    { name: EMBEDDING, shape: [config.vocabSize, d], decay: true },
  ];
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const norm of ["input_layernorm", "post_attention_layernorm"]) {
      tensors.push({ name: `model.layers.${layer}.${norm}.weight`, shape: [d], decay: false });
    }
    for (const module of LORA_MODULES) {
      const [inDim, outDim] = linearDims(config, module);
      const name = `${modulePath(layer, module)}.weight`;
      tensors.push({ name, shape: [outDim, inDim], decay: true });
    }
  }
  tensors.push({ name: FINAL_NORM, shape: [d], decay: false });
  if (!config.tieWordEmbeddings) {
    tensors.push({ name: LM_HEAD, shape: [config.vocabSize, d], decay: true });
  }
  return tensors;
}

/** An adapter's place and size. */
export interface LoraPlacement extends LoraShape {
  layer: number;
  module: LoraModule;
  path: string;
}

/** Every adapter that the options ask for. @throws RgxError when they select nothing. */
export function placeLora(config: LlamaConfig, options: LoraOptions): LoraPlacement[] {
  const placed: LoraPlacement[] = [];
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const module of LORA_MODULES) {
      const path = modulePath(layer, module);
      const shape = loraFor(options, path, layer);
      if (shape !== null) placed.push({ ...shape, layer, module, path });
    }
  }
  if (placed.length === 0) {
    throw new RgxError("LoRA's target_modules select no module of this model", {
      advice: `modules are called like ${modulePath(0, "q_proj")}`,
    });
  }
  return placed;
}

/** Base tensors and adapters with what is trained of them. */
export function parameterSpecs(
  config: LlamaConfig,
  lora: readonly LoraPlacement[],
  trainable: "lora" | "full" | "none",
): ParameterSpec[] {
  const specs: ParameterSpec[] = llamaTensors(config).map((tensor) => ({
    ...tensor,
    trainable: trainable === "full",
  }));
  for (const { path, module, r } of lora) {
    const [inDim, outDim] = linearDims(config, module);
    const { a, b } = loraNames(path), trained = trainable === "lora";
    specs.push({ name: a, shape: [r, inDim], decay: true, trainable: trained });
    specs.push({ name: b, shape: [outDim, r], decay: true, trainable: trained });
  }
  return specs;
}

/** Fills the base tensors from a source. @throws RgxError for a missing tensor or a wrong size. */
export async function loadWeights(
  parameters: Parameters,
  config: LlamaConfig,
  source: WeightSource,
): Promise<void> {
  const ask = async (name: string, shape: readonly number[]) =>
    typeof source === "function" ? await source(name, shape) : source.get(name) ?? null;
  for (const { name, shape } of llamaTensors(config)) {
    let data = await ask(name, shape);
    if (data === null && name === EMBEDDING && config.tieWordEmbeddings) {
      data = await ask(LM_HEAD, shape);
    }
    if (data === null) {
      throw new RgxError(
        `the weights hold no tensor "${name}" (expected shape [${shape.join(", ")}])`,
        { advice: "check that config.json belongs to these weights" },
      );
    }
    parameters.write(name, data);
  }
}

/** Fresh adapters: A uniform from the seed, B zero. */
export function initializeLora(
  parameters: Parameters,
  config: LlamaConfig,
  lora: readonly LoraPlacement[],
  seed: number,
): void {
  for (const { path, module, r } of lora) {
    const { a, b } = loraNames(path);
    parameters.write(a, initialLoraA(seed, a, r, linearDims(config, module)[0]));
    parameters.write(b, new Float32Array(elementCount(parameters.get(b).shape)));
  }
}

export type LayerWeights = Record<LoraModule, Linear> & {
  inputNorm: Parameter;
  postNorm: Parameter;
};

export interface LlamaWeights {
  embedding: Parameter;
  layers: LayerWeights[];
  finalNorm: Parameter;
  /** The embedding itself when tied. */
  head: Parameter;
  /** The head in packed form (kernels/matmul/spec.ts), for decoding; null without. */
  packedHead: Tensor | null;
  /** Lowest layer with a trainable tensor; numLayers when there is none, −1 when the embedding is trained. */
  lowestTrained: number;
}

/** Arranges parameters by layer. */
export function arrangeWeights(
  parameters: Parameters,
  config: LlamaConfig,
  lora: readonly LoraPlacement[],
): LlamaWeights {
  const placed = new Map(lora.map((l) => [l.path, l]));
  const linear = (layer: number, module: LoraModule): Linear => {
    const path = modulePath(layer, module);
    const [inDim, outDim] = linearDims(config, module);
    const { value, grad } = parameters.get(`${path}.weight`);
    const adapter = placed.get(path);
    if (adapter === undefined) {
      return {
        weight: value,
        packed: null,
        dweight: grad,
        lora: null,
        merged: false,
        inDim,
        outDim,
      };
    }
    const names = loraNames(path);
    const a = parameters.get(names.a), b = parameters.get(names.b);
    const { r, scale } = adapter;
    return {
      weight: value,
      packed: null,
      dweight: grad,
      lora: {
        a: a.value,
        b: b.value,
        da: a.grad,
        db: b.grad,
        r,
        scale,
        site: loraSite(layer, module),
      },
      merged: false,
      inDim,
      outDim,
    };
  };
  const layers = Array.from({ length: config.numLayers }, (_, layer): LayerWeights => {
    const linears = Object.fromEntries(
      LORA_MODULES.map((module) => [module, linear(layer, module)]),
    ) as Record<LoraModule, Linear>;
    return {
      ...linears,
      inputNorm: parameters.get(`model.layers.${layer}.input_layernorm.weight`),
      postNorm: parameters.get(`model.layers.${layer}.post_attention_layernorm.weight`),
    };
  });
  const embedding = parameters.get(EMBEDDING);
  return {
    embedding,
    layers,
    finalNorm: parameters.get(FINAL_NORM),
    head: config.tieWordEmbeddings ? embedding : parameters.get(LM_HEAD),
    packedHead: null,
    lowestTrained: embedding.grad !== null
      ? -1
      : parameters.trainable.length === 0
      ? config.numLayers
      : Math.min(...lora.map((l) => l.layer)),
  };
}
