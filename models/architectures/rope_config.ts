/**
 * Reads and writes the keys of a `config.json` about RoPE, for both generations: transformers 4
 * (`rope_theta`, `rope_scaling`) and 5 (`rope_parameters`). A key that has no effect on the type
 * is refused by name.
 */
import { UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { Fields, type Json } from "./config_fields.ts";
import type { ModelConfig } from "./model_config.ts";
import type { Architecture } from "./architecture.ts";
import { architectureOf } from "./mod.ts";
import { dependsOnLength } from "./rope_frequencies.ts";
import {
  contextLength,
  ROPE_TYPES,
  type RopeScaling,
  type RopeType,
  type ScalingField,
} from "./rope_scaling.ts";

const ORIGINAL = "original_max_position_embeddings";

/** Types whose section says the length of the first training. */
const WITH_LENGTH: readonly RopeType[] = ["yarn", "longrope", "llama3"];

/** Keys that may stand beside any type; each is read or must have a value without effect. */
const COMMON_KEYS = ["rope_theta", "rope_type", "type", ORIGINAL, "partial_rotary_factor"];

export type RopeKeys = Pick<
  ModelConfig,
  "ropeTheta" | "ropeScaling" | "maxPositions" | "statedPositions"
>;

/** What they say of an architecture with more than one rotation of whole heads. */
type AllRopeKeys =
  & RopeKeys
  & Pick<ModelConfig, "slidingRope" | "rotaryDim" | "growingQueries">;

/** Names of the sections for the types of layers. */
const FULL = "full_attention", SLIDING = "sliding_attention";
/** The key of queries that grow with the position, and one beside it without effect. */
const BETA = "llama_4_scaling_beta", GROWING_KEYS = [BETA, "max_position_embeddings"];
const SHARE = "partial_rotary_factor";

/** All that a configuration says of rotations. @throws UsageError with section and key */
export function readRopes(
  fields: Fields,
  architecture: Architecture,
  stated: number,
  headDim: number,
): AllRopeKeys {
  const { json, where } = fields;
  const { slidingTheta, partialRotary = false, growingQueries = false } = architecture;
  const { defaults, ropeOthers = [] } = architecture.config;
  const { ropeTheta: usual = 10000, trainedPositions } = defaults;
  const more = [...ropeOthers, ...(growingQueries ? GROWING_KEYS : [])];
  const read = (of: Json, at: string, theta: number, dim = headDim) =>
    readRope({ rope_theta: theta, ...of }, at, stated, dim, more);
  if (slidingTheta !== undefined) {
    return readByType(fields, stated, usual, slidingTheta, read);
  }
  if (partialRotary) {
    const { name, rope: { json: rope } } = ropeSection(fields);
    const { [SHARE]: inside, ...section } = rope;
    const share = new Fields({ [SHARE]: inside ?? json[SHARE] }, where).number(SHARE, 1);
    const rotaryDim = Math.floor(headDim * share);
    const length = trainedPositions === undefined ? {} : { [ORIGINAL]: trainedPositions };
    const all = { ...length, ...json, rope_scaling: null, [name]: section };
    const keys = read(all, where, usual, rotaryDim);
    if (keys.ropeScaling?.type === "proportional") {
      throw new UsageError(`${where}: ${name}: "proportional" is not supported for parts of heads`);
    }
    return { ...keys, ...(rotaryDim === headDim ? {} : { rotaryDim }) };
  }
  const keys = read(json, where, usual);
  if (!growingQueries) return keys;
  const { rope } = ropeSection(fields), beta = rope.number(BETA), period = rope.count(ORIGINAL);
  return { ...keys, ...(beta === 0 ? {} : { growingQueries: { beta, period } }) };
}

/** Sections for full and for sliding layers; in older files `rope_scaling` is that of full ones. */
function readByType(
  fields: Fields,
  stated: number,
  fullTheta: number,
  slidingTheta: number,
  read: (of: Json, at: string, theta: number) => RopeKeys,
): AllRopeKeys {
  const { json, where } = fields, name = "rope_parameters", sections = fields.object(name);
  for (const [type, section] of Object.entries(sections)) {
    const isKnown = type === FULL || type === SLIDING;
    if (isKnown && (section === null || isRecord(section))) continue;
    throw new UsageError(
      `${where}: ${name} has ${type} (${JSON.stringify(section)}), expected sections ` +
        `${FULL} and ${SLIDING}`,
    );
  }
  const older = fields.object("rope_scaling");
  const of = (type: string, theta: unknown, more: Json) => {
    const section = { ...(sections[type] as Json | null ?? {}), ...more };
    const keys = { ...(theta === undefined ? {} : { rope_theta: theta }) };
    const place = Object.keys(more).length === 0 ? name : `${name} with rope_scaling`;
    return read(
      { ...keys, [name]: section },
      `${where}: ${type} of ${place}`,
      type === FULL ? fullTheta : slidingTheta,
    );
  };
  const full = of(FULL, json["rope_theta"] ?? undefined, older);
  const { ropeTheta, ropeScaling } = of(SLIDING, json["rope_local_base_freq"] ?? undefined, {});
  if (dependsOnLength(ropeScaling)) {
    throw new UsageError(
      `${where}: ${name}.${SLIDING} has the rope type "${ropeScaling!.type}", which is not ` +
        `supported there`,
    );
  }
  const isSame = ropeTheta === full.ropeTheta &&
    JSON.stringify(ropeScaling) === JSON.stringify(full.ropeScaling);
  const { ropeTheta: theta, ropeScaling: scaling } = full;
  return {
    ropeTheta: theta,
    ropeScaling: scaling,
    maxPositions: stated,
    ...(isSame ? {} : { slidingRope: { ropeTheta, ropeScaling } }),
  };
}

export function ropeKeys(config: ModelConfig): Record<string, unknown> {
  const { slidingTheta, partialRotary = false } = architectureOf(config);
  const { headDim, rotaryDim, growingQueries, ropeTheta, ropeScaling } = config;
  const { slidingRope, fullHeadDim } = config;
  const rope = {
    ...ropeParameters(config),
    ...(rotaryDim === undefined ? {} : { [SHARE]: rotaryDim / headDim }),
    ...(growingQueries === undefined
      ? {}
      : { [BETA]: growingQueries.beta, [ORIGINAL]: growingQueries.period }),
  };
  const sliding = slidingRope === undefined ? rope : ropeParameters(slidingRope);
  return {
    rope_parameters: slidingTheta === undefined ? rope : { [FULL]: rope, [SLIDING]: sliding },
    // transformers 4 knows only this key; without it the scaling would silently be missing. Gemma 4
    // came with transformers 5, where the key would replace both sections.
    ...(ropeScaling === null || fullHeadDim !== undefined ? {} : { rope_scaling: rope }),
    rope_theta: ropeTheta,
    ...(partialRotary && ropeScaling?.type === "longrope"
      ? { [ORIGINAL]: ropeScaling.originalMaxPositions }
      : {}),
  };
}

/** What a configuration says of one rotation. @param more keys of it. @throws UsageError */
export function readRope(
  json: Json,
  where: string,
  stated: number,
  headDim: number,
  more: readonly string[] = [],
): RopeKeys {
  const file = new Fields(json, where), { rope } = ropeSection(file);
  const ropeTheta = rope.number("rope_theta", file.number("rope_theta", 10000));
  const type = readType(rope);
  rope.refuseUnknown(
    new Set([...COMMON_KEYS, ...more, ...ROPE_TYPES[type].map(({ key }) => key)]),
  );
  if (type !== "proportional") rope.requireNeutral({ partial_rotary_factor: [1] });
  const ropeScaling = readScaling(type, { rope, file, stated, headDim });
  const maxPositions = contextLength(stated, ropeScaling);
  return {
    ropeTheta,
    ropeScaling,
    maxPositions,
    ...(maxPositions === stated ? {} : { statedPositions: stated }),
  };
}

/** The configuration with another scaling. @param section a `rope_scaling`. @throws UsageError */
export function withRopeScaling(config: ModelConfig, section: Json, where: string): ModelConfig {
  if (config.architecture === "gpt2") {
    throw new UsageError(`${where}: the model has learned positions, which cannot be scaled`);
  }
  const { statedPositions, ...rest } = config, stated = statedPositions ?? config.maxPositions;
  const json = { rope_theta: config.ropeTheta, rope_scaling: section };
  return { ...rest, ...readRope(json, where, stated, config.headDim) };
}

/** The section that is set. As in transformers, `rope_scaling` replaces the newer one. */
function ropeSection(file: Fields): { name: string; rope: Fields } {
  for (const name of ["rope_scaling", "rope_parameters"]) {
    const section = file.object(name), rope = new Fields(section, `${file.where}: ${name}`);
    if (Object.keys(section).length > 0) return { name, rope };
  }
  const name = "rope_parameters";
  return { name, rope: new Fields({}, `${file.where}: ${name}`) };
}

function readType({ json: rope, where: at }: Fields): RopeType {
  const old = rope["type"] ?? null, type = rope["rope_type"] ?? old ?? "default";
  if (old !== null && old !== type) {
    throw new UsageError(
      `${at}: rope_type is ${JSON.stringify(type)} and type ${JSON.stringify(old)}: expected ` +
        `one of the two`,
    );
  }
  if (typeof type === "string" && Object.hasOwn(ROPE_TYPES, type)) return type as RopeType;
  throw new UsageError(
    `${at}: rope type ${JSON.stringify(type)} is not supported ` +
      `(only ${Object.keys(ROPE_TYPES).join(", ")})`,
    type === "su" ? { advice: `"su" is an old name: write "longrope".` } : {},
  );
}

interface Place {
  rope: Fields;
  file: Fields;
  stated: number;
  headDim: number;
}

function readScaling(type: RopeType, place: Place): RopeScaling | null {
  if (type === "default") return null;
  const { rope, stated } = place, scaling: Record<string, unknown> = { type };
  for (const field of ROPE_TYPES[type]) scaling[field.name] = readField(field, place);
  if (WITH_LENGTH.includes(type)) scaling["originalMaxPositions"] = originalLength(place);
  if (type === "dynamic") {
    rope.requireNeutral({ [ORIGINAL]: [stated] });
    scaling["originalMaxPositions"] = stated;
  }
  const { betaFast = 0, betaSlow = 0 } = scaling;
  if (betaFast as number < (betaSlow as number)) {
    throw new UsageError(
      `${rope.where}: beta_fast is ${betaFast}, expected at least beta_slow (${betaSlow})`,
    );
  }
  return scaling as unknown as RopeScaling;
}

function readField({ key, form, usual, absent, required }: ScalingField, place: Place): unknown {
  const { rope, stated, headDim } = place, value = rope.json[key];
  if (value === null || (value === undefined && required !== true)) {
    if (absent === "quotient") return stated / originalLength(place);
    if (absent !== undefined || usual !== undefined) return absent ?? usual;
  }
  switch (form) {
    case "list":
      return readFactors(rope, key, headDim / 2);
    case "flag":
      rope.requireNeutral({ [key]: [true, false] });
      return value;
  }
  const number = form === "positive" ? rope.positive(key) : rope.number(key);
  if (form === "factor" && number < 1) throw rope.wrong(key, "at least 1");
  return number;
}

/** The length of the first training, where transformers looks for it. */
function originalLength({ rope, file, stated }: Place): number {
  return file.count(ORIGINAL, rope.count(ORIGINAL, stated));
}

/** @throws UsageError for anything but `count` numbers above 0 */
function readFactors(rope: Fields, key: string, count: number): number[] {
  const list = rope.json[key], { where: at } = rope;
  const expected = `${count} numbers above 0 (half of a head's width)`;
  if (list === undefined) throw new UsageError(`${at}: ${key} is missing, expected ${expected}`);
  if (!Array.isArray(list)) throw rope.wrong(key, expected);
  if (list.length !== count) {
    throw new UsageError(`${at}: ${key} has ${list.length} values, expected ${expected}`);
  }
  const wrong = list.findIndex((x) => typeof x !== "number" || !(x > 0));
  if (wrong < 0) return list as number[];
  throw new UsageError(
    `${at}: ${key}[${wrong}] is ${JSON.stringify(list[wrong])}, expected a number above 0`,
  );
}

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
  const values = scaling as unknown as Readonly<Record<string, unknown>>;
  const fields: readonly ScalingField[] = ROPE_TYPES[scaling.type];
  // A longrope below 1 is the quotient of the lengths, which no section may name.
  const isWritten = ({ name, form, usual }: ScalingField) =>
    values[name] !== usual && !(form === "factor" && (values[name] as number) < 1);
  return {
    ...Object.fromEntries(fields.filter(isWritten).map(({ name, key }) => [key, values[name]])),
    ...(WITH_LENGTH.includes(scaling.type) ? { [ORIGINAL]: values["originalMaxPositions"] } : {}),
  };
}
