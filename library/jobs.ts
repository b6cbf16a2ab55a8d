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
 * @module
 */
export { slurmScript, type TrainScriptOptions } from "../cluster/train_script.ts";
export { benchScript, type BenchScriptOptions } from "../cluster/bench_script.ts";
export type { JobRequest, ProcessNeeds } from "../cluster/header.ts";
export type { CommonOptions, JobScript } from "../cluster/job_script.ts";
export type { SchedulerName } from "../cluster/schedulers.ts";
