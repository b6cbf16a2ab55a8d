/**
 * Reads and writes the keys of a `config.json` about RoPE, for both generations: transformers 4
 * (`rope_theta`, `rope_scaling`) and 5 (`rope_parameters`). A key that has no effect on the type
 * is refused by name.
 */
import { UsageError } from "../../core/errors.ts";
import {
  ifPresent,
  type Json,
  readCount,
  readNumber,
  refuseUnknownKeys,
  requireNeutral,
} from "./config_fields.ts";
import type { ModelConfig } from "./model_config.ts";
import { contextLength, type RopeScaling } from "./rope_scaling.ts";

const ORIGINAL = "original_max_position_embeddings";

/** The types, and the keys of each besides those of all types. */
const TYPE_KEYS = {
  default: [],
  linear: ["factor"],
  dynamic: ["factor"],
  yarn: [
    "factor",
    "attention_factor",
    "mscale",
    "mscale_all_dim",
    "beta_fast",
    "beta_slow",
    "truncate",
  ],
  longrope: ["factor", "attention_factor", "short_factor", "long_factor"],
  llama3: ["factor", "low_freq_factor", "high_freq_factor"],
  proportional: ["factor", "partial_rotary_factor"],
} as const;

type RopeType = keyof typeof TYPE_KEYS;

/** Keys that may stand beside any type; each is read or must have a value without effect. */
const COMMON_KEYS = ["rope_theta", "rope_type", "type", ORIGINAL, "partial_rotary_factor"];

/** What the RoPE keys say. */
export type RopeKeys = Pick<
  ModelConfig,
  "ropeTheta" | "ropeScaling" | "maxPositions" | "statedPositions"
>;

/**
 * @param stated `max_position_embeddings`
 * @throws UsageError that names the file, the section and the key
 */
export function readRope(json: Json, where: string, stated: number, headDim: number): RopeKeys {
  const { name, rope } = ropeSection(json, where), at = `${where}: ${name}`;
  const ropeTheta = ifPresent(rope["rope_theta"], () => readNumber(rope, "rope_theta", at)) ??
    ifPresent(json["rope_theta"], () => readNumber(json, "rope_theta", where)) ?? 10000;
  const type = readType(rope, at);
  refuseUnknownKeys(rope, new Set<string>([...COMMON_KEYS, ...TYPE_KEYS[type]]), at);
  if (type !== "proportional") requireNeutral(rope, { partial_rotary_factor: [1] }, at);
  const ropeScaling = readScaling(type, { rope, at, json, where, stated, headDim });
  const maxPositions = contextLength(stated, ropeScaling);
  return {
    ropeTheta,
    ropeScaling,
    maxPositions,
    ...(maxPositions === stated ? {} : { statedPositions: stated }),
  };
}

/**
 * The configuration with another scaling.
 * @param section the keys of a `rope_scaling`; without `rope_theta` the base stays
 * @param where what is named in messages
 * @throws UsageError for a section that {@link readRope} refuses, or a model without RoPE
 */
export function withRopeScaling(config: ModelConfig, section: Json, where: string): ModelConfig {
  if (config.architecture === "gpt2") {
    throw new UsageError(`${where}: the model has learned positions, which cannot be scaled`);
  }
  const { statedPositions, ...rest } = config, stated = statedPositions ?? config.maxPositions;
  const json = { rope_theta: config.ropeTheta, rope_scaling: section };
  return { ...rest, ...readRope(json, where, stated, config.headDim) };
}

/** The section that is set. As in transformers, `rope_scaling` replaces the newer one. */
function ropeSection(json: Json, where: string): { name: string; rope: Json } {
  for (const name of ["rope_scaling", "rope_parameters"]) {
    const value = json[name] ?? {};
    if (typeof value !== "object" || Array.isArray(value)) {
      throw new UsageError(`${where}: ${name} is ${JSON.stringify(value)}, expected an object`);
    }
    if (Object.keys(value).length > 0) return { name, rope: value as Json };
  }
  return { name: "rope_parameters", rope: {} };
}

function readType(rope: Json, at: string): RopeType {
  const old = rope["type"] ?? null, type = rope["rope_type"] ?? old ?? "default";
  if (old !== null && old !== type) {
    throw new UsageError(
      `${at}: rope_type is ${JSON.stringify(type)} and type ${JSON.stringify(old)}: expected ` +
        `one of the two`,
    );
  }
  if (typeof type === "string" && Object.hasOwn(TYPE_KEYS, type)) return type as RopeType;
  throw new UsageError(
    `${at}: rope type ${JSON.stringify(type)} is not supported ` +
      `(only ${Object.keys(TYPE_KEYS).join(", ")})`,
    type === "su" ? { advice: `"su" is an old name: write "longrope".` } : {},
  );
}

interface Place {
  rope: Json;
  at: string;
  json: Json;
  where: string;
  stated: number;
  headDim: number;
}

function readScaling(type: RopeType, place: Place): RopeScaling | null {
  const { rope, at, stated, headDim } = place;
  const optional = (key: string) => ifPresent(rope[key], () => readPositive(rope, key, at)) ?? null;
  switch (type) {
    case "default":
      return null;
    case "linear":
      return { type, factor: readFactor(rope, at) };
    case "dynamic":
      requireNeutral(rope, { [ORIGINAL]: [stated] }, at);
      return { type, factor: readFactor(rope, at), originalMaxPositions: stated };
    case "yarn": {
      const originalMaxPositions = originalLength(place);
      // null is a value: transformers then takes the quotient of the lengths.
      const factor = rope["factor"] === null ? stated / originalMaxPositions : readFactor(rope, at);
      requireNeutral(rope, { truncate: [true, false] }, at);
      const betaFast = optional("beta_fast") ?? 32, betaSlow = optional("beta_slow") ?? 1;
      if (betaFast < betaSlow) {
        throw new UsageError(
          `${at}: beta_fast is ${betaFast}, expected at least beta_slow (${betaSlow})`,
        );
      }
      return {
        type,
        factor,
        originalMaxPositions,
        betaFast,
        betaSlow,
        attentionFactor: optional("attention_factor"),
        mscale: ifPresent(rope["mscale"], () => readNumber(rope, "mscale", at)) ?? null,
        mscaleAllDim:
          ifPresent(rope["mscale_all_dim"], () => readNumber(rope, "mscale_all_dim", at)) ?? null,
        truncate: rope["truncate"] !== false,
      };
    }
    case "longrope": {
      const originalMaxPositions = originalLength(place);
      const factor = ifPresent(rope["factor"], () => readFactor(rope, at)) ??
        stated / originalMaxPositions;
      return {
        type,
        factor,
        originalMaxPositions,
        attentionFactor: optional("attention_factor"),
        shortFactors: readFactors(rope, "short_factor", at, headDim / 2),
        longFactors: readFactors(rope, "long_factor", at, headDim / 2),
      };
    }
    case "llama3":
      return {
        type,
        factor: readFactor(rope, at),
        lowFreqFactor: readNumber(rope, "low_freq_factor", at),
        highFreqFactor: readNumber(rope, "high_freq_factor", at),
        originalMaxPositions: originalLength(place),
      };
    case "proportional":
      return {
        type,
        factor: ifPresent(rope["factor"], () => readFactor(rope, at)) ?? 1,
        rotaryShare: optional("partial_rotary_factor") ?? 1,
      };
  }
}

/** The length of the first training, where transformers looks for it. */
function originalLength({ rope, at, json, where, stated }: Place): number {
  return ifPresent(json[ORIGINAL], () => readCount(json, ORIGINAL, where)) ??
    ifPresent(rope[ORIGINAL], () => readCount(rope, ORIGINAL, at)) ?? stated;
}

function readFactor(rope: Json, at: string): number {
  const factor = readNumber(rope, "factor", at);
  if (factor >= 1) return factor;
  throw new UsageError(`${at}: factor is ${factor}, expected at least 1`);
}

function readPositive(rope: Json, key: string, at: string): number {
  const value = readNumber(rope, key, at);
  if (value > 0) return value;
  throw new UsageError(`${at}: ${key} is ${value}, expected a number above 0`);
}

/** @throws UsageError for anything but `count` numbers above 0 */
function readFactors(rope: Json, key: string, at: string, count: number): number[] {
  const list = rope[key], expected = `expected ${count} numbers above 0 (half of a head's width)`;
  if (list === undefined) throw new UsageError(`${at}: ${key} is missing, ${expected}`);
  if (!Array.isArray(list)) {
    throw new UsageError(`${at}: ${key} is ${JSON.stringify(list)}, ${expected}`);
  }
  if (list.length !== count) {
    throw new UsageError(`${at}: ${key} has ${list.length} values, ${expected}`);
  }
  const wrong = list.findIndex((x) => typeof x !== "number" || !(x > 0));
  if (wrong < 0) return list as number[];
  throw new UsageError(
    `${at}: ${key}[${wrong}] is ${JSON.stringify(list[wrong])}, expected a number above 0`,
  );
}

/** The `rope_parameters` of a configuration. */
export function ropeParameters(
  { ropeTheta, ropeScaling }: Pick<ModelConfig, "ropeTheta" | "ropeScaling">,
): Record<string, unknown> {
  return {
    rope_theta: ropeTheta,
    rope_type: ropeScaling?.type ?? "default",
    ...(ropeScaling === null ? {} : scalingKeys(ropeScaling)),
  };
}

function scalingKeys(scaling: RopeScaling): Record<string, unknown> {
  const { factor } = scaling;
  switch (scaling.type) {
    case "linear":
    case "dynamic":
      return { factor };
    case "yarn":
      return {
        factor,
        [ORIGINAL]: scaling.originalMaxPositions,
        ...present({
          attention_factor: scaling.attentionFactor,
          mscale: scaling.mscale,
          mscale_all_dim: scaling.mscaleAllDim,
        }),
        ...(scaling.betaFast === 32 ? {} : { beta_fast: scaling.betaFast }),
        ...(scaling.betaSlow === 1 ? {} : { beta_slow: scaling.betaSlow }),
        ...(scaling.truncate ? {} : { truncate: false }),
      };
    case "longrope":
      return {
        ...present({ factor: factor >= 1 ? factor : null }),
        [ORIGINAL]: scaling.originalMaxPositions,
        ...present({ attention_factor: scaling.attentionFactor }),
        short_factor: scaling.shortFactors,
        long_factor: scaling.longFactors,
      };
    case "llama3":
      return {
        factor,
        low_freq_factor: scaling.lowFreqFactor,
        high_freq_factor: scaling.highFreqFactor,
        [ORIGINAL]: scaling.originalMaxPositions,
      };
    case "proportional":
      return { factor, partial_rotary_factor: scaling.rotaryShare };
  }
}

/** The keys whose value is not null. */
function present(keys: Record<string, number | null>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(keys).filter((entry): entry is [string, number] => entry[1] !== null),
  );
}
