/**
 * Every key that has an effect: its type, range, default, other spellings and meaning. Names and defaults
 * are TRL 1.16's GRPOConfig, transformers 5.23's TrainingArguments and PEFT 0.21's LoraConfig; the tables
 * have the shape of {@link RunConfig}, so the compiler finds a key without an entry. They stand in
 * `schema_*.ts`, one file a group of keys. Keys of those trainers that rgx does not obey are in
 * `foreign_keys.ts`.
 */
import type { AnySection, Section } from "./key_spec.ts";
import type { RunConfig } from "./run_config.ts";
import { ALGORITHM_KEYS } from "./schema_algorithm.ts";
import {
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  DATA,
  EVAL,
  LOGGING,
  SFT,
  SHAPING,
} from "./schema_data.ts";
import { LOOP_KEYS } from "./schema_loop.ts";
import { INIT, LORA, MODEL, TOKENIZER } from "./schema_model.ts";
import { SAMPLING_KEYS } from "./schema_sampling.ts";

export const TRAINING: Section<RunConfig["training"]> = {
  path: "training",
  flat: true,
  keys: { ...LOOP_KEYS, ...SAMPLING_KEYS, ...ALGORITHM_KEYS },
};

export const SECTIONS: readonly AnySection[] = [
  MODEL,
  INIT,
  TOKENIZER,
  LORA,
  DATA,
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  SFT,
  EVAL,
  TRAINING,
  LOGGING,
  SHAPING,
];

/** Sections that may be null as a whole: what they describe does not take place. */
export const NULLABLE_SECTIONS: readonly string[] = ["lora", "sft", "curriculum", "model.init"];
