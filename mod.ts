/**
 * The library: everything that a command does is one import away. docs/library.md is a guide.
 *
 * No function prints, reads the keyboard or ends the process. Results are return values. Progress
 * is reported as events. Failures are thrown: a {@link UsageError} if the request is wrong, another
 * {@link RgxError} for later failures. Both have a message for the user and an `advice`. All other
 * errors are defects. The tests run every example below as a module.
 *
 * Sections: training, configurations, tasks, problems, prompts and answers, rewards, devices and
 * models, files of models and the Hub, benchmarks and charts, job scripts, errors.
 */

/**
 * Training in one call. An environment has problems and rewards, and also measures models.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDevice, generate, loadModel, SingleTurnEnv, train, writeReport } from "@rgx/rgx";
 * const folder = await Deno.makeTempDir();
 * const env = new SingleTurnEnv({
 *   name: "additions",
 *   dataset: Array.from({ length: 200 }, (_, i) => ({ question: `${i}+1=`, answer: `${i + 1}` })),
 *   rewards: ["correctness", function has_digit({ completion }) {
 *     return /\d/.test(completion) ? 1 : 0;
 *   }],
 * });
 * const summary = await train({
 *   config: "quickstart",
 *   overrides: {
 *     "training.output_dir": `${folder}/run`,
 *     "training.max_steps": 2,
 *     "sft.max_steps": 2,
 *     "eval.num_examples": 2,
 *   },
 *   env,
 *   device: "wasm",
 *   on: { step: ({ metrics }) => assert.equal(typeof metrics, "object") },
 *   signal: AbortSignal.timeout(600_000),
 * });
 * assert.equal(summary.status, "completed");
 * await writeReport(summary.output_dir);
 *
 * const device = await createDevice("wasm"), loaded = await loadModel(summary.output_dir, device);
 * const [texts] = await generate(loaded, ["7+1="], { n: 2, maxNewTokens: 4 });
 * assert.equal(texts?.length, 2);
 * const { completions } = await env.evaluate(loaded, { numExamples: 3, maxNewTokens: 4 });
 * assert.equal(completions.length, 3);
 * loaded.model.dispose();
 * device.close();
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
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
export type {
  SampledCompletion,
  TrainEvent,
  TrainListener,
  TrainPhase,
  TrainPlan,
  TrainSummary,
} from "./training/run/events.ts";
export type { Advice } from "./training/diagnosis/finding.ts";
export type { Accuracy } from "./evaluation/accuracy.ts";
export type { EvalResult } from "./training/evaluation/before_and_after.ts";
export type { Metrics } from "./training/metrics/metrics.ts";
export { type Report, writeReport } from "./reports/run_report/write_report.ts";
/** Training in parts, for programs that keep the model. docs/library.md has an example. */
export { assemble, type AssembleOptions, type TrainingParts } from "./training/assemble.ts";
export { GrpoTrainer } from "./training/trainer.ts";
export type { TrainerOptions } from "./training/run/trainer_options.ts";
export type { TrainControl } from "./training/run/train_control.ts";
export type { MemoryPlan } from "./training/memory/run_memory.ts";

/**
 * The plan of a run on a graphics card that this machine need not have, by a known card's name or
 * by its memory: `rgx train --dry-run --gpu`. It throws when the run does not fit.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { findCard, KNOWN_CARDS, loadConfig, planCard, planOnCard } from "@rgx/rgx";
 * const { config } = await loadConfig("leg_counting_qwen7b");
 * const { memory, time } = await planOnCard(config, planCard({ gpu: "h100-80gb" }));
 * assert.ok(memory.peak < memory.available && time !== null && time.step < 60);
 * await assert.rejects(planOnCard(config, planCard({ deviceMemory: "8GB" })), /the run needs/);
 * assert.ok(KNOWN_CARDS.includes(findCard("RTX 4090")));
 * ```
 */
export {
  type CardMemory,
  type CardPlan,
  type CardPlanOptions,
  type CardTime,
  planOnCard,
} from "./training/card/card_plan.ts";
export { type PlanCard, planCard } from "./training/card/plan_card.ts";
export { findCard, KNOWN_CARDS, type KnownCard } from "./core/machine/known_cards.ts";

/**
 * Configurations from a name, a file or an object, which are checked as a whole.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { loadConfig } from "@rgx/rgx";
 * const { config, yaml } = await loadConfig("gsm8k", { overrides: ["training.max_steps=10"] });
 * assert.equal(config.training.max_steps, 10);
 * assert.equal(config.lora?.lora_alpha, 32);
 * assert.match(yaml, /max_steps: 10/);
 * const misspelt = { _base_: "rgx:experiments/gsm8k", training: { max_step: 10 } };
 * await assert.rejects(loadConfig(misspelt), /max_step: unknown key, did you mean max_steps/);
 * ```
 */
export {
  type ConfigObject,
  loadConfig,
  type LoadedConfig,
  type LoadOptions as ConfigOptions,
} from "./configs/load.ts";
export type { RunConfig } from "./configs/schema/run_config.ts";

/**
 * Tasks make any number of problems and score answers. Several can be mixed.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { CompositeDataset, createDataset, getTask, scoreAnswer, taskNames } from "@rgx/rgx";
 * const dataset = createDataset("chain_sum", { size: 3, seed: 7, max_terms: 2 });
 * for (const entry of dataset) assert.equal(scoreAnswer(entry.answer, entry), 1);
 * assert.equal(dataset.entry(1000).metadata.source_index, 1000);
 * assert.equal(taskNames().includes("leg_counting"), true);
 * assert.equal(getTask("chain_sum").category, "arithmetic");
 *
 * const parts = [
 *   { name: "chain_sum", weight: 2, config: {} },
 *   { name: "leg_counting", weight: 1, config: {} },
 * ];
 * const options = { seed: 42, size: 500, split: "train", versions: true } as const;
 * assert.match(new CompositeDataset(parts, options).entry(0).question, /\?/);
 * ```
 */
export { createDataset, type Dataset, type DatasetOptions, scoreAnswer } from "./tasks/dataset.ts";
export { CompositeDataset } from "./tasks/composite_dataset.ts";
export type { RandomStream, Split } from "./core/philox.ts";
/**
 * Custom tasks.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, registerTask } from "@rgx/rgx";
 * registerTask({
 *   name: "doubling",
 *   category: "custom",
 *   description: "Double a number.",
 *   scoring: "1 for the right number, else 0",
 *   params: { max: { type: "int", default: 9, min: 1, description: "largest number" } },
 *   generate(random, { max }) {
 *     const x = random.int(1, max as number), answer = String(2 * x);
 *     return { question: `2 × ${x} =`, answer, metadata: { x }, difficulty: { max } };
 *   },
 *   score: (answer, entry) => answer.trim() === entry.answer ? 1 : 0,
 * });
 * assert.match(createDataset("doubling", { seed: 1 }).entry(0).question, /^2 × [1-9] =$/);
 * ```
 */
export { getTask, registerTask, taskNames } from "./tasks/registry.ts";
export type { ParamSpec, ParamValue } from "./core/named_params.ts";
export type { CurriculumAttribute, Entry, Generated, ScorableEntry, Task } from "./tasks/types.ts";
export type { ChatMessage } from "./core/chat_message.ts";

/**
 * Problems from files or from the Hub, and the held-out problems that only evaluations use.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { openProblems, readEntries, splitProblems } from "@rgx/rgx";
 * const path = await Deno.makeTempFile({ suffix: ".jsonl" });
 * const rows = Array.from({ length: 50 }, (_, i) => ({ question: `${i}+1=`, answer: `${i + 1}` }));
 * await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
 * assert.equal((await readEntries(path)).length, 50);
 *
 * const options = { task_name: null, dataset_name: path, task_config: {} };
 * const source = await openProblems({ ...options, seed: 1, num_examples: 100 });
 * const { heldOut, trainEntry } = splitProblems({ source, heldOutCount: 3 });
 * assert.ok(heldOut.every(({ question }) => question !== trainEntry(0).question));
 * await Deno.remove(path);
 * ```
 */
export { openProblems, readEntries } from "./data/open_problems.ts";
export type { ProblemSource } from "./data/problem_source.ts";
export type { SourceOptions } from "./data/open_source.ts";
export type { TaskShare } from "./data/task_source.ts";
export { type HeldOutOptions, type SplitProblems, splitProblems } from "./data/held_out.ts";

/**
 * Prompts for questions, and scores of completions, as in training.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   extractAnswer,
 *   formatQuestion,
 *   renderPrompt,
 *   scoreCompletion,
 *   UNIVERSAL_INSTRUCTION,
 * } from "@rgx/rgx";
 * const question = "1 + 1 =", addInstructions = false;
 * const instructed = formatQuestion(question, { addInstructions: true });
 * assert.equal(instructed, `${UNIVERSAL_INSTRUCTION}\n\n1 + 1 =`);
 * const prompt = renderPrompt({ question, systemPrompt: "Count.", addInstructions });
 * assert.equal(prompt, "Count.\n\n1 + 1 =");
 * assert.equal(extractAnswer("It is <answer> 2 </answer>"), "2");
 * const entry = { question, answer: "2", metadata: { source_dataset: "file" } };
 * assert.equal(scoreCompletion("It is <answer>2</answer>", entry).score, 1);
 * ```
 */
export { extractAnswer } from "./data/extract.ts";
export {
  formatQuestion,
  type PromptOptions,
  renderPrompt,
  UNIVERSAL_INSTRUCTION,
} from "./data/prompt.ts";
export { scoreCompletion, type ScoredCompletion } from "./data/score_completion.ts";

/**
 * Rewards. A registered reward has a name that configurations can use. A rubric is a weighted sum.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createRubric, registerReward, rewardNames } from "@rgx/rgx";
 * registerReward({
 *   name: "short",
 *   description: "1 for no character, 0 for a hundred and more",
 *   params: {},
 *   compute: ({ completion }) => Math.max(0, 1 - completion.length / 100),
 * });
 * assert.ok(rewardNames().includes("short") && rewardNames().includes("match_format_exactly"));
 *
 * const rubric = createRubric([
 *   { name: "short", weight: 0.1, params: {} },
 *   { name: "check_answer_correctness", weight: 1, params: {} },
 * ]);
 * const completion = "<start_working_out>1 + 1<end_working_out><SOLUTION>2</SOLUTION>";
 * const entry = { question: "1 + 1 =", answer: "2", metadata: {} };
 * const { values } = await rubric.score([{
 *   ...{ prompt: "1 + 1 =", completion, answer: "2", info: {}, entry, completionIds: [] },
 *   ...{ messages: null, truncated: false, step: 0, maxCompletionLength: 100 },
 * }]);
 * assert.deepEqual(values, [[1 - completion.length / 100, 3]]);
 * ```
 */
export { registerReward, rewardNames } from "./rewards/registry.ts";
export {
  createRubric,
  type RewardError,
  type Rubric,
  type RubricOptions,
  type RubricScores,
  type RubricSection,
} from "./rewards/rubric.ts";
export type {
  BatchReward,
  ExtraValue,
  Reward,
  RewardInput,
  RewardSample,
  RewardValue,
  SampleReward,
} from "./rewards/types.ts";

/** Devices and models. The first example and docs/library.md use them. */
export { createDevice, type DeviceName } from "./kernels/mod.ts";
export type { Device } from "./kernels/device.ts";
export {
  generate,
  type LoadedModel,
  loadModel,
  type LoadOptions,
  type TextCompletion,
  type TextOptions,
} from "./models/load_model.ts";
export type { Generation } from "./models/generation/generation.ts";
export type { StorageOptions } from "./models/network/weights/weight_storage.ts";
export type { ActivationType } from "./models/network/types.ts";
export type {
  Completion,
  GenerateOptions,
  GenerateRequest,
  SamplingOptions,
} from "./models/generation/types.ts";
export type { LanguageModel } from "./models/language_model.ts";
export type { Tokenizer } from "./models/tokenizers/types.ts";
/**
 * Changes of logits, for `LanguageModel.generate`.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { logitsProcessor } from "@rgx/rgx";
 * const adjust = logitsProcessor({ logitBias: new Map([[2, -100]]) }, 4)!;
 * const logits = new Float32Array(4);
 * adjust([], logits);
 * assert.deepEqual([...logits], [0, 0, -100, 0]);
 * ```
 */
export {
  logitsProcessor,
  type LogitsProcessorOptions,
} from "./models/generation/sampling/logits_processor.ts";

/** Files of models (adapters, Hugging Face folders, GGUF) and the Hub: see docs/library.md. */
export { type Exported, exportModel, type ExportOptions } from "./models/export/export.ts";
export type { ExportTarget } from "./models/export/export_targets.ts";
export type { WeightType } from "./models/formats/weight_types.ts";
export { convertModel } from "./models/export/convert.ts";
export { pull, type PullEvent, type PullOptions } from "./hub/pull.ts";
export type { Pulled } from "./hub/pulled.ts";
export { shareModel, type ShareOptions } from "./reports/sharing/share_model.ts";
export type { Uploaded, UploadEvent } from "./hub/upload/upload.ts";
export type { Repository } from "./hub/repository.ts";
export type { Selection } from "./hub/choose_files.ts";

/** Benchmarks and charts: see docs/library.md. */
export { type Benchmark, benchmark, type BenchmarkOptions } from "./bench/benchmark.ts";
export type { BenchEvent, Shard } from "./bench/benchmark_run.ts";
export type { TaskRequest } from "./bench/plan/test_set.ts";
export type { RemoteOptions } from "./bench/remote/server.ts";
export type { WorkerOptions } from "./bench/workers/worker_pool.ts";
export {
  type AllTasksResultFile,
  readResultFile,
  type RemoteUsage,
  type ResultFile,
  type Sampling,
  type TaskResultFile,
} from "./bench/results/result_file.ts";
export type { PromptSettings } from "./evaluation/prompt_settings.ts";
export { type Plot, type PlotOptions, plotResults } from "./reports/charts/plot_results.ts";
export { type Curves, type CurvesOptions, plotCurves } from "./reports/charts/curves.ts";
export { type Dashboard, type DashboardOptions, startDashboard } from "./dashboard/server.ts";

/**
 * Job scripts for SLURM, as text. Nothing is written.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { benchScript, slurmScript } from "@rgx/rgx";
 * const { text } = await slurmScript("quickstart", "account", { gpus: 1, time: "00:30:00" });
 * assert.match(text, /^#SBATCH --time=00:30:00$/m);
 * const options = { models: ["experiments/quickstart"], tasks: ["spell_backward"] };
 * const bench = await benchScript("account", { ...options, script: "bench.sh" });
 * assert.match(bench.text, /rgx|main\.ts/);
 * ```
 */
export { slurmScript, type TrainScriptOptions } from "./cluster/train_script.ts";
export { benchScript, type BenchScriptOptions } from "./cluster/bench_script.ts";
export type { JobScript } from "./cluster/job_script.ts";

/**
 * Errors.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, UsageError } from "@rgx/rgx";
 * assert.throws(() => createDataset("chain_sun"), (error) => {
 *   assert.ok(error instanceof UsageError);
 *   assert.match(error.message, /did you mean chain_sum/);
 *   assert.equal(error.advice, "rgx tasks list shows all tasks");
 *   return true;
 * });
 * ```
 */
export { RgxError, UsageError } from "./core/errors.ts";
