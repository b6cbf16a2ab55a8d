/**
 * Turns the metadata of a GGUF file into the contents of a Hugging Face `config.json`, so that one
 * reader (architectures/hf_config.ts) decides what is supported. Metadata of the architecture that
 * are not understood are refused by name.
 */
import { UsageError } from "../../../core/errors.ts";
import type { Architecture, Scalar, SizeName, SoftCap } from "../../architectures/architecture.ts";
import { CHOSEN } from "../../architectures/mixtures.ts";
import { layerKindKeys } from "../../architectures/layer_kinds.ts";
import { DOUBLE, FULL_HEAD, PER_LAYER, SHARED } from "../../architectures/gemma4.ts";
import { ARCHITECTURES, hasAttention, scalarOf } from "../../architectures/mod.ts";
import {
  layerSizes,
  layerType,
  MAX_LAYERS,
  type ModelConfig,
} from "../../architectures/model_config.ts";
import type { GgufFile } from "./gguf.ts";

/**
 * The sizes of a model by their metadata after the architecture's name, with their types there, in
 * the order in which they are written.
 */
const SIZES: readonly (readonly [key: string, size: SizeName, type: "u32" | "f32"])[] = [
  ["vocab_size", "vocabSize", "u32"],
  ["context_length", "maxPositions", "u32"],
  ["embedding_length", "hiddenSize", "u32"],
  ["block_count", "numLayers", "u32"],
  ["feed_forward_length", "intermediateSize", "u32"],
  ["attention.head_count", "numHeads", "u32"],
  ["attention.head_count_kv", "numKvHeads", "u32"],
  ["attention.key_length", "headDim", "u32"],
  ["attention.value_length", "headDim", "u32"],
  ["attention.layer_norm_epsilon", "rmsNormEps", "f32"],
  ["attention.layer_norm_rms_epsilon", "rmsNormEps", "f32"],
  ["rope.dimension_count", "headDim", "u32"],
];
/** Elements of a head that are rotated: all of them, except in a Phi. */
const ROTATED = "rope.dimension_count";
/** Sizes that only have to agree with the others. The vocabulary is that of the embedding. */
const CHECKED = ["attention.value_length", ROTATED], UNREAD = ["vocab_size"];

const SCALARS: Readonly<Record<Scalar, string>> = {
  embedding: "embedding_scale",
  attention: "attention.scale",
  residual: "residual_scale",
  logits: "logit_scale",
};

const SOFT_CAPS: Readonly<Record<SoftCap, string>> = {
  attention: "attn_logit_softcapping",
  logits: "final_logit_softcapping",
};

/** Metadata of layers with and without a window: which have one, and the base of their rotation. */
const PATTERN = "attention.sliding_window_pattern", SLIDING_BASE = "rope.freq_base_swa";

/** The number of experts, and of those that a position takes. */
const EXPERTS = { count: "expert_count", chosen: "expert_used_count" } as const;

/** Positions that a convolution reads, and the growth of queries. */
const CONV_TAPS = "shortconv.l_cache", GROWTH = "attention.temperature_scale";
/** Of each layer; 0 = it has a convolution. */
const KV_HEADS = "attention.head_count_kv";

/** Metadata of delta rules → key of `config.json`; the width of all value heads together. */
const DELTA_KEYS: Readonly<Record<string, string>> = {
  "ssm.conv_kernel": "linear_conv_kernel_dim",
  "ssm.state_size": "linear_key_head_dim",
  "ssm.group_count": "linear_num_key_heads",
  "ssm.time_step_rank": "linear_num_value_heads",
  full_attention_interval: "full_attention_interval",
};
const DELTA_WIDTH = "ssm.inner_size";
/** How many elements turn by each of a token's positions, which are equal in a text. */
const SECTIONS = "rope.dimension_sections";
/** Of layers with a window, where the plain keys are of full ones; all are the width of a head. */
const SLIDING_HEADS = ["attention.key_length", "attention.value_length", ROTATED]
  .map((key) => `${key}_swa`);
/** Which layers have a delta rule; older files have only the interval. */
const RECURRENT = "attention.recurrent_layers";
/** Layers of a further head, which is left aside. */
const NEXT_LAYERS = "nextn_predict_layers";

/** Metadata that are read in rope_scaling.ts, or that do not affect the results. */
const OTHERS = ["tensor_data_layout"];
const ROTARY_OTHERS = [
  "rope.scaling.type",
  "rope.scaling.factor",
  "rope.scale_linear",
  "rope.scaling.original_context_length",
  "rope.scaling.finetuned",
  ...["attn_factor", "yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"]
    .map((key) => `rope.scaling.${key}`),
  "rope.scaling.yarn_log_multiplier",
];

/** The sizes that files of an architecture have metadata for. */
function sizesOf({ layerNorm, gguf }: Architecture): typeof SIZES {
  const other = layerNorm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  return SIZES.filter(([key]) => key !== other).map(([key, size, type]) =>
    (gguf === "qwen3moe" || gguf === "gpt-oss") && size === "intermediateSize"
      ? [`expert_${key}`, size, type] as const
      : [key, size, type] as const
  );
}

/** Metadata of an architecture, after its name. */
interface GgufKey {
  readonly key: string;
  readonly type: "u32" | "f32" | "i32" | "bool";
  /** Its key in a `config.json`, if the value is the same there. */
  readonly name: string | null;
  /** Its value in the file of a model; undefined = it is left out. */
  readonly value: (config: ModelConfig) => number | number[] | boolean[] | undefined;
}

type AddKey = (
  key: string,
  type: GgufKey["type"],
  name: string | null,
  value?: GgufKey["value"],
) => void;

/** All metadata of an architecture but its RoPE scaling, in the order in which they are written. */
export function ggufKeys(architecture: Architecture): GgufKey[] {
  const { gguf, experts, inLayer, positions, growingQueries } = architecture;
  const { sizes, scalars = {}, softCaps = {} } = architecture.config, keys: GgufKey[] = [];
  const add: AddKey = (key, type, name, value = () => undefined) => {
    keys.push({ key, type, name, value });
  };
  for (const [key, size, type] of sizesOf(architecture)) {
    const named = gguf === "gemma4" && size === "headDim" ? FULL_HEAD : sizes[size];
    const name = named ?? null, isRead = !CHECKED.includes(key) && !UNREAD.includes(key);
    // Without a key in the config.json it follows from the other sizes.
    add(key, type, isRead ? name : null, (config) => {
      if (name === null) return undefined;
      if (size === "headDim" && config.fullHeadDim !== undefined) return config.fullHeadDim;
      if (key === ROTATED) return config.rotaryDim ?? config.headDim;
      if (size === "intermediateSize" && config.sharedKv?.doubleMlp) {
        return eachLayer(config, (layer) => layerSizes(config, layer).f);
      }
      return size === "maxPositions" ? config.statedPositions ?? config[size] : config[size];
    });
  }
  if (experts !== undefined) {
    add(EXPERTS.count, "u32", experts.count[0] ?? null, ({ experts }) => experts?.count);
    add(EXPERTS.chosen, "u32", CHOSEN, ({ experts }) => experts?.chosen);
  }
  type Entries<Name> = [Name, readonly [name: string, number]][];
  for (const [scalar, [name, power]] of Object.entries(scalars) as Entries<Scalar>) {
    if (power === 1) add(SCALARS[scalar], "f32", name, (config) => scalarOf(config, scalar));
  }
  for (const [cap, [name]] of Object.entries(softCaps) as Entries<SoftCap>) {
    add(SOFT_CAPS[cap], "f32", name, (config) => config.softCaps?.[cap]);
  }
  if (gguf === "qwen35") addDelta(add);
  if (gguf === "gemma4") {
    for (const [i, key] of SLIDING_HEADS.entries()) {
      add(key, "u32", i === 0 ? sizes.headDim! : null, ({ headDim }) => headDim);
    }
    add("attention.shared_kv_layers", "u32", SHARED, ({ sharedKv }) => sharedKv?.layers ?? 0);
    add("embedding_length_per_layer_input", "u32", PER_LAYER, ({ perLayer }) => perLayer ?? 0);
  }
  if (inLayer.convIn !== undefined) {
    const heads = (config: ModelConfig) =>
      eachLayer(config, (layer) => hasAttention(config, layer) ? config.numKvHeads : 0);
    add(KV_HEADS, "i32", null, (config) => config.convTaps && heads(config));
    add(CONV_TAPS, "u32", "conv_L_cache", ({ convTaps }) => convTaps);
  }
  if (growingQueries) add(GROWTH, "f32", null, ({ growingQueries }) => growingQueries?.beta);
  if (positions === "learned") return keys;
  add("rope.freq_base", "f32", "rope_theta", ({ ropeTheta }) => ropeTheta);
  const window = "attention.sliding_window";
  add(window, "u32", "sliding_window", ({ slidingWindow }) => slidingWindow || undefined);
  if (!isTyped(architecture)) return keys;
  /** A value that is written where some layers have a window. */
  const ifSliding = (value: GgufKey["value"]): GgufKey["value"] => (config) =>
    config.slidingWindow && architecture.window === "typed" && gguf !== "gemma2"
      ? value(config)
      : undefined;
  const slides = (config: ModelConfig) =>
    eachLayer(config, (layer) => layerType(config, layer) === "sliding");
  add(PATTERN, "bool", null, ifSliding(slides));
  add(SLIDING_BASE, "f32", null, ifSliding((config) => (config.slidingRope ?? config).ropeTheta));
  return keys;
}

function eachLayer<T>({ numLayers }: ModelConfig, of: (layer: number) => T): T[] {
  return Array.from({ length: numLayers }, (_, layer) => of(layer));
}

/** The metadata of delta rules, and of which layers have them. */
function addDelta(add: AddKey): void {
  for (const [key, name] of Object.entries(DELTA_KEYS)) {
    add(key, "u32", name, (config) => {
      const interval = { full_attention_interval: attentionInterval(config) };
      const values: Record<string, unknown> = { ...layerKindKeys(config), ...interval };
      return config.delta && values[name] as number;
    });
  }
  add(DELTA_WIDTH, "u32", null, ({ delta }) => delta && delta.valueHeads * delta.valueDim);
  const recurs = (config: ModelConfig) =>
    eachLayer(config, (layer) => config.layerTypes![layer] === "linear");
  add(RECURRENT, "bool", null, (config) => config.delta && recurs(config));
  add(SECTIONS, "i32", null, ({ delta, headDim, rotaryDim = headDim }) => {
    const third = (rest: number) => Math.ceil((rotaryDim / 2 - rest) / 3);
    return delta && [third(0), third(1), third(2), 0];
  });
  add(NEXT_LAYERS, "u32", null);
}

/** The number of layers from one with attention to the next. */
export function attentionInterval({ layerTypes = [], numLayers }: ModelConfig): number {
  const first = layerTypes.indexOf("full");
  return first < 0 ? numLayers + 1 : first + 1;
}

/**
 * The contents of the `config.json` for the file's model.
 * @param scaling the file's `rope_scaling`, or null (rope_scaling.ts)
 * @throws UsageError for what is not supported, RgxError for metadata that contradict each other
 */
export function ggufConfig(
  file: GgufFile,
  tokens: { bosId: number | null; eosIds: readonly number[]; padId: number | null },
  scaling: Readonly<Record<string, unknown>> | null,
): Record<string, unknown> {
  const architecture = architectureIn(file), { gguf, positions } = architecture;
  refuseUnknown(file, architecture);
  const embedding = file.info("token_embd.weight");
  const config: Record<string, unknown> = {
    model_type: architecture.name,
    vocab_size: embedding.shape[0],
    tie_word_embeddings: !file.tensors.has("output.weight"),
    bos_token_id: tokens.bosId,
    eos_token_id: [...tokens.eosIds],
    pad_token_id: tokens.padId,
  };
  for (const { key, name } of ggufKeys(architecture)) {
    const value = name === null ? undefined : file.metadata.get(`${gguf}.${key}`);
    if (value !== undefined) config[name!] = typeof value === "number" ? shortest(value) : value;
  }
  readKvHeads(file, architecture, config);
  readDoubleMlp(file, config);
  if (gguf === "qwen35") readDelta(file, config);
  if (gguf === "gpt-oss") {
    // llama.cpp's files do not say it; the published models do not round. A config.json that says
    // nothing has their scaling.
    scaling = scaling?.["rope_type"] === "yarn"
      ? { ...scaling, truncate: false }
      : scaling ?? { rope_type: "default" };
  }
  checkHeads(file, architecture, config);
  const normalize = architecture.experts?.normalize ?? null;
  if (normalize !== null) config[normalize] = true;
  if (positions === "learned") return config;
  // A window of 0 is none.
  if (config["sliding_window"] === 0) delete config["sliding_window"];
  if (architecture.partialRotary) addPhi(file, architecture, config);
  else if (
    config["sliding_window"] !== undefined && !isTyped(architecture) &&
    architecture.experts === undefined
  ) {
    // A Mistral is called llama in such a file; a Llama has no window.
    if (gguf === "llama") config["model_type"] = "mistral";
    else Object.assign(config, { use_sliding_window: true, max_window_layers: 0 });
  }
  for (const [suffix, key] of [["attn_q", "attention_bias"], ["ffn_up", "mlp_bias"]] as const) {
    // Qwen2 always has these biases.
    const biased = file.tensors.keys().some((name) => name.endsWith(`.${suffix}.bias`));
    if (architecture.biasKeys[key] !== undefined) config[key] = biased;
  }
  if (isTyped(architecture)) addTypes(file, architecture, config, scaling);
  else config["rope_scaling"] = scaling;
  if (architecture.growingQueries) {
    const growth = file.metadata.get(`${gguf}.${GROWTH}`) ?? 0;
    config["rope_scaling"] = { ...scaling, llama_4_scaling_beta: shortest(Number(growth)) };
  }
  return config;
}

/**
 * A list of the key heads of all layers becomes a number, or in LFM2 the types of layers.
 * @throws UsageError for layers that differ in another way
 */
function readKvHeads(
  file: GgufFile,
  { gguf, inLayer, config: { sizes, written } }: Architecture,
  config: Record<string, unknown>,
): void {
  if (inLayer.convIn !== undefined) Object.assign(config, written);
  const name = sizes.numKvHeads, list = name === undefined ? undefined : config[name];
  if (name === undefined || !Array.isArray(list)) return;
  const counts = [...new Set<unknown>(list)].filter((n) => n !== 0);
  if (counts.length !== 1 || list.includes(0) && inLayer.convIn === undefined) {
    throw new UsageError(
      `${file.label}: ${gguf}.${KV_HEADS} is ${list.slice(0, 20)}, which is not supported (only ` +
        "one number for all layers)",
    );
  }
  config[name] = counts[0];
  if (inLayer.convIn === undefined) return;
  config["layer_types"] = list.map((n) => n === 0 ? "conv" : "full_attention");
}

/** A list of the widths of all MLPs, where those that share keys may be twice as wide. */
function readDoubleMlp({ label }: GgufFile, config: Record<string, unknown>): void {
  const { intermediate_size: list } = config;
  if (!Array.isArray(list)) return;
  const first = list.length - Number(config[SHARED] ?? 0), [f] = list, wide = first < list.length;
  const widths = list.map((_, layer) => layer < first ? f : 2 * f);
  Object.assign(config, { intermediate_size: f, [DOUBLE]: wide });
  if (String(widths) === String(list)) return;
  throw new UsageError(
    `${label}: feed_forward_length is ${list.slice(0, 40)}, which is not supported (only twice ` +
      "as much in the layers that share keys)",
  );
}

function readDelta({ metadata }: GgufFile, config: Record<string, unknown>): void {
  const number = (key: string) => Number(metadata.get(`qwen35.${key}`) ?? 0);
  const heads = Number(config["linear_num_value_heads"]);
  config["linear_value_head_dim"] = number(DELTA_WIDTH) / heads;
  const layers = number("block_count") - number(NEXT_LAYERS);
  config["num_hidden_layers"] = layers;
  const recurrent = metadata.get(`qwen35.${RECURRENT}`);
  if (!Array.isArray(recurrent)) return;
  config["layer_types"] = recurrent.slice(0, layers).map((is) =>
    is ? "linear_attention" : "full_attention"
  );
}

/** Whether layers of this `general.architecture` may have different kinds of attention. */
function isTyped({ gguf }: Architecture): boolean {
  return gguf === "gemma2" || gguf === "gemma3" || gguf === "gemma4" || gguf === "olmo2";
}

/** The bases of llama.cpp for layers with a window, where a file has none. */
const SLIDING_BASES: Readonly<Record<string, number>> = { gemma3: 10_000 };
/** The number of layers of both 27B: their scores have another scale, which no file says. */
const GEMMA_27B: Readonly<Record<string, number>> = { gemma2: 46, gemma3: 62 };

function addTypes(
  file: GgufFile,
  { gguf, fullEvery = 4 }: Architecture,
  config: Record<string, unknown>,
  scaling: Readonly<Record<string, unknown>> | null,
): void {
  const layers = Number(config["num_hidden_layers"]), base = config["rope_theta"] ?? 10_000;
  const isSliding = config["sliding_window"] !== undefined;
  if (GEMMA_27B[gguf] !== undefined) {
    const { hidden_size: d, num_attention_heads: heads, head_dim } = config;
    const isLargest = layers === GEMMA_27B[gguf];
    config["query_pre_attn_scalar"] = isLargest ? Number(d) / Number(heads) : head_dim;
  } else if (gguf === "olmo2" && isSliding) config["model_type"] = "olmo3";
  else if (gguf !== "gemma4") {
    config["rope_scaling"] = scaling;
    return;
  }
  const pattern = file.metadata.get(`${gguf}.${PATTERN}`);
  const every = typeof pattern === "number" ? pattern : fullEvery;
  if (Array.isArray(pattern) && pattern.length !== layers) {
    throw new UsageError(
      `${file.label}: ${gguf}.${PATTERN} has ${pattern.length} values, expected ${layers}`,
    );
  }
  config["layer_types"] = Array.from({ length: Math.min(layers, MAX_LAYERS) }, (_, l) => {
    const slides = Array.isArray(pattern) ? Boolean(pattern[l]) : (l + 1) % every !== 0;
    return isSliding && slides ? "sliding_attention" : "full_attention";
  });
  if (gguf === "gemma2") {
    config["rope_scaling"] = scaling;
    return;
  }
  const sliding = file.metadata.get(`${gguf}.${SLIDING_BASE}`) ?? SLIDING_BASES[gguf] ?? base;
  delete config["rope_theta"];
  config["rope_parameters"] = {
    full_attention: { rope_type: "default", ...scaling, rope_theta: base },
    sliding_attention: { rope_type: "default", rope_theta: sliding },
  };
}

/** The share of a head that is rotated, and the original length beside the section. */
function addPhi(
  file: GgufFile,
  { gguf }: Architecture,
  config: Record<string, unknown>,
): void {
  const of = (key: string) => file.metadata.get(`${gguf}.${key}`);
  const { hidden_size: d, num_attention_heads: heads, head_dim } = config;
  const width = Number(head_dim ?? Number(d) / Number(heads)), rotated = of(ROTATED) ?? width;
  config["partial_rotary_factor"] = Number(rotated) / width;
  const original = of("rope.scaling.original_context_length");
  if (original !== undefined) config["original_max_position_embeddings"] = original;
}

/** The file's `general.architecture`. @throws UsageError when it is not supported */
export function ggufArchitecture(file: GgufFile): string {
  return architectureIn(file).gguf;
}

function architectureIn(file: GgufFile): Architecture {
  const name = file.metadata.get("general.architecture");
  const all = Object.values(ARCHITECTURES);
  // A Mixtral is called llama, too.
  const experts = Number(file.metadata.get(`${name}.${EXPERTS.count}`) ?? 0);
  const named = all.filter(({ gguf }) => gguf === name);
  const found = named.find((one) => (one.experts !== undefined) === experts > 0);
  if (found !== undefined) return found;
  const known = [...new Set(all.map(({ gguf }) => gguf))].join(", ");
  throw new UsageError(
    `${file.label}: general.architecture is ${JSON.stringify(name)}` +
      (named.length > 0
        ? `, and ${name}.${EXPERTS.count} is ${experts}, which do not go together here`
        : `, which is not supported (only ${known})`),
  );
}

function refuseUnknown(file: GgufFile, architecture: Architecture): void {
  const { gguf, positions, experts } = architecture;
  const all = new Set([
    ...ggufKeys(architecture).map(({ key }) => key),
    ...(positions === "rotary" ? ROTARY_OTHERS : []),
    ...(experts === undefined ? [] : ["feed_forward_length"]),
    ...OTHERS,
  ]);
  for (const [key, value] of file.metadata) {
    if (!key.startsWith(`${gguf}.`)) continue;
    const name = key.slice(gguf.length + 1);
    if (all.has(name) || /^expert_/.test(name) && value === 0) continue;
    // A dense Granite 4 has the sizes of Mamba layers, which there are none of.
    if (gguf === "granite" && /^(ssm\.|expert_shared_feed_forward_length$)/.test(name)) continue;
    throw new UsageError(
      `${file.label}: the metadata "${key}" (${String(value).slice(0, 40)}) are not understood`,
      {
        advice: name.startsWith("expert_")
          ? "Of models with experts, Qwen3-MoE, Mixtral and gpt-oss are supported."
          : "The model computes something that rgx does not: use another model.",
      },
    );
  }
}

/** Sizes of heads that have no key of their own in the config.json, or a second one in the file. */
function checkHeads(
  file: GgufFile,
  architecture: Architecture,
  config: Record<string, unknown>,
): void {
  const { gguf, config: { sizes } } = architecture;
  const of = (size: SizeName) => sizes[size] === undefined ? undefined : config[sizes[size]];
  const hidden = of("hiddenSize"), heads = of("numHeads");
  const headDim = config[FULL_HEAD] ?? of("headDim") ??
    (typeof hidden === "number" && typeof heads === "number" ? hidden / heads : undefined);
  for (const [key, size] of sizesOf(architecture)) {
    const value = file.metadata.get(`${gguf}.${key}`), isHeads = size === "numKvHeads";
    const expected = isHeads ? heads : headDim;
    const isChecked = (CHECKED.includes(key) || sizes[size] === undefined) &&
      !(key === ROTATED && architecture.partialRotary);
    if (!isChecked || value === undefined || value === expected) continue;
    throw new UsageError(
      `${file.label}: ${gguf}.${key} is ${value}, which is not supported ` +
        `(only the ${isHeads ? "number of heads" : "width of a head"}, ${expected})`,
    );
  }
}

/**
 * The shortest decimal that gives a float32: 1e-5 for 9.99999974e-6. Whole numbers do not change.
 */
export function shortest(value: number): number {
  if (Number.isInteger(value) || Math.fround(value) !== value) return value;
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}
