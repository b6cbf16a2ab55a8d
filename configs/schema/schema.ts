/**
 * Every key that has an effect: its type, range, default, other spellings and meaning. Names and
 * defaults are those of TRL 1.16's GRPOConfig, transformers 5.23's TrainingArguments and PEFT
 * 0.21's LoraConfig.
 *
 * To add a key, add it to the table of its group: `model_keys.ts`, `data_keys.ts`, `loop_keys.ts`,
 * `sampling_keys.ts`, `algorithm_keys.ts` or `slurm_keys.ts`; all are exported from
 * here. To add a section, declare it there and name it in `PARTS`. Its type in TypeScript follows
 * from it (`run_config.ts`). If several keys must agree, add a rule in `configs/rules/`. Then obey
 * it, and run `deno task docs:config`.
 *
 * Spellings of other trainers, and their keys that rgx does not obey, are in `configs/foreign/`.
 */
import type { Section, SectionParts } from "../types/key_spec.ts";
import { TRANSLATED_KEYS } from "../foreign/foreign_keys.ts";
import { ALGORITHM_KEYS } from "./algorithm_keys.ts";
import { CURRICULUM, DATA, DPO, EVAL, LOGGING, SFT, SHAPING, TEACHER } from "./data_keys.ts";
import { HF_UPLOAD, HUB_KEYS, LOOP_KEYS } from "./loop_keys.ts";
import { GENERATION, SAMPLING_KEYS } from "./sampling_keys.ts";
import { LORA, MODEL } from "./model_keys.ts";
import { ENVIRONMENTS, MULTI_TURN } from "./multi_turn_keys.ts";
import { SLURM } from "./slurm_keys.ts";

export * from "./algorithm_keys.ts";
export * from "./data_keys.ts";
export * from "./loop_keys.ts";
export * from "./model_keys.ts";
export * from "./multi_turn_keys.ts";
export * from "./sampling_keys.ts";
export * from "./slurm_keys.ts";

export const TRAINING = {
  path: "training",
  about: "the keys of TRL's GRPOConfig, in one section as there",
  flat: true,
  keys: { ...LOOP_KEYS, ...SAMPLING_KEYS, ...ALGORITHM_KEYS, ...HUB_KEYS },
};

/** What a configuration that was read consists of, in its order. */
export const PARTS = {
  model: MODEL,
  lora: LORA,
  data: DATA,
  curriculum: CURRICULUM,
  rewards: null,
  sft: SFT,
  dpo: DPO,
  teacher: TEACHER,
  eval: EVAL,
  generation: GENERATION,
  // The keys of ENVIRONMENTS.
  environment: null,
  environments: null,
  tools: null,
  multi_turn: MULTI_TURN,
  training: TRAINING,
  logging: LOGGING,
  hf_upload: HF_UPLOAD,
  slurm: SLURM,
};

export const SECTIONS: readonly Section[] = [
  ...sectionsIn(PARTS),
  ENVIRONMENTS,
  SHAPING,
  TRANSLATED_KEYS,
];

function sectionsIn(parts: SectionParts = {}): Section[] {
  return Object.values(parts).flatMap((part) =>
    part === null ? [] : [part, ...sectionsIn(part.parts)]
  );
}

/** What stands at the top of every configuration that was read. */
export const ROOTS: ReadonlySet<string> = new Set(
  [...SECTIONS.map(({ path }) => path.split(".")[0]!), "rewards"].filter((name) => name !== ""),
);

/** Sections that may be null. The run then does without the thing that the section describes. */
export const NULLABLE_SECTIONS: readonly string[] = SECTIONS.filter(({ isOptional }) => isOptional)
  .map(({ path }) => path);
