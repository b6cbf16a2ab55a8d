/**
 * Reads and writes Hugging Face's `config.json` for both generations: transformers 4 (`rope_theta`,
 * `rope_scaling`, `torch_dtype`) and 5 (`rope_parameters`, `dtype`). Keys that would change the
 * result in a way that rgx does not compute are refused by name, and so are unknown keys. Both
 * generations can read the written files.
 */
import { UsageError } from "../../core/errors.ts";
import {
  type Architecture,
  ARCHITECTURE_NAMES,
  type Scalar,
  type SizeName,
  type SoftCap,
} from "./architecture.ts";
import { architectureOf, ARCHITECTURES, scalarOf } from "./mod.ts";
import { COMMON_NEUTRAL, Fields, type Json, readTokenIds } from "./config_fields.ts";
import { checkModelConfig, type ModelConfig } from "./model_config.ts";
import { gemma4Keys, readGemma4 } from "./gemma4.ts";
import { layerKindKeys, readLayerKinds } from "./layer_kinds.ts";
import { expertKeys, readExperts } from "./mixtures.ts";
import { readRopes, ropeKeys } from "./rope_config.ts";
import { wrappedConfig, WRAPPER_NAMES } from "./wrapper.ts";

export { readTokenIds } from "./config_fields.ts";

/** The contents of a `config.json`: the model's configuration and its special token ids. */
export interface HfConfig {
  modelConfig: ModelConfig;
  bosId: number | null;
  /** `eos_token_id` as a list; may be empty. */
  eosIds: number[];
  padId: number | null;
}

/** @param where the file, for messages. @throws UsageError that names the wrong or missing key */
export function readHfConfig(json: Json, where: string): HfConfig {
  const text = wrappedConfig(json, where);
  if (text !== null) {
    const { modelConfig, ...ids } = readHfConfig(text, where);
    return { modelConfig: { ...modelConfig, wrapped: true }, ...ids };
  }
  const architecture = readArchitecture(json, where);
  const method = json["quantization_config"] as Json | undefined | null;
  const isRead = architecture.experts?.stored === null && method?.["quant_method"] === "mxfp4";
  if (method !== undefined && method !== null && !isRead) {
    throw new UsageError(
      `${where}: quantization_config is set, quantised weights of this kind are not supported`,
      { advice: "Use the unquantised model (bf16, f16 or f32)." },
    );
  }
  new Fields(json, where).requireNeutral(COMMON_NEUTRAL);
  return {
    modelConfig: checkModelConfig(readConfig(json, architecture, where), where),
    bosId: readTokenIds(json, "bos_token_id", where)[0] ?? null,
    eosIds: readTokenIds(json, "eos_token_id", where),
    padId: readTokenIds(json, "pad_token_id", where)[0] ?? null,
  };
}

function readArchitecture(json: Json, where: string): Architecture {
  const type = json["model_type"];
  const name = ARCHITECTURE_NAMES.find((known) => known === type);
  if (name === undefined) {
    throw new UsageError(
      `${where}: model_type is ${JSON.stringify(type)}, which is not supported ` +
        `(only ${[...ARCHITECTURE_NAMES, ...WRAPPER_NAMES].join(", ")})`,
      typeof type === "string" && /moe|dbrx|deepseek|switch/.test(type)
        ? { advice: "Of models with experts only qwen3_moe, mixtral and gpt_oss are computed." }
        : {},
    );
  }
  const architecture = ARCHITECTURES[name], classes = json["architectures"] ?? [];
  const base = architecture.className.replace(/(ForCausalLM|LMHeadModel)$/, "Model");
  const known = Array.isArray(classes) &&
    classes.every((found) => found === architecture.className || found === base);
  if (!known) {
    throw new UsageError(
      `${where}: architectures is ${JSON.stringify(classes)}, which is not supported for a ` +
        `model_type of "${name}" (only "${architecture.className}")`,
    );
  }
  return architecture;
}

function readConfig(given: Json, architecture: Architecture, where: string): ModelConfig {
  const json = architecture.config.renewed?.(given, where) ?? given, of = new Fields(json, where);
  const { name, positions, experts, config: { sizes, defaults, neutral, equal, others } } =
    architecture;
  of.requireNeutral(neutral);
  const known = [neutral, equal].flatMap((keys) => Object.keys(keys)).concat(others);
  const scalars = Object.values(architecture.config.scalars ?? {}).map(([key]) => key);
  const caps = Object.values(architecture.config.softCaps ?? {}).map(([key]) => key);
  const all = new Set([
    ...known,
    ...Object.values(sizes),
    ...scalars,
    ...caps,
    ...(experts === undefined ? [] : [...experts.count, ...orNone(experts.normalize)]),
    "tie_word_embeddings",
  ]);
  of.refuseUnknown(all);
  const count = (size: SizeName) => of.count(sizes[size]!, defaults.sizes?.[size]);
  const optional = (size: SizeName) => {
    const key = sizes[size];
    return key === undefined || (json[key] ?? null) === null ? undefined : count(size);
  };
  const hiddenSize = count("hiddenSize"), numHeads = count("numHeads");
  const headDim = optional("headDim") ?? defaults.sizes?.headDim ?? hiddenSize / numHeads;
  if (!Number.isInteger(headDim)) {
    throw new UsageError(
      `${where}: ${sizes.hiddenSize} ${hiddenSize} is no multiple of ${sizes.numHeads} ` +
        `${numHeads}${sizes.headDim === undefined ? "" : `, and there is no ${sizes.headDim}`}`,
    );
  }
  const { widening } = defaults, numLayers = count("numLayers");
  const biases = readBiases(of, architecture);
  const stated = of.count(sizes.maxPositions, defaults.maxPositions);
  for (const [key, other] of Object.entries(equal)) {
    if ((json[key] ?? json[other]) === json[other]) continue;
    throw new UsageError(`${where}: ${key} is ${json[key]}, ${other} ${json[other]}`);
  }
  const rope = positions === "rotary"
    ? readRopes(of, architecture, stated, headDim)
    : { ropeTheta: 10000, ropeScaling: null, maxPositions: stated };
  const config: ModelConfig = {
    // A configuration without `architecture` is a Llama.
    ...(name === "llama" ? {} : { architecture: name }),
    ...(biases.length === architecture.biases.length ? {} : { biases }),
    ...readLayerKinds(of, architecture, numLayers),
    ...readScalars(of, architecture),
    ...readSoftCaps(of, architecture),
    ...readExperts(of, architecture),
    vocabSize: count("vocabSize"),
    hiddenSize,
    intermediateSize: widening === undefined
      ? count("intermediateSize")
      : optional("intermediateSize") ?? widening * hiddenSize,
    numLayers,
    numHeads,
    numKvHeads: optional("numKvHeads") ?? defaults.sizes?.numKvHeads ?? numHeads,
    headDim,
    ...rope,
    rmsNormEps: of.number(sizes.rmsNormEps, defaults.rmsNormEps),
    tieWordEmbeddings: defaults.tieWordEmbeddings
      ? json["tie_word_embeddings"] !== false
      : json["tie_word_embeddings"] === true,
  };
  return { ...config, ...readGemma4(of, config) };
}

const orNone = (key: string | null) => key === null ? [] : [key];

function readBiases(of: Fields, architecture: Architecture) {
  const biases = [...architecture.biases];
  for (const key of ["attention_bias", "mlp_bias"]) {
    const more = architecture.biasKeys[key];
    of.requireNeutral({ [key]: more === undefined ? [false] : [false, true] });
    if (of.json[key] === true) biases.push(...more!);
  }
  return biases;
}

/** Those that differ from what they are without a key. */
function readScalars(
  of: Fields,
  { config: { scalars = {} } }: Architecture,
): Pick<ModelConfig, "scalars"> {
  const entries = (Object.entries(scalars) as [Scalar, [string, number, number?]][]).map(
    ([name, [key, power, absent]]) => {
      const value = of.positive(key, of.json[key] === null ? undefined : absent);
      return [name, value ** power] as const;
    },
  ).filter(([name, value]) => name === "attention" || value !== 1);
  return entries.length === 0 ? {} : { scalars: Object.fromEntries(entries) };
}

function readSoftCaps(
  of: Fields,
  { config: { softCaps } }: Architecture,
): Pick<ModelConfig, "softCaps"> {
  const entries = Object.entries(softCaps ?? {})
    .filter(([, [key, absent]]) => (of.json[key] === undefined ? absent : of.json[key]) !== null)
    .map(([name, [key, absent]]) => {
      const value = of.number(key, absent ?? undefined);
      if (value > 0) return [name, value];
      throw of.wrong(key, "a number above 0, or null");
    });
  return entries.length === 0 ? {} : { softCaps: Object.fromEntries(entries) };
}

function softCapKeys(config: ModelConfig): Record<string, number | null> {
  const { softCaps } = architectureOf(config).config;
  return Object.fromEntries(
    Object.entries(softCaps ?? {}).map(([name, [key]]) => [
      key,
      config.softCaps?.[name as SoftCap] ?? null,
    ]),
  );
}

function scalarKeys(config: ModelConfig): Record<string, number> {
  const { scalars = {} } = architectureOf(config).config;
  return Object.fromEntries(
    (Object.entries(scalars) as [Scalar, [string, number]][]).map(([name, [key, power]]) => [
      key,
      Number((scalarOf(config, name) ** (1 / power)).toPrecision(12)),
    ]),
  );
}

/** The text of a `config.json` for transformers 4 and 5. */
export function writeHfConfig(
  { modelConfig, bosId, eosIds, padId }: HfConfig,
  dtype: "float32" | "bfloat16" | "float16" = "float32",
): string {
  const { name, className, positions, config: keys } = architectureOf(modelConfig);
  const sizes = sizeKeys(modelConfig);
  const config = {
    ...keys.written,
    ...scalarKeys(modelConfig),
    ...softCapKeys(modelConfig),
    ...expertKeys(modelConfig, architectureOf(modelConfig)),
    ...sizes,
    ...Object.fromEntries(Object.entries(keys.equal).map(([key, other]) => [key, sizes[other]])),
    ...(positions === "rotary" ? attentionKeys(modelConfig) : {}),
    ...gemma4Keys(modelConfig),
    architectures: [className],
    bos_token_id: bosId,
    dtype,
    eos_token_id: eosIds.length > 1 ? eosIds : eosIds[0] ?? null,
    model_type: name,
    pad_token_id: padId,
    tie_word_embeddings: modelConfig.tieWordEmbeddings,
    torch_dtype: dtype,
    use_cache: true,
  };
  const sorted = Object.entries(config).sort(([a], [b]) => a < b ? -1 : 1);
  const text = JSON.stringify(Object.fromEntries(sorted), null, 2) + "\n";
  // transformers 5 refuses whole numbers where it expects floats.
  const floats = /("(?:\w+_logit_softcapping|swiglu_limit|router_aux_loss_coef)": \d+)(?=,?\n)/g;
  return text.replaceAll(floats, "$1.0");
}

function sizeKeys(config: ModelConfig): Record<string, number> {
  const entries = Object.entries(architectureOf(config).config.sizes) as [SizeName, string][];
  return Object.fromEntries(
    entries.map(([size, key]) => [
      key,
      size === "maxPositions" ? config.statedPositions ?? config.maxPositions : config[size],
    ]),
  );
}

function attentionKeys(modelConfig: ModelConfig): Record<string, unknown> {
  const { biases, biasKeys } = architectureOf(modelConfig);
  const flags = Object.entries(biasKeys).map(([key, modules]) => [
    key,
    modules.some((module) => (modelConfig.biases ?? biases).includes(module)),
  ]);
  return {
    ...Object.fromEntries(flags),
    ...ropeKeys(modelConfig),
    ...layerKindKeys(modelConfig),
  };
}
