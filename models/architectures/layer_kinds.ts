/**
 * Reads and writes the keys of a `config.json` that say how attention differs from layer to layer:
 * which layers have a sliding window, and which do not rotate queries and keys.
 */
import { UsageError } from "../../core/errors.ts";
import type { Architecture } from "./architecture.ts";
import { ifPresent, type Json, readCount, readNumber, requireNeutral } from "./config_fields.ts";
import { architectureOf } from "./mod.ts";
import { type LayerType, layerType, MAX_LAYERS, type ModelConfig } from "./model_config.ts";

/** What the keys say. */
type LayerKinds = Pick<ModelConfig, "slidingWindow" | "layerTypes" | "unrotated" | "convTaps">;

/** What configurations mean that do not set these keys. */
const DEFAULT_WINDOW = 4096, DEFAULT_WINDOW_LAYERS = 28, DEFAULT_INTERVAL = 4;

/** Names of the types in `layer_types`; in older files of Granite just "attention". */
const TYPES: Readonly<Record<string, LayerType>> = {
  full_attention: "full",
  attention: "full",
  sliding_attention: "sliding",
  conv: "conv",
};
/** The key of a convolution's positions. */
const TAPS = "conv_L_cache";

/** @throws UsageError for kinds that are not supported */
export function readLayerKinds(
  json: Json,
  architecture: Architecture,
  numLayers: number,
  where: string,
): LayerKinds {
  // Such a model is refused for its number of layers.
  if (numLayers > MAX_LAYERS) return {};
  const unrotated = readUnrotated(json, architecture, numLayers, where);
  const window = readWindow(json, architecture, numLayers, where);
  return {
    ...window,
    ...(window.layerTypes?.includes("conv") ? { convTaps: readTaps(json, where) } : {}),
    ...(unrotated.length === 0 ? {} : { unrotated }),
  };
}

function readTaps(json: Json, where: string): number {
  const taps = readCount({ [TAPS]: json[TAPS] ?? 3 }, TAPS, where);
  if (taps >= 2) return taps;
  throw new UsageError(`${where}: ${TAPS} is ${taps}, expected at least 2`);
}

function readWindow(
  json: Json,
  architecture: Architecture,
  numLayers: number,
  where: string,
): Pick<LayerKinds, "slidingWindow" | "layerTypes"> {
  const { window: kind, fullEvery, config: { defaults } } = architecture;
  if (kind === "none") return {};
  const key = "sliding_window", isFlagged = kind === "flagged", isTyped = kind === "typed";
  const { slidingWindow: absent = DEFAULT_WINDOW } = defaults;
  const given = json[key] === undefined ? absent : json[key];
  requireNeutral(json, { use_sliding_window: [true, false] }, where);
  const convolves = architecture.inLayer.conv !== undefined;
  const types = readTypes(json, isTyped ? numLayers : null, convolves, where);
  if (types === null && isTyped && fullEvery === undefined) {
    throw new UsageError(`${where}: layer_types is missing, expected "attention" for each layer`);
  }
  const isOff = given === null || (isFlagged && json["use_sliding_window"] !== true);
  const slidingWindow = isOff ? null : readCount({ [key]: given }, key, where);
  if (slidingWindow === null && !isTyped) return {};
  const all = (type: LayerType) => types !== null && types.every((one) => one === type);
  if (kind === "always" && types !== null && !all("full") && !all("sliding")) {
    throw new UsageError(
      `${where}: layer_types is ${JSON.stringify(json["layer_types"])}, which is not supported ` +
        `(only one kind for all layers, "full_attention" or "sliding_attention")`,
    );
  }
  // Qwen: the lowest max_window_layers layers have full attention.
  const count = (name: string, usual: number) =>
    ifPresent(json[name], () => readNumber(json, name, where)) ?? usual;
  const fullLayers = isFlagged ? count("max_window_layers", DEFAULT_WINDOW_LAYERS) : 0;
  const every = isTyped ? count("sliding_window_pattern", fullEvery ?? 1) : Infinity;
  const usual = (layer: number): LayerType =>
    layer < fullLayers || (layer + 1) % every === 0 ? "full" : "sliding";
  const layerTypes = Array.from(
    { length: numLayers },
    (_, l) => all("full") ? "full" : types?.[l] ?? usual(l),
  );
  if (layerTypes.includes("conv")) return { layerTypes };
  if (!layerTypes.includes("sliding")) return {};
  if (slidingWindow === null) {
    throw new UsageError(`${where}: ${key} is missing, which layer_types with sliding layers need`);
  }
  return layerTypes.includes("full") ? { slidingWindow, layerTypes } : { slidingWindow };
}

/** The types of `layer_types`; null when it is not set. */
function readTypes(
  json: Json,
  length: number | null,
  convolves: boolean,
  where: string,
): LayerType[] | null {
  const key = "layer_types", list = json[key] ?? [];
  if (!Array.isArray(list)) {
    throw new UsageError(`${where}: ${key} is ${JSON.stringify(list)}, expected a list`);
  }
  if (list.length === 0) return null;
  const known = (type: unknown) =>
    typeof type === "string" && Object.hasOwn(TYPES, type) &&
    (convolves ? type !== "sliding_attention" : type !== "conv");
  const unknown = list.find((type) => !known(type));
  if (unknown !== undefined) {
    throw new UsageError(
      `${where}: ${key} has ${JSON.stringify(unknown)}, which is not supported ` +
        `(only "full_attention" and "${convolves ? "conv" : "sliding_attention"}")`,
    );
  }
  if (length !== null && list.length !== length) {
    throw new UsageError(`${where}: ${key} has ${list.length} types, expected ${length}`);
  }
  return list.map((type) => TYPES[type]!);
}

function readUnrotated(
  json: Json,
  { unrotated: kind }: Architecture,
  numLayers: number,
  where: string,
): number[] {
  const layers = Array.from({ length: numLayers }, (_, l) => l);
  if (kind === undefined) return [];
  if (kind === "by type") {
    requireNeutral(json, { position_embedding_type: ["rope", "nope"] }, where);
    return json["position_embedding_type"] === "rope" ? [] : layers;
  }
  const key = "no_rope_layers", list = json[key] ?? null;
  if (list === null) {
    const every = ifPresent(json["no_rope_layer_interval"], () =>
      readCount(json, "no_rope_layer_interval", where)) ?? DEFAULT_INTERVAL;
    return layers.filter((layer) =>
      (layer + 1) % every === 0
    );
  }
  const isFlag = (value: unknown) => value === 0 || value === 1;
  if (!Array.isArray(list) || list.length < numLayers || !list.every(isFlag)) {
    throw new UsageError(
      `${where}: ${key} is ${JSON.stringify(list)}, expected ${numLayers} times 0 or 1`,
    );
  }
  return layers.filter((layer) => list[layer] === 0);
}

/** The keys that {@link readLayerKinds} reads. */
export function layerKindKeys(config: ModelConfig): Record<string, unknown> {
  const { window: kind, unrotated: unrotatedKind } = architectureOf(config);
  const { slidingWindow = null, layerTypes, unrotated = [], numLayers } = config;
  const each = <T>(of: (layer: number) => T) => Array.from({ length: numLayers }, (_, l) => of(l));
  const types = each((l) => layerType(config, l));
  return {
    ...(slidingWindow === null && kind !== "always" ? {} : { sliding_window: slidingWindow }),
    ...(slidingWindow !== null && kind === "flagged"
      ? { use_sliding_window: true, max_window_layers: 0 }
      : {}),
    ...(kind === "typed" || layerTypes !== undefined
      ? { layer_types: types.map((type) => type === "conv" ? type : `${type}_attention`) }
      : {}),
    ...(config.convTaps === undefined ? {} : { [TAPS]: config.convTaps }),
    ...(unrotatedKind === "listed"
      ? { no_rope_layers: each((l) => unrotated.includes(l) ? 0 : 1) }
      : {}),
    ...(unrotatedKind === "by type"
      ? { position_embedding_type: unrotated.length === 0 ? "rope" : "nope" }
      : {}),
  };
}
