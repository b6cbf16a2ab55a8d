/**
 * Configurations from a name, a file or an object, which are checked as a whole. The keys of an
 * object have types and documentation: docs/library.md has examples.
 * @module
 */
export { type ConfigOptions, loadConfig } from "../configs/load_config.ts";
export type { LoadedConfig } from "../configs/load.ts";
export type * from "../configs/config_object.ts";
export { LOSS_TYPE_PARAMETERS, type LossType } from "../configs/schema/loss_types.ts";
export { type TrackerName, TRACKERS } from "../core/tracker_names.ts";
export type * from "../configs/schema/run_config.ts";
export type { TaskSection } from "../configs/schema/task_types.ts";
export type { RewardSection } from "../configs/schema/reward_section.ts";
export type { EnvironmentSection, McpSection } from "../rewards/environments/open_environments.ts";
export type { RampType, SchedulerKwargs, SchedulerType } from "../configs/schema/schedule_types.ts";
