/**
 * The library: everything that a command does is one import away.
 *
 * ```ts
 * import { createDataset, scoreAnswer } from "./mod.ts";
 * const dataset = await createDataset("chain_sum", { size: 3, seed: 7, max_terms: 2 });
 * for (const entry of dataset) console.log(entry.question, scoreAnswer(entry.answer, entry)); // … 1
 * ```
 */
export { RgxError, UsageError } from "./core/errors.ts";
export { createDataset, type Dataset, scoreAnswer } from "./tasks/dataset.ts";
export { CompositeDataset } from "./tasks/composite_dataset.ts";
export { getTask, registerTask, taskNames } from "./tasks/registry.ts";
export type { Entry, ScorableEntry, Task } from "./tasks/types.ts";
export { extractAnswer } from "./data/extract.ts";
export { formatQuestion, renderPrompt, UNIVERSAL_INSTRUCTION } from "./data/prompt.ts";
export { scoreCompletion } from "./data/score.ts";
export { openSource } from "./data/source.ts";
export { openProblems, readEntries } from "./data/open_problems.ts";
export { splitProblems } from "./data/held_out.ts";
export { registerReward, rewardNames } from "./rewards/registry.ts";
export { createRubric } from "./rewards/rubric.ts";
export type {
  BatchReward,
  Reward,
  RewardInput,
  RewardSample,
  SampleReward,
} from "./rewards/types.ts";
export { type ConfigObject, loadConfig } from "./configs/load.ts";
export type { RunConfig } from "./configs/run_config.ts";
export { createDevice } from "./kernels/mod.ts";
export type { Device } from "./kernels/device.ts";
export { generate, type LoadedModel, loadModel, type LoadOptions } from "./models/load_model.ts";
export { type Exported, exportModel, type ExportOptions } from "./models/export.ts";
export { convertModel } from "./models/convert.ts";
export { pull, type Pulled, type PullOptions } from "./hub/pull.ts";
export type { Generation } from "./models/generation.ts";
export { logitRules } from "./models/logit_rules.ts";
export type {
  Completion,
  GenerateOptions,
  GenerateRequest,
  LanguageModel,
  SamplingOptions,
  Tokenizer,
} from "./models/types.ts";
export { assemble } from "./training/assemble.ts";
export { GrpoTrainer } from "./training/trainer.ts";
export type { TrainEvent, TrainSummary } from "./training/events.ts";
export { train, type TrainHandlers, type TrainOptions } from "./training/train.ts";
export {
  type EnvEntry,
  type EnvEvaluation,
  type EnvEvaluationOptions,
  type EnvReward,
  type RewardFunction,
  SingleTurnEnv,
  type SingleTurnEnvOptions,
} from "./training/single_turn_env.ts";
export { type Plot, type PlotOptions, plotResults } from "./bench/charts/plot_results.ts";
export { type Curves, type CurvesOptions, plotCurves } from "./bench/charts/curves.ts";
export { slurmScript, type TrainScriptOptions } from "./cluster/train_script.ts";
export { benchScript, type BenchScriptOptions } from "./cluster/bench_script.ts";
export type { JobScript } from "./cluster/job_script.ts";
export { type Benchmark, benchmark, type BenchmarkOptions } from "./bench/benchmark.ts";
export { readResultFile, type ResultFile } from "./bench/result_file.ts";
