/**
 * Gemma 4 (Google 2026), its text part: Gemma 3 with norms that multiply by w itself, a norm of
 * values, larger heads in full layers of which a quarter is rotated, and a factor of each layer's
 * output. In E2B and E4B each layer has inputs of its own, from a table of tokens, and the last
 * layers use the keys and values of earlier ones.
 */
import { isRecord } from "../../core/json_file.ts";
import type { Architecture } from "./architecture.ts";
import { Fields, type Json, requireNone } from "./config_fields.ts";
import { GEMMA3 } from "./gemma.ts";
import { layerType, MAX_LAYERS, type ModelConfig } from "./model_config.ts";

const { attn_logit_softcapping: _, final_logit_softcapping: _1, ...neutral } =
  GEMMA3.config.neutral;
const LAYERS = "num_hidden_layers";
export const SHARED = "num_kv_shared_layers", DOUBLE = "use_double_wide_mlp";
export const FULL_HEAD = "global_head_dim";
export const PER_LAYER = "hidden_size_per_layer_input";
const OVERRIDES = "per_layer_config";

export const GEMMA4: Architecture = {
  ...GEMMA3,
  name: "gemma4_text",
  className: "Gemma4ForCausalLM",
  gguf: "gemma4",
  norm1: false,
  names: { ...GEMMA3.names, perLayerTable: "model.embed_tokens_per_layer" },
  inLayer: {
    ...GEMMA3.inLayer,
    vNorm: "self_attn.v_norm",
    layerScalar: "layer_scalar",
    perLayerGate: "per_layer_input_gate",
    perLayerOut: "per_layer_projection",
    perLayerNorm: "post_per_layer_input_norm",
    perLayerModel: "per_layer_model_projection",
    perLayerModelNorm: "per_layer_projection_norm",
  },
  config: {
    ...GEMMA3.config,
    defaults: {
      ...GEMMA3.config.defaults,
      sizes: {
        vocabSize: 262_144,
        hiddenSize: 2304,
        intermediateSize: 9216,
        numLayers: 30,
        numHeads: 8,
        numKvHeads: 4,
        headDim: 256,
      },
      slidingWindow: 512,
    },
    renewed,
    neutral: {
      ...neutral,
      // Images see one another in both directions, but not texts.
      use_bidirectional_attention: ["vision"],
      attention_k_eq_v: [false],
      enable_moe_block: [false],
    },
    // Scores are not scaled: any width to the power of 0.
    scalars: { ...GEMMA3.config.scalars, attention: ["hidden_size", 0] },
    softCaps: { logits: ["final_logit_softcapping", null] },
    equal: { vocab_size_per_layer_input: "vocab_size" },
    others: [
      ...GEMMA3.config.others,
      SHARED,
      DOUBLE,
      FULL_HEAD,
      PER_LAYER,
      OVERRIDES,
      // Without experts, and without keys that are values, these have no effect.
      "num_experts",
      "top_k_experts",
      "moe_intermediate_size",
      "num_global_key_value_heads",
    ],
  },
};

/** As transformers' configuration reads the keys: the last layer is full, and rotations by type. */
function renewed(json: Json, where: string): Json {
  const layers = Math.min(new Fields(json, where).count(LAYERS, 30), MAX_LAYERS);
  const { layer_types: types } = json;
  const usual = Array.from(
    { length: layers },
    (_, l) => (l + 1) % 6 === 0 ? "full_attention" : "sliding_attention",
  );
  const given: unknown[] = Array.isArray(types) && types.length > 0 ? types : usual;
  return {
    ...json,
    layer_types: types === undefined || types === null || given === types
      ? given.with(-1, given.at(-1) === "sliding_attention" ? "full_attention" : given.at(-1))
      : types,
    rope_parameters: json["rope_parameters"] ?? {
      sliding_attention: { rope_type: "default", rope_theta: 10_000 },
      full_attention: {
        rope_type: "proportional",
        partial_rotary_factor: 0.25,
        rope_theta: 1_000_000,
      },
    },
  };
}

/** What only files of Gemma 4 say; nothing of others. */
export function readGemma4(of: Fields, config: ModelConfig): Partial<ModelConfig> {
  if (config.architecture !== "gemma4_text") return {};
  of.requireNeutral({ [DOUBLE]: [true, false] });
  const { slidingRope, ropeTheta, ropeScaling } = config;
  const shared = of.number(SHARED, 0), perLayer = of.number(PER_LAYER, 256);
  const isUsed = (value: number, key: string) => value !== 0 && of.count(key, value) > 0;
  return {
    fullHeadDim: readFullHeadDim(of, config),
    // Heads of another width turn by other angles.
    slidingRope: slidingRope ?? { ropeTheta, ropeScaling },
    ...(isUsed(shared, SHARED)
      ? {
        sharedKv: {
          layers: Math.min(shared, config.numLayers),
          doubleMlp: of.json[DOUBLE] === true,
        },
      }
      : {}),
    ...(isUsed(perLayer, PER_LAYER) ? { perLayer } : {}),
  };
}

export function gemma4Keys(config: ModelConfig): Record<string, unknown> {
  if (config.fullHeadDim === undefined) return {};
  return {
    [FULL_HEAD]: config.fullHeadDim,
    [SHARED]: config.sharedKv?.layers ?? 0,
    [DOUBLE]: config.sharedKv?.doubleMlp ?? false,
    [PER_LAYER]: config.perLayer ?? 0,
  };
}

/** The width of heads in full layers: `global_head_dim`, or what each layer has by itself. */
function readFullHeadDim(of: Fields, config: ModelConfig): number {
  const { headDim } = config, key = "head_dim";
  if (of.json[OVERRIDES] === undefined) return of.count(FULL_HEAD, 512);
  const all = of.object(OVERRIDES), at = `${of.where}: ${OVERRIDES}`;
  let full: number | undefined;
  for (let layer = 0; layer < config.numLayers; layer++) {
    const entry = all[layer] ?? {},
      own = new Fields(isRecord(entry) ? entry : all, `${at}.${layer}`);
    const unknown = Object.keys(own.json).filter((one) => one !== key);
    requireNone(own.json, unknown, own.where, { advice: `layers may differ in ${key} only` });
    const found = own.count(key, headDim);
    if (found === (layerType(config, layer) === "full" ? full ??= found : headDim)) continue;
    throw of.wrong(OVERRIDES, "heads of one width in all layers of a type");
  }
  return full ?? headDim;
}
