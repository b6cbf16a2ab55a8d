/**
 * Reads and writes the keys of a `config.json` that say how attention differs from layer to layer:
 * which layers have a sliding window, and which do not rotate queries and keys.
 */
import { UsageError } from "../../core/errors.ts";
import type { DeltaSizes } from "../../kernels/ops/delta_rule/spec.ts";
import { type Architecture, convolves, type LayerType } from "./architecture.ts";
import type { Fields } from "./config_fields.ts";
import { architectureOf } from "./mod.ts";
import { layerType, MAX_LAYERS, type ModelConfig } from "./model_config.ts";

type LayerKinds = Pick<
  ModelConfig,
  "slidingWindow" | "layerTypes" | "unrotated" | "convTaps" | "delta"
>;

/** What configurations mean that do not set these keys. */
const DEFAULT_WINDOW = 4096, DEFAULT_WINDOW_LAYERS = 28, DEFAULT_INTERVAL = 4;

/** Names of the types in `layer_types`; in older files of Granite just "attention". */
const TYPES: Readonly<Record<string, LayerType>> = {
  full_attention: "full",
  attention: "full",
  sliding_attention: "sliding",
  conv: "conv",
  linear_attention: "linear",
};
/** The reverse, as files of today call them. */
const NAMES: Readonly<Record<LayerType, string>> = {
  full: "full_attention",
  sliding: "sliding_attention",
  conv: "conv",
  linear: "linear_attention",
};
/** The key of a convolution's positions and what a missing one means, also with delta rules. */
const TAPS = { linear: ["linear_conv_kernel_dim", 4], conv: ["conv_L_cache", 3] } as const;
/** The keys of a delta rule's sizes, and what missing ones mean. */
const DELTA = {
  keyHeads: ["linear_num_key_heads", 16],
  valueHeads: ["linear_num_value_heads", 32],
  keyDim: ["linear_key_head_dim", 128],
  valueDim: ["linear_value_head_dim", 128],
} as const;
const DELTA_ENTRIES = Object.entries(DELTA) as [keyof typeof DELTA, readonly [string, number]][];

/** What an architecture has in place of attention in some layers; in most a window. */
function otherType({ inLayer }: Architecture): LayerType {
  return inLayer.deltaQkv !== undefined
    ? "linear"
    : inLayer.conv !== undefined
    ? "conv"
    : "sliding";
}

/** @throws UsageError for kinds that are not supported */
export function readLayerKinds(
  of: Fields,
  architecture: Architecture,
  numLayers: number,
): LayerKinds {
  // Such a model is refused for its number of layers.
  if (numLayers > MAX_LAYERS) return {};
  const unrotated = readUnrotated(of, architecture, numLayers);
  const window = readWindow(of, architecture, numLayers);
  return {
    ...window,
    ...readMixers(of, window.layerTypes ?? []),
    ...(unrotated.length === 0 ? {} : { unrotated }),
  };
}

function readMixers(
  of: Fields,
  types: readonly LayerType[],
): Pick<ModelConfig, "convTaps" | "delta"> {
  const type = types.find(convolves);
  if (type === undefined) return {};
  const count = (key: readonly [string, number]) => of.count(...key);
  const convTaps = count(TAPS[type]), [key] = TAPS[type];
  if (convTaps < 2) throw of.wrong(key, "at least 2");
  if (type === "conv") return { convTaps };
  const sizes = DELTA_ENTRIES.map(([name, key]) => [name, count(key)] as const);
  const delta = Object.fromEntries(sizes) as unknown as DeltaSizes;
  if (delta.valueHeads % delta.keyHeads !== 0) {
    const [keyHeads] = DELTA.keyHeads, multiple = `a multiple of ${keyHeads} (${delta.keyHeads})`;
    throw of.wrong(DELTA.valueHeads[0], multiple, delta.valueHeads);
  }
  return { convTaps, delta };
}

function readWindow(
  of: Fields,
  architecture: Architecture,
  numLayers: number,
): Pick<LayerKinds, "slidingWindow" | "layerTypes"> {
  const { json, where } = of;
  const { window: kind, fullEvery, config: { defaults } } = architecture;
  if (kind === "none") return {};
  const key = "sliding_window", isFlagged = kind === "flagged", isTyped = kind === "typed";
  const { slidingWindow: absent = DEFAULT_WINDOW } = defaults;
  const given = json[key] === undefined ? absent : json[key];
  of.requireNeutral({ use_sliding_window: [true, false] });
  const types = readTypes(of, isTyped ? numLayers : null, otherType(architecture));
  if (types === null && isTyped && fullEvery === undefined) {
    throw new UsageError(`${where}: layer_types is missing, expected "attention" for each layer`);
  }
  const isOff = given === null || (isFlagged && json["use_sliding_window"] !== true);
  const slidingWindow = isOff ? null : of.count(key, absent ?? undefined);
  if (slidingWindow === null && !isTyped) return {};
  const all = (type: LayerType) => types !== null && types.every((one) => one === type);
  if (kind === "always" && types !== null && !all("full") && !all("sliding")) {
    throw new UsageError(
      `${where}: layer_types is ${JSON.stringify(json["layer_types"])}, which is not supported ` +
        `(only one kind for all layers, "full_attention" or "sliding_attention")`,
    );
  }
  // Qwen: the lowest max_window_layers layers have full attention.
  const fullLayers = isFlagged ? of.number("max_window_layers", DEFAULT_WINDOW_LAYERS) : 0;
  const every = isTyped ? of.number("sliding_window_pattern", fullEvery ?? 1) : Infinity;
  const usual = (layer: number): LayerType =>
    layer < fullLayers || (layer + 1) % every === 0 ? "full" : "sliding";
  const layerTypes = Array.from(
    { length: numLayers },
    (_, l) => all("full") ? "full" : types?.[l] ?? usual(l),
  );
  if (layerTypes.some(convolves)) return { layerTypes };
  if (!layerTypes.includes("sliding")) return {};
  if (slidingWindow === null) {
    throw new UsageError(`${where}: ${key} is missing, which layer_types with sliding layers need`);
  }
  return layerTypes.includes("full") ? { slidingWindow, layerTypes } : { slidingWindow };
}

/** The types of `layer_types`; null when it is not set. */
function readTypes(of: Fields, length: number | null, other: LayerType): LayerType[] | null {
  const { json, where } = of, key = "layer_types", list = json[key] ?? [];
  if (!Array.isArray(list)) throw of.wrong(key, "a list");
  if (list.length === 0) return null;
  const known = (type: unknown) =>
    typeof type === "string" && Object.hasOwn(TYPES, type) &&
    ["full", other].includes(TYPES[type]!);
  const unknown = list.find((type) => !known(type));
  if (unknown !== undefined) {
    throw new UsageError(
      `${where}: ${key} has ${JSON.stringify(unknown)}, which is not supported ` +
        `(only "full_attention" and "${NAMES[other]}")`,
    );
  }
  if (length !== null && list.length !== length) {
    throw new UsageError(`${where}: ${key} has ${list.length} types, expected ${length}`);
  }
  return list.map((type) => TYPES[type]!);
}

function readUnrotated(
  of: Fields,
  { unrotated: kind }: Architecture,
  numLayers: number,
): number[] {
  const { json } = of;
  const layers = Array.from({ length: numLayers }, (_, l) => l);
  if (kind === undefined) return [];
  if (kind === "by type") {
    of.requireNeutral({ position_embedding_type: ["rope", "nope"] });
    return json["position_embedding_type"] === "rope" ? [] : layers;
  }
  const key = "no_rope_layers", list = json[key] ?? null;
  if (list === null) {
    const every = of.count("no_rope_layer_interval", DEFAULT_INTERVAL);
    return layers.filter((layer) => (layer + 1) % every === 0);
  }
  const isFlag = (value: unknown) => value === 0 || value === 1;
  if (!Array.isArray(list) || list.length < numLayers || !list.every(isFlag)) {
    throw of.wrong(key, `${numLayers} times 0 or 1`);
  }
  return layers.filter((layer) => list[layer] === 0);
}

export function layerKindKeys(config: ModelConfig): Record<string, unknown> {
  const { window: kind, unrotated: unrotatedKind } = architectureOf(config);
  const { slidingWindow = null, layerTypes, unrotated = [], numLayers, convTaps, delta } = config;
  const each = <T>(of: (layer: number) => T) => Array.from({ length: numLayers }, (_, l) => of(l));
  const types = each((l) => layerType(config, l));
  return {
    ...(slidingWindow === null && kind !== "always" ? {} : { sliding_window: slidingWindow }),
    ...(slidingWindow !== null && kind === "flagged"
      ? { use_sliding_window: true, max_window_layers: 0 }
      : {}),
    ...(kind === "typed" || layerTypes !== undefined
      ? { layer_types: types.map((type) => NAMES[type]) }
      : {}),
    ...(convTaps === undefined
      ? {}
      : { [TAPS[delta === undefined ? "conv" : "linear"][0]]: convTaps }),
    ...Object.fromEntries(
      delta === undefined ? [] : DELTA_ENTRIES.map(([name, [key]]) => [key, delta[name]]),
    ),
    ...(unrotatedKind === "listed"
      ? { no_rope_layers: each((l) => unrotated.includes(l) ? 0 : 1) }
      : {}),
    ...(unrotatedKind === "by type"
      ? { position_embedding_type: unrotated.length === 0 ? "rope" : "nope" }
      : {}),
  };
}
