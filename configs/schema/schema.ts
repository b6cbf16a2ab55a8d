/**
 * Every key that has an effect: its type, range, default, other spellings and meaning. Names and
 * defaults are those of TRL 1.16's GRPOConfig, transformers 5.23's TrainingArguments and PEFT
 * 0.21's LoraConfig.
 *
 * To add a key, add it to the table of its group: `model_keys.ts`, `data_keys.ts`, `loop_keys.ts`,
 * `sampling_keys.ts`, `algorithm_keys.ts` or `slurm_keys.ts`; all are exported from
 * here. Its type in TypeScript follows from it (`run_config.ts`). If several keys must agree, add a
 * rule in `configs/rules/`. Then obey it, and run `deno task docs:config`.
 *
 * Spellings of other trainers, and their keys that rgx does not obey, are in `configs/foreign/`.
 */
import type { Section } from "../types/key_spec.ts";
import { TRANSLATED_KEYS } from "../foreign/foreign_keys.ts";
import { ALGORITHM_KEYS } from "./algorithm_keys.ts";
import {
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  DATA,
  DPO,
  EVAL,
  LOGGING,
  SFT,
  SHAPING,
  TEACHER,
} from "./data_keys.ts";
import { HF_UPLOAD, HUB_KEYS, LOOP_KEYS } from "./loop_keys.ts";
import { GENERATION, SAMPLING_KEYS } from "./sampling_keys.ts";
import { INIT, LORA, MODEL, TOKENIZER } from "./model_keys.ts";
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
  flat: true,
  keys: { ...LOOP_KEYS, ...SAMPLING_KEYS, ...ALGORITHM_KEYS, ...HUB_KEYS },
};

export const SECTIONS: readonly Section[] = [
  MODEL,
  INIT,
  TOKENIZER,
  LORA,
  DATA,
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  SFT,
  DPO,
  TEACHER,
  EVAL,
  TRAINING,
  GENERATION,
  ENVIRONMENTS,
  MULTI_TURN,
  LOGGING,
  HF_UPLOAD,
  SLURM,
  SHAPING,
  TRANSLATED_KEYS,
];

/** What stands at the top of every configuration that was read. */
export const ROOTS: ReadonlySet<string> = new Set(
  [...SECTIONS.map(({ path }) => path.split(".")[0]!), "rewards"].filter((name) => name !== ""),
);

/** Sections that may be null. The run then does without the thing that the section describes. */
export const NULLABLE_SECTIONS: readonly string[] = SECTIONS.filter(({ isOptional }) => isOptional)
  .map(({ path }) => path);
