/**
 * Mixtures of experts: Qwen3-MoE (Yang et al. 2025), Mixtral (Jiang et al. 2024) and gpt-oss
 * (OpenAI 2025). The matrices of all experts are one tensor, as in transformers 5; files may also
 * have one for each expert.
 */
import { STEEPNESS } from "../../kernels/ops/swiglu/spec.ts";
import type { Architecture, Module } from "./architecture.ts";
import type { Fields } from "./config_fields.ts";
import { LLAMA, MISTRAL, QWEN3 } from "./llama.ts";
import type { ModelConfig } from "./model_config.ts";

const { gate: _, up: _1, ...inLayer } = LLAMA.inLayer;
const parts = {
  router: "mlp.gate",
  gateUp: "mlp.experts.gate_up_proj",
  down: "mlp.experts.down_proj",
} as const;
/** The key of the number of experts that a position takes. */
export const CHOSEN = "num_experts_per_tok";
/** The keys of the loss that balances experts: whether there is one, and its factor. */
const BALANCES = "output_router_logits", COEFFICIENT = "router_aux_loss_coef";
const ROUTER_KEYS = [CHOSEN, BALANCES, COEFFICIENT];

export const QWEN3_MOE: Architecture = {
  ...QWEN3,
  name: "qwen3_moe",
  className: "Qwen3MoeForCausalLM",
  gguf: "qwen3moe",
  window: "none",
  experts: {
    count: ["num_experts", "num_local_experts"],
    normalize: "norm_topk_prob",
    defaults: { count: 128, chosen: 8 },
    stored: ["mlp", "gate_proj", "up_proj", "down_proj"],
  },
  inLayer: {
    ...inLayer,
    qNorm: QWEN3.inLayer.qNorm!,
    kNorm: QWEN3.inLayer.kNorm!,
    ...parts,
  },
  config: {
    ...QWEN3.config,
    sizes: { ...QWEN3.config.sizes, intermediateSize: "moe_intermediate_size" },
    defaults: { ...QWEN3.config.defaults, maxPositions: 32_768, sizes: { numKvHeads: 4 } },
    neutral: {
      ...QWEN3.config.neutral,
      decoder_sparse_step: [1],
      mlp_only_layers: [],
      use_sliding_window: [false],
    },
    // The width of layers without experts, which there are none of.
    others: [...QWEN3.config.others, ...ROUTER_KEYS, "intermediate_size"],
  },
};

export const MIXTRAL: Architecture = {
  ...MISTRAL,
  name: "mixtral",
  className: "MixtralForCausalLM",
  experts: {
    count: ["num_local_experts", "num_experts"],
    normalize: null,
    defaults: { count: 8, chosen: 2 },
    stored: ["block_sparse_moe", "w1", "w3", "w2"],
  },
  inLayer: { ...inLayer, ...parts },
  config: {
    ...MISTRAL.config,
    defaults: {
      ...MISTRAL.config.defaults,
      maxPositions: 131_072,
      rmsNormEps: 1e-5,
      ropeTheta: 1_000_000,
      slidingWindow: null,
      sizes: { numKvHeads: 8 },
    },
    others: [...MISTRAL.config.others, ...ROUTER_KEYS, "router_jitter_noise"],
  },
};

/** What a gpt-oss is whose configuration does not say it. */
const GPT_OSS_ROPE = {
  rope_type: "yarn",
  factor: 32,
  beta_fast: 32,
  beta_slow: 1,
  truncate: false,
  original_max_position_embeddings: 4096,
};
const LIMIT = "swiglu_limit";

/** Attention with sinks, a window in every second layer, and experts with biases. */
export const GPT_OSS: Architecture = {
  ...LLAMA,
  name: "gpt_oss",
  className: "GptOssForCausalLM",
  gguf: "gpt-oss",
  biases: ["router", "gateUp", "down"],
  biasKeys: { attention_bias: ["q", "k", "v", "o"] },
  interleavedInGguf: false,
  window: "typed",
  fullEvery: 2,
  experts: {
    count: ["num_local_experts", "num_experts"],
    normalize: null,
    defaults: { count: 128, chosen: 4 },
    stored: null,
  },
  inLayer: { ...inLayer, sinks: "self_attn.sinks", ...parts, router: "mlp.router" },
  config: {
    ...LLAMA.config,
    defaults: {
      maxPositions: 131_072,
      rmsNormEps: 1e-5,
      tieWordEmbeddings: false,
      ropeTheta: 150_000,
      slidingWindow: 128,
      sizes: {
        vocabSize: 201_088,
        hiddenSize: 2880,
        intermediateSize: 2880,
        numLayers: 36,
        numHeads: 64,
        numKvHeads: 8,
        headDim: 64,
      },
    },
    renewed: (json) => ({
      attention_bias: true,
      ...json,
      ...(json["rope_parameters"] == null && json["rope_scaling"] == null
        ? { rope_parameters: GPT_OSS_ROPE }
        : {}),
    }),
    neutral: { ...LLAMA.config.neutral, swiglu_alpha: [STEEPNESS] },
    others: [...LLAMA.config.others, ...ROUTER_KEYS, LIMIT],
  },
};

/** Whether the rows of gate and up alternate in the matrix of both. */
export function alternates({ experts }: Architecture): boolean {
  return experts?.stored === null;
}

export function isOfExperts({ experts }: ModelConfig, module: string): boolean {
  return experts !== undefined && (module === "gateUp" || module === "down");
}

/** How many matrices a module has: one for each expert, or one. */
export function matrixCount(config: ModelConfig, module: string): number {
  return isOfExperts(config, module) ? config.experts!.count : 1;
}

/** Whether an adapter's `target_parameters` name a module, not its `target_modules`. */
export function isParameter(config: ModelConfig, module: Module): boolean {
  return module === "router" || isOfExperts(config, module);
}

/** The experts of a configuration; nothing where there are none. */
export function readExperts(
  of: Fields,
  { experts }: Architecture,
): Pick<ModelConfig, "experts" | "swigluLimit"> {
  if (experts === undefined) return {};
  const { count: keys, normalize, defaults } = experts, { json } = of;
  const key = keys.find((one) => json[one] !== undefined && json[one] !== null) ?? keys[0]!;
  if (normalize !== null) of.requireNeutral({ [normalize]: [true, false] });
  of.requireNeutral({ [BALANCES]: [false, true] });
  const balance = json[BALANCES] === true ? of.number(COEFFICIENT, 0.001) : 0;
  if (balance < 0) throw of.wrong(COEFFICIENT, "a number of at least 0");
  return {
    ...(experts.stored === null ? { swigluLimit: of.positive(LIMIT, 7) } : {}),
    experts: {
      count: of.count(key, defaults.count),
      chosen: of.count(CHOSEN, defaults.chosen),
      normalize: normalize === null || json[normalize] === true,
      ...(balance === 0 ? {} : { balance }),
    },
  };
}

export function expertKeys(
  { experts, swigluLimit }: ModelConfig,
  { experts: keys }: Architecture,
): Record<string, unknown> {
  if (experts === undefined || keys === undefined) return {};
  return {
    [keys.count[0]!]: experts.count,
    [CHOSEN]: experts.chosen,
    ...(experts.balance === undefined ? {} : { [BALANCES]: true, [COEFFICIENT]: experts.balance }),
    ...(swigluLimit === undefined ? {} : { [LIMIT]: swigluLimit }),
    ...(keys.normalize === null ? {} : { [keys.normalize]: experts.normalize }),
  };
}
