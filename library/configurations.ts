/**
 * Configurations from a name, a file or an object, which are checked as a whole. The keys of an
 * object have types and documentation; what is wrong does not compile, or is said with all else
 * that is wrong before anything starts.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   type ConfigObject,
 *   loadConfig,
 *   LOSS_TYPE_PARAMETERS,
 *   TRACKERS,
 *   UsageError,
 * } from "@rgx/rgx";
 * const overrides = { training: { max_steps: 10 }, lora: { r: 8 } };
 * const { config, yaml } = await loadConfig("gsm8k", { overrides });
 * assert.equal(config.training.max_steps, 10);
 * assert.equal(config.lora?.lora_alpha, 32);
 * assert.match(yaml, /max_steps: 10/);
 *
 * const mine: ConfigObject = {
 *   _base_: "rgx:experiments/gsm8k",
 *   training: { learning_rate: 1e-5 },
 *   rewards: [{ name: "correctness", weight: 2 }, "match_format_exactly"],
 * };
 * assert.equal((await loadConfig(mine)).config.rewards[0]?.weight, 2);
 *
 * const misspelt: ConfigObject = {
 *   ...mine,
 *   training: {
 *     // @ts-expect-error: there is no such key
 *     learnig_rate: 1e-5,
 *   },
 * };
 * await assert.rejects(loadConfig(misspelt), /learnig_rate: unknown key, did you mean/);
 * await assert.rejects(loadConfig("gms8k"), UsageError);
 * assert.ok("dapo" in LOSS_TYPE_PARAMETERS && TRACKERS.includes("wandb")); // values of keys
 * ```
 * @module
 */
export { type ConfigOptions, loadConfig } from "../configs/load_config.ts";
export type { LoadedConfig } from "../configs/load.ts";
export type {
  ConfigObject,
  ConfigOverrides,
  Curricula,
  CurriculumKeys,
  CurriculumScheduleKeys,
  DataKeys,
  DpoKeys,
  EvalKeys,
  FileReward,
  GenerationKeys,
  HfUploadKeys,
  InitKeys,
  LoggingKeys,
  LoraKeys,
  ModelKeys,
  NamedReward,
  RewardItem,
  SftKeys,
  SlurmKeys,
  TaskItem,
  TaskItems,
  TeacherKeys,
  TokenizerKeys,
  Trackers,
  Training,
  TrainingKeys,
} from "../configs/config_object.ts";
export { LOSS_TYPE_PARAMETERS, type LossType } from "../configs/schema/loss_types.ts";
export { type TrackerName, TRACKERS } from "../core/tracker_names.ts";
export type { RunConfig } from "../configs/schema/run_config.ts";
export type { AlgorithmSection, ImportanceMode } from "../configs/schema/run_config.ts";
export type { CurriculumSection, DataSection } from "../configs/schema/run_config.ts";
export type { TaskSection } from "../configs/schema/task_types.ts";
export type { HfUploadSection, HubSection } from "../configs/schema/run_config.ts";
export type {
  DpoSection,
  EvalSection,
  LoggingSection,
  LoopSection,
  MultiTurnSection,
  SftSection,
  TeacherSection,
} from "../configs/schema/run_config.ts";
export type { LoraSection, ModelInit, ModelSection } from "../configs/schema/run_config.ts";
export type { RewardSection } from "../configs/schema/reward_section.ts";
export type { GenerationSection, SamplingSection } from "../configs/schema/run_config.ts";
export type { SlurmSection } from "../configs/schema/run_config.ts";
export type { EnvironmentKeys } from "../configs/schema/run_config.ts";
export type { EnvironmentSection, McpSection } from "../rewards/environments/open_environments.ts";
export type { RampType, SchedulerKwargs, SchedulerType } from "../configs/schema/schedule_types.ts";
