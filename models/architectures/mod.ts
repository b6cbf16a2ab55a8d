/**
 * All architectures by `model_type`, and what a configuration's architecture says about its parts.
 */
import type { ModelConfig } from "./model_config.ts";
import type { Architecture, ArchitectureName, HeadModule, Module } from "./architecture.ts";
import { GPT2 } from "./gpt2.ts";
import { LLAMA, MISTRAL, QWEN2, QWEN3 } from "./llama.ts";

export const ARCHITECTURES: Readonly<Record<ArchitectureName, Architecture>> = {
  llama: LLAMA,
  mistral: MISTRAL,
  qwen2: QWEN2,
  qwen3: QWEN3,
  gpt2: GPT2,
};

export function architectureOf(config: ModelConfig): Architecture {
  return ARCHITECTURES[config.architecture ?? "llama"];
}

/** Name of a head that is not tied to the embedding. */
export const LM_HEAD = "lm_head.weight";

/** Name of the tensor that computes the logits. */
export function headName(config: ModelConfig): string {
  return config.tieWordEmbeddings ? architectureOf(config).names.embedding : LM_HEAD;
}

/** Linear modules of a layer. */
export function modulesOf(config: ModelConfig): readonly Module[] {
  return architectureOf(config).modules;
}

export function hasBias(config: ModelConfig, module: Module): boolean {
  return (config.biases ?? architectureOf(config).biases).includes(module);
}

/** Input and output width of a linear module. */
export function linearDims(
  config: ModelConfig,
  module: Module | HeadModule,
): [inDim: number, out: number] {
  const d = config.hiddenSize, f = config.intermediateSize;
  const q = config.numHeads * config.headDim, kv = config.numKvHeads * config.headDim;
  switch (module) {
    case "q_proj":
      return [d, q];
    case "k_proj":
    case "v_proj":
      return [d, kv];
    case "attn.c_attn":
      return [d, q + 2 * kv];
    case "o_proj":
    case "attn.c_proj":
      return [q, d];
    case "gate_proj":
    case "up_proj":
    case "mlp.c_fc":
      return [d, f];
    case "down_proj":
    case "mlp.c_proj":
      return [f, d];
    case "lm_head":
      return [d, config.vocabSize];
  }
}

/** Such as "model.layers.0.self_attn.q_proj". */
export function modulePath(config: ModelConfig, layer: number, module: Module): string {
  const { names } = architectureOf(config);
  return names.layer(layer) + names.module(module);
}

/**
 * Whether the fused operation `decode_layer` can compute a layer: a Llama layer without biases,
 * head norms or a window.
 */
export function isPlainLlama(config: ModelConfig): boolean {
  const { activation, layerNorm, headNorms, modules } = architectureOf(config);
  return activation === "swiglu" && !layerNorm && !headNorms &&
    (config.slidingWindow ?? null) === null &&
    !modules.some((module) => hasBias(config, module));
}
