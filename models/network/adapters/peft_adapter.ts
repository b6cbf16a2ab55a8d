/**
 * LoRA adapters in the files of PEFT 0.21: `adapter_config.json` and `adapter_model.safetensors`.
 * PEFT, transformers and vLLM (without modules_to_save) load the keys that are written. Keys that
 * would change the result in a way that rgx does not compute are refused by name.
 * lora.ts decides which modules an adapter changes and its scale, modules_to_save.ts which modules
 * it holds in full.
 */
import type { FileContent } from "../../../core/atomic_file.ts";
import { RgxError, UsageError } from "../../../core/errors.ts";
import { exists, isFile } from "../../../core/paths.ts";
import { isRecord, parseJsonObject, readJsonObject } from "../../../core/json_file.ts";
import { Fields, type Json, requireNone } from "../../architectures/config_fields.ts";
import type { LoraOptions } from "./lora.ts";
import { WEIGHT_INITS, type WeightInit } from "./weight_factors.ts";
import { isSavedModule, modulePathOf, PEFT_PREFIX } from "./modules_to_save.ts";
import { readSafetensors, type SafetensorsFile } from "../../formats/safetensors/safetensors.ts";
import { safetensorsContent, type StreamedTensor } from "../../formats/tensor_stream.ts";

/** The version of PEFT that has these keys. Newer readers look at it. */
const PEFT_VERSION = "0.21.2";

export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_WEIGHTS = "adapter_model.safetensors";
/**
 * What PiSSA or OLoRA took out of the weights (lora.ts), which takes long to compute. PEFT computes
 * it at each load and leaves this file aside.
 */
export const INITIAL_ADAPTER = "initial_adapter.safetensors";

type Described = "alpha" | "dropout" | "useRslora" | "rankPattern" | "alphaPattern";

export interface PeftConfig
  extends Omit<LoraOptions, Described | "init" | "seed">, Required<Pick<LoraOptions, Described>> {
  /** Folder (relative to the adapter's, or as given) or name on the Hub; null = not named. */
  baseModel: string | null;
  revision: string | null;
  layersToTransform: readonly number[] | null;
  /** What takes a part out of the weights when the adapter is loaded; absent = nothing does. */
  init?: WeightInit;
  /** Whether the adapted modules store their weights as [in, out], as GPT-2's do; default false. */
  fanInFanOut?: boolean;
}

export interface PeftAdapter {
  config: PeftConfig;
  weights: SafetensorsFile;
}

/** The adapter as options of a model. Dropout is left out: the next training chooses its own. */
export function loraOptions(
  { baseModel: _, revision: _1, fanInFanOut: _2, dropout: _3, ...lora }: PeftConfig,
): LoraOptions {
  return lora;
}

export async function isAdapterFolder(folder: string): Promise<boolean> {
  return await isFile(`${folder}/${ADAPTER_CONFIG}`);
}

/** @throws RgxError for a damaged file, UsageError for no or no supported adapter */
export async function readPeftAdapter(folder: string): Promise<PeftAdapter> {
  const path = `${folder}/${ADAPTER_CONFIG}`;
  const json = await readJsonObject(path);
  if (json === null) throw new UsageError(`${folder}: no adapter: looked for ${ADAPTER_CONFIG}`);
  const config = readPeftConfig(json, path);
  const weights = await openAdapterWeights(folder);
  checkAdapterTensors(weights, config);
  const taken = config.init === undefined ? undefined : await readTaken(folder, weights);
  return { config: { ...config, ...(taken && { taken }) }, weights };
}

/**
 * What an adapter took out of the weights, if its folder has the file.
 * @throws RgxError when the file belongs to another adapter
 */
async function readTaken(
  folder: string,
  weights: SafetensorsFile,
): Promise<LoraOptions["taken"]> {
  const path = `${folder}/${INITIAL_ADAPTER}`;
  if (!await exists(path)) return undefined;
  const file = await readSafetensors(path);
  for (const [name, { shape }] of weights.tensors) {
    const initial = name.replace(/lora_([AB])\.weight$/, "initial_$1");
    const found = file.tensors.get(initial)?.shape;
    if (initial === name || String(found) === String(shape)) continue;
    throw new RgxError(
      `${path}: "${initial}" has shape [${found ?? ""}], expected [${shape}] as in the adapter`,
      { advice: "Delete the file: then the values are computed again." },
    );
  }
  return (name) => file.float32(name);
}

async function openAdapterWeights(folder: string): Promise<SafetensorsFile> {
  const path = `${folder}/${ADAPTER_WEIGHTS}`;
  if (!await exists(path)) {
    throw new RgxError(`${folder}: ${ADAPTER_CONFIG} is there but no ${ADAPTER_WEIGHTS}`, {
      advice: "Adapters in adapter_model.bin are not read: save them as safetensors.",
    });
  }
  return await readSafetensors(path);
}

/** Tensors must be pairs of LoRA matrices, or such as the configuration or an adapted head has. */
function checkAdapterTensors(
  weights: SafetensorsFile,
  { modulesToSave: saved = [], bias = "none", loraBias, useDora }: PeftConfig,
): void {
  for (const [name, { shape }] of weights.tensors) {
    const path = modulePathOf(name.slice(PEFT_PREFIX.length));
    if (name.startsWith(PEFT_PREFIX) && isSavedModule(path, saved)) continue;
    if (/\.(lora_embedding_[AB]|trainable_tokens_delta|base_layer\.weight)$/.test(name)) continue;
    if (loraBias && name.endsWith(".lora_B.bias")) continue;
    if (useDora && name.endsWith(".lora_magnitude_vector")) continue;
    if (bias !== "none" && name.startsWith(PEFT_PREFIX) && name.endsWith(".bias")) continue;
    const match = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(name);
    if (match === null) {
      throw new RgxError(
        `${weights.label}: tensor "${name}" is no LoRA matrix of a linear module, nor of ` +
          `one that modules_to_save names; expected names like ` +
          "base_model.model.{module}.lora_A.weight",
        { advice: "Low-rank adapters on embeddings are not supported." },
      );
    }
    const isA = match[2] === "A";
    const otherName = `base_model.model.${match[1]}.lora_${isA ? "B" : "A"}.weight`;
    const other = weights.tensors.get(otherName);
    if (other === undefined) {
      throw new RgxError(`${weights.label}: there is "${name}" but no "${otherName}"`);
    }
    if (isA && (shape.length !== 2 || other.shape.length !== 2 || shape[0] !== other.shape[1])) {
      throw new RgxError(
        `${weights.label}: "${name}" has shape [${shape}] and "${otherName}" ` +
          `[${other.shape}], expected [r, in] and [out, r]`,
      );
    }
  }
}

/** Keys that must have one of these values, because any other value changes the result. */
const NEUTRAL_KEYS: Readonly<Record<string, readonly unknown[]>> = {
  ensure_weight_tying: [false],
  use_qalora: [false],
  use_bdlora: [false, null],
  layer_replication: [null],
  // The names of the list of layers in the supported models.
  layers_pattern: [null, "layers", "h"],
  alora_invocation_tokens: [null],
  arrow_config: [null],
  kasa_config: [null],
  monteclora_config: [null],
  velora_config: [null],
  // Other values change the base weights when the adapter is loaded.
  init_lora_weights: [true, false, "gaussian", "orthogonal", "eva", ...WEIGHT_INITS],
};

/** What a key may hold: in words, and as {@link PeftConfig} has it; undefined = it is wrong. */
interface Form {
  readonly expected: string;
  read(value: unknown): unknown;
}

const isNames = (value: unknown) =>
  Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "");
const isWhole = (value: unknown): value is number => Number.isInteger(value);
const isAtLeast = (value: unknown, minimum: number) =>
  Number.isFinite(value) && (value as number) >= minimum;
const isMapOfNumbers = (value: unknown) =>
  isRecord(value) && Object.values(value).every((item) => typeof item === "number");
const formOf = (expected: string, isRight: (value: unknown) => boolean): Form => ({
  expected,
  read: (value) => isRight(value) ? value : undefined,
});

const TEXT = formOf("a text", (value) => typeof value === "string");
const FLAG = formOf("true or false", (value) => typeof value === "boolean");
const NUMBER = formOf("a number, at least 0", (value) => isAtLeast(value, 0));
const COUNT = formOf("a whole number, at least 1", (value) => isWhole(value) && value >= 1);
const NAMES = formOf("a list of module names", isNames);
const NAMES_OR_PATTERN = formOf(
  `a list of module names, a regular expression or "all-linear"`,
  (value) => typeof value === "string" ? value !== "" : isNames(value),
);
const PATTERN = formOf("a map from module name to number", isMapOfNumbers);
const BIAS = formOf(
  "none, all, lora_only",
  (value) => value === "none" || value === "all" || value === "lora_only",
);
const LAYERS: Form = {
  expected: "layer numbers",
  read: (value) => {
    const list = typeof value === "number" ? [value] : value;
    return Array.isArray(list) && list.every(isWhole) ? list : undefined;
  },
};
const TOKENS: Form = {
  expected: "ids of tokens, or a map of the embedding to them",
  read: (value) => {
    const [[name, ids] = ["", value], other] = isRecord(value) ? Object.entries(value) : [];
    const isEmbedding = name === "" || /(^|\.)(embed_tokens|wte)$/.test(name);
    const isRight = isEmbedding && other === undefined && Array.isArray(ids) && ids.every(isWhole);
    return isRight ? ids : undefined;
  },
};
/** Other values begin an adapter in training, but change nothing of one that is loaded. */
const INIT: Form = {
  expected: "",
  read: (value) => WEIGHT_INITS.find((known) => known === value) ?? true,
};

/** A key of LoraConfig that is read and written. */
interface Field {
  readonly key: string;
  readonly name: keyof PeftConfig;
  readonly form: Form;
  /** What an absent key, null and an empty list stand for; default null. */
  readonly usual?: unknown;
  /** Whether a {@link PeftConfig} has it also where it is usual. */
  readonly kept?: true;
  /** Whether nothing is written where it is absent. */
  readonly rare?: true;
}

const FIELDS: readonly Field[] = [
  { key: "base_model_name_or_path", name: "baseModel", form: TEXT, kept: true },
  { key: "revision", name: "revision", form: TEXT, kept: true },
  { key: "r", name: "r", form: COUNT, usual: 8, kept: true },
  { key: "lora_alpha", name: "alpha", form: NUMBER, usual: 8, kept: true },
  { key: "lora_dropout", name: "dropout", form: NUMBER, usual: 0, kept: true },
  { key: "target_modules", name: "targetModules", form: NAMES_OR_PATTERN, usual: [], kept: true },
  { key: "target_parameters", name: "targetParameters", form: NAMES, rare: true },
  { key: "use_rslora", name: "useRslora", form: FLAG, usual: false, kept: true },
  { key: "trainable_token_indices", name: "trainableTokenIndices", form: TOKENS, rare: true },
  { key: "init_lora_weights", name: "init", form: INIT, usual: true },
  { key: "use_dora", name: "useDora", form: FLAG, usual: false },
  { key: "lora_bias", name: "loraBias", form: FLAG, usual: false, rare: true },
  { key: "bias", name: "bias", form: BIAS, usual: "none" },
  { key: "rank_pattern", name: "rankPattern", form: PATTERN, usual: {}, kept: true },
  { key: "alpha_pattern", name: "alphaPattern", form: PATTERN, usual: {}, kept: true },
  { key: "layers_to_transform", name: "layersToTransform", form: LAYERS, kept: true },
  { key: "exclude_modules", name: "excludeModules", form: NAMES_OR_PATTERN, rare: true },
  { key: "modules_to_save", name: "modulesToSave", form: NAMES },
  { key: "fan_in_fan_out", name: "fanInFanOut", form: FLAG, usual: false },
];

/** The keys that are read, and those that matter only where an adapter is made or trained. */
const KNOWN_KEYS = new Set([
  ...FIELDS.map(({ key }) => key),
  ...("peft_type peft_version task_type auto_mapping inference_mode runtime_config " +
    "megatron_config megatron_core loftq_config eva_config corda_config lora_ga_config " +
    "qalora_group_size").split(" "),
]);

/** Whether a value is what a switch has that is off. */
function isUnset(value: unknown): boolean {
  return value === null || value === undefined || value === false ||
    typeof value === "object" && Object.keys(value).length === 0;
}

/** @param where the file, for messages. @throws UsageError that names the key */
export function readPeftConfig(json: Json, where: string): PeftConfig {
  if (json["peft_type"] !== "LORA") {
    throw new UsageError(
      `${where}: peft_type is ${JSON.stringify(json["peft_type"])}, only "LORA" is supported`,
    );
  }
  for (const [key, neutral] of Object.entries(NEUTRAL_KEYS)) {
    const given = json[key];
    const value = Array.isArray(given) && given.length === 1 ? given[0] : given;
    const empty = Array.isArray(value) && value.length === 0 && neutral.includes(null);
    if (value !== undefined && !neutral.includes(value) && !empty) {
      throw new UsageError(
        `${where}: ${key} is ${JSON.stringify(given)}, which is not supported ` +
          `(only ${neutral.map((n) => JSON.stringify(n)).join(", ")})`,
        { advice: "Merge the adapter into its base model with PEFT, or train it without this." },
      );
    }
  }
  const unknown = Object.keys(json).filter((key) =>
    !KNOWN_KEYS.has(key) && !Object.hasOwn(NEUTRAL_KEYS, key) && !isUnset(json[key])
  );
  requireNone(json, unknown, where, {
    advice: "The adapter may compute something that rgx does not. PEFT ignores keys that it does " +
      "not know: if they are of no account, remove them.",
  });
  const fields = new Fields(json, where);
  const config: Partial<Record<keyof PeftConfig, unknown>> = {};
  for (const { key, name, form, usual = null, kept } of FIELDS) {
    const given = json[key] ?? null;
    const isEmpty = given === null || Array.isArray(given) && given.length === 0;
    const value = isEmpty ? usual : form.read(given);
    if (value === undefined) throw fields.wrong(key, form.expected);
    if (kept || value !== usual) config[name] = value;
  }
  const read = config as unknown as PeftConfig;
  if (read.targetModules.length > 0 || read.targetParameters !== undefined) return read;
  throw fields.wrong("target_modules", NAMES_OR_PATTERN.expected);
}

export function writePeftConfig(config: PeftConfig): string {
  const constants = { inference_mode: true, peft_type: "LORA", peft_version: PEFT_VERSION };
  const json: Record<string, unknown> = { ...constants, task_type: "CAUSAL_LM" };
  for (const { key, name, usual = null, rare } of FIELDS) {
    const value = config[name] ?? (rare ? undefined : usual);
    // Names have no order of their own.
    if (value !== undefined) json[key] = isNames(value) ? (value as string[]).toSorted() : value;
  }
  const sorted = Object.entries(json).sort(([a], [b]) => a < b ? -1 : 1);
  return JSON.stringify(Object.fromEntries(sorted), null, 2) + "\n";
}

/**
 * An adapter's files.
 * @param tensors by PEFT's names
 * @param taken out of the weights, by the names of {@link loraNames}
 * @throws UsageError for impossible options
 */
export function peftAdapterFiles(
  config: PeftConfig,
  tensors: Iterable<StreamedTensor>,
  taken: readonly StreamedTensor[] = [],
): Map<string, FileContent> {
  const text = writePeftConfig(config);
  readPeftConfig(parseJsonObject(text, ADAPTER_CONFIG), ADAPTER_CONFIG);
  return new Map<string, FileContent>([
    [ADAPTER_CONFIG, new TextEncoder().encode(text)],
    [ADAPTER_WEIGHTS, safetensorsContent(tensors)],
    ...(taken.length === 0 ? [] : [[INITIAL_ADAPTER, safetensorsContent(taken)] as const]),
  ]);
}
