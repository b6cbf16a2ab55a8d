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
import { parseJsonObject, readJsonObject } from "../../../core/json_file.ts";
import { type Json, requireNone, shown } from "../../architectures/config_fields.ts";
import type { LoraOptions } from "./lora.ts";
import { WEIGHT_INITS, type WeightInit } from "./weight_factors.ts";
import { isSavedModule, modulePathOf, PEFT_PREFIX } from "./modules_to_save.ts";
import { readSafetensors, type SafetensorsFile } from "../../formats/safetensors/safetensors.ts";
import { safetensorsContent, type StreamedTensor } from "../../formats/tensor_stream.ts";

/** The version of PEFT that has these keys. Newer readers look at it. */
const PEFT_VERSION = "0.21.2";

export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_WEIGHTS = "adapter_model.safetensors";

/** What an adapter's file says of it besides where its base is. */
type Described = "alpha" | "dropout" | "useRslora" | "rankPattern" | "alphaPattern";

export interface PeftConfig
  extends Omit<LoraOptions, Described | "init" | "seed">, Required<Pick<LoraOptions, Described>> {
  /**
   * Folder (relative to the adapter's, or as given) or Hub name; null when the adapter names none.
   */
  baseModel: string | null;
  revision: string | null;
  layersToTransform: readonly number[] | null;
  /** What takes a part out of the weights when the adapter is loaded; absent = nothing does. */
  init?: WeightInit;
  /** Whether the adapted modules store their weights as [in, out], as GPT-2's do; default false. */
  fanInFanOut?: boolean;
}

/** An adapter with its tensors, read or to be written. */
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

/** Whether the folder holds an adapter. */
export async function isAdapterFolder(folder: string): Promise<boolean> {
  return await isFile(`${folder}/${ADAPTER_CONFIG}`);
}

/**
 * @throws RgxError when a file is damaged, UsageError when there is no adapter or one that is not
 *   supported
 */
export async function readPeftAdapter(folder: string): Promise<PeftAdapter> {
  const path = `${folder}/${ADAPTER_CONFIG}`;
  const json = await readJsonObject(path);
  if (json === null) throw new UsageError(`${folder}: no adapter: looked for ${ADAPTER_CONFIG}`);
  const config = readPeftConfig(json, path);
  const weights = await openAdapterWeights(folder);
  checkAdapterTensors(weights, config);
  return { config, weights };
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

/**
 * Every tensor must be one of a pair of LoRA matrices whose ranks agree, or belong to a module
 * stored in full, or be a bias or magnitude that the configuration names, or the copy of an adapted
 * head.
 */
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

/**
 * The other keys of LoraConfig: those that are read below, and those that matter only where an
 * adapter is made or trained.
 */
const OTHER_KEYS = new Set(
  ("r lora_alpha lora_dropout target_modules exclude_modules modules_to_save use_rslora " +
    "use_dora lora_bias bias target_parameters trainable_token_indices " +
    "rank_pattern alpha_pattern layers_to_transform fan_in_fan_out base_model_name_or_path " +
    "revision peft_type peft_version task_type auto_mapping inference_mode runtime_config " +
    "megatron_config megatron_core loftq_config eva_config corda_config lora_ga_config " +
    "qalora_group_size").split(" "),
);

/** Values of `bias`. */
const BIASES = ["none", "all", "lora_only"] as const;

/** The ids of a map that names the embedding alone; null for another. */
function onlyEmbedding(map: unknown): unknown {
  const entries = Object.entries(map as object);
  return entries.length === 1 && /(^|\.)(embed_tokens|wte)$/.test(entries[0]![0])
    ? entries[0]![1]
    : "";
}

/** Whether a value is what a switch has that is off. */
function isUnset(value: unknown): boolean {
  return value === null || value === undefined || value === false ||
    typeof value === "object" && Object.keys(value).length === 0;
}

/**
 * @param where path of the file, for messages
 * @throws UsageError that names the key for anything mistyped or not supported
 */
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
    !OTHER_KEYS.has(key) && !Object.hasOwn(NEUTRAL_KEYS, key) && !isUnset(json[key])
  );
  requireNone(json, unknown, where, {
    advice: "The adapter may compute something that rgx does not. PEFT ignores keys that it does " +
      "not know: if they are of no account, remove them.",
  });
  const bad = (key: string, expected: string) =>
    new UsageError(`${where}: ${key} is ${shown(json[key])}, expected ${expected}`);
  const readNumber = (key: string, byDefault: number, minimum: number): number => {
    const value = json[key] ?? byDefault;
    if (!Number.isFinite(value) || (value as number) < minimum) {
      throw bad(key, `a number, at least ${minimum}`);
    }
    return value as number;
  };
  const readText = (key: string): string | null => {
    const value = json[key] ?? null;
    if (value !== null && typeof value !== "string") throw bad(key, "a text");
    return value;
  };
  const readPattern = (key: string): Record<string, number> => {
    const value = json[key] ?? {};
    const ok = typeof value === "object" && !Array.isArray(value) &&
      Object.values(value).every((v) => typeof v === "number");
    if (!ok) throw bad(key, "a map from module name to number");
    return value as Record<string, number>;
  };
  const targets = json["target_modules"];
  const isNames = (value: unknown): value is string[] =>
    Array.isArray(value) && value.length > 0 &&
    value.every((item) => typeof item === "string" && item !== "");
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || Array.isArray(value) && value.length === 0;
  const excluded = json["exclude_modules"], saved = json["modules_to_save"];
  if (!isEmpty(excluded) && !isNames(excluded) && (typeof excluded !== "string" || !excluded)) {
    throw bad("exclude_modules", "a list of module names or a regular expression");
  }
  if (!isEmpty(saved) && !isNames(saved)) throw bad("modules_to_save", "a list of module names");
  const parameters = json["target_parameters"] ?? [];
  if (!isEmpty(parameters) && !isNames(parameters)) {
    throw bad("target_parameters", "a list of names of parameters");
  }
  const isOptional = isEmpty(targets) && isNames(parameters);
  if (!isOptional && !isNames(targets) && (typeof targets !== "string" || targets === "")) {
    throw bad("target_modules", `a list of module names, a regular expression or "all-linear"`);
  }
  const layers = json["layers_to_transform"] ?? null;
  const layerList = typeof layers === "number" ? [layers] : layers;
  if (layerList !== null && !(Array.isArray(layerList) && layerList.every(Number.isInteger))) {
    throw bad("layers_to_transform", "layer numbers");
  }
  const init = WEIGHT_INITS.find((known) => known === json["init_lora_weights"]);
  const bias = json["bias"] ?? "none";
  if (!BIASES.some((known) => known === bias)) throw bad("bias", BIASES.join(", "));
  const tokens = json["trainable_token_indices"] ?? null;
  const ids = tokens === null || Array.isArray(tokens) ? tokens : onlyEmbedding(tokens);
  if (ids !== null && !(Array.isArray(ids) && ids.every(Number.isInteger))) {
    throw bad("trainable_token_indices", "ids of tokens, or a map of the embedding to them");
  }
  const r = readNumber("r", 8, 1);
  if (!Number.isInteger(r)) throw bad("r", "a whole number");
  return {
    baseModel: readText("base_model_name_or_path"),
    revision: readText("revision"),
    r,
    alpha: readNumber("lora_alpha", 8, 0),
    dropout: readNumber("lora_dropout", 0, 0),
    targetModules: isOptional ? [] : targets as string[] | string,
    ...(isNames(parameters) ? { targetParameters: parameters } : {}),
    useRslora: json["use_rslora"] === true,
    ...(ids === null ? {} : { trainableTokenIndices: ids as number[] }),
    ...(init === undefined ? {} : { init }),
    ...(json["use_dora"] === true ? { useDora: true } : {}),
    ...(json["lora_bias"] === true ? { loraBias: true } : {}),
    ...(bias === "none" ? {} : { bias: bias as "all" | "lora_only" }),
    rankPattern: readPattern("rank_pattern"),
    alphaPattern: readPattern("alpha_pattern"),
    layersToTransform: layerList as number[] | null,
    ...(isEmpty(excluded) ? {} : { excludeModules: excluded as string[] | string }),
    ...(isNames(saved) ? { modulesToSave: saved } : {}),
    ...(json["fan_in_fan_out"] === true ? { fanInFanOut: true } : {}),
  };
}

/** The text of an `adapter_config.json`. */
export function writePeftConfig(config: PeftConfig): string {
  const sorted = (names: readonly string[] | string) =>
    typeof names === "string" ? names : [...names].sort();
  const { targetModules, excludeModules, modulesToSave } = config;
  const json = {
    alpha_pattern: config.alphaPattern,
    base_model_name_or_path: config.baseModel,
    bias: config.bias ?? "none",
    ...(excludeModules === undefined ? {} : { exclude_modules: sorted(excludeModules) }),
    fan_in_fan_out: config.fanInFanOut ?? false,
    inference_mode: true,
    init_lora_weights: config.init ?? true,
    layers_to_transform: config.layersToTransform,
    lora_alpha: config.alpha,
    ...(config.loraBias ? { lora_bias: true } : {}),
    lora_dropout: config.dropout,
    modules_to_save: modulesToSave === undefined ? null : sorted(modulesToSave),
    peft_type: "LORA",
    peft_version: PEFT_VERSION,
    r: config.r,
    rank_pattern: config.rankPattern,
    revision: config.revision,
    target_modules: sorted(targetModules),
    ...(config.targetParameters === undefined
      ? {}
      : { target_parameters: sorted(config.targetParameters) }),
    task_type: "CAUSAL_LM",
    ...(config.trainableTokenIndices === undefined
      ? {}
      : { trainable_token_indices: config.trainableTokenIndices }),
    use_dora: config.useDora ?? false,
    use_rslora: config.useRslora,
  };
  return JSON.stringify(json, null, 2) + "\n";
}

/**
 * The two files of an adapter.
 * @param tensors under PEFT's names
 * @throws UsageError when the configuration is impossible
 */
export function peftAdapterFiles(
  config: PeftConfig,
  tensors: Iterable<StreamedTensor>,
): Map<string, FileContent> {
  const text = writePeftConfig(config);
  readPeftConfig(parseJsonObject(text, ADAPTER_CONFIG), ADAPTER_CONFIG);
  return new Map<string, FileContent>([
    [ADAPTER_CONFIG, new TextEncoder().encode(text)],
    [ADAPTER_WEIGHTS, safetensorsContent(tensors)],
  ]);
}
