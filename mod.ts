/**
 * rgx makes reasoning tasks, trains language models on them with GRPO and measures the result.
 * docs/library.md is a guide.
 *
 * No function prints, reads the keyboard or ends the process. Results are return values. Progress
 * is reported as events. Failures are thrown: a {@link UsageError} if the request is wrong, another
 * {@link RgxError} for later failures. Both have a message for the user and an `advice`. All other
 * errors are defects.
 *
 * Each section is a module of its own:
 *
 * - `@rgx/rgx/training`: training: in one call, in parts, or its plan
 * - `@rgx/rgx/configurations`: configurations: typed, checked as a whole
 * - `@rgx/rgx/tasks`: tasks that make problems, and tasks of one's own
 * - `@rgx/rgx/problems`: problems from files and the Hub, and what is held out
 * - `@rgx/rgx/answers`: prompts for questions, answers of completions and their scores
 * - `@rgx/rgx/rewards`: rewards and rubrics
 * - `@rgx/rgx/models`: devices, models, generation, log-probabilities, files, the Hub
 * - `@rgx/rgx/benchmarks`: benchmarks, charts, the dashboard
 * - `@rgx/rgx/statistics`: intervals, paired tests, pass@k
 * - `@rgx/rgx/jobs`: job scripts for SLURM
 * - `@rgx/rgx/errors`: errors
 *
 * `@rgx/rgx/node` has the sections that need no device: tasks, answers, rewards, configurations,
 * statistics, errors. It is the npm package.
 * @module
 */
export * from "./library/training.ts";
export * from "./library/configurations.ts";
export * from "./library/tasks.ts";
export * from "./library/problems.ts";
export * from "./library/answers.ts";
export * from "./library/rewards.ts";
export * from "./library/models.ts";
export * from "./library/benchmarks.ts";
export * from "./library/statistics.ts";
export * from "./library/jobs.ts";
export * from "./library/errors.ts";
