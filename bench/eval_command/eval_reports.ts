/**
 * Reports of `rgx eval` in the usual layout:
 * `{output_dir}/{model}_{stamp}/{category}/{dataset}.json` and `summary.json`. With a single
 * category, the name of the model's folder contains it. The score of a data set is the mean over
 * its problems of the mean over repeats; `average_best_score` takes the best repeat of each
 * problem.
 */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { fileName } from "../../core/paths.ts";
import { mean } from "../../core/statistics.ts";
import type { EvalDescription } from "./eval_config.ts";
import {
  type AllTasksResultFile,
  type ModelResult,
  samplesOf,
  type TaskResults,
} from "../results/result_file.ts";

/** A model's name as that of a folder. Without "./", which would make it a hidden folder. */
export function folderName(model: string): string {
  return fileName(model.replace(/^(\.{1,2}\/)+/, ""));
}

/** @returns the paths of the summaries, one for each model */
export async function writeEvalReports(
  result: AllTasksResultFile,
  { options, saveMetadata, saveFullResults }: EvalDescription,
  outputDir = options.outputDir ?? "results",
): Promise<string[]> {
  const tasks = Object.values(result.tasks);
  const models = new Set(tasks.flatMap((task) => Object.keys(task.models)));
  const categories = new Set(tasks.map(({ category }) => category ?? "other"));
  const paths: string[] = [];
  for (const model of models) {
    const only = categories.size === 1 ? `${fileName([...categories][0]!)}_` : "";
    // Two models may have the same file name: m/x and m_x.
    const name = folderName(model);
    const twins = [...models].filter((other) => folderName(other) === name);
    const place = twins.indexOf(model), suffix = place === 0 ? "" : `_${place + 1}`;
    const folder = `${outputDir}/${name}_${only}${result.stamp}${suffix}`;
    const summary: Record<string, Record<string, unknown>> = {};
    for (const task of tasks) {
      const modelResult = task.models[model];
      if (modelResult === undefined) continue;
      const category = task.category ?? "other";
      const numbers = numbersOf(modelResult);
      await Deno.mkdir(`${folder}/${fileName(category)}`, { recursive: true });
      await writeFileAtomic(
        `${folder}/${fileName(category)}/${fileName(task.task)}.json`,
        JSON.stringify(report(task, modelResult, numbers, saveMetadata, saveFullResults), null, 2) +
          "\n",
      );
      (summary[category] ??= {})[task.task] = numbers;
    }
    const { created, rgx_version, seed, sampling } = result;
    const path = `${folder}/summary.json`;
    const head = { model, created, rgx_version, seed, sampling };
    const average = result.average[model];
    await writeFileAtomic(
      path,
      JSON.stringify({ ...head, average, categories: summary }, null, 2) + "\n",
    );
    paths.push(path);
  }
  return paths;
}

function numbersOf(result: ModelResult) {
  const { accuracy, ci95, mean_score_ci95, correct, total, num_examples, errors } = result;
  const scores = result.examples.map((example) =>
    samplesOf(example).filter(({ error }) => error === undefined).map(({ score }) => score)
  ).filter(({ length }) => length > 0);
  return {
    average_mean_score: scores.length === 0 ? 0 : mean(scores.map((ofProblem) => mean(ofProblem))),
    average_best_score: scores.length === 0
      ? 0
      : mean(scores.map((ofProblem) => Math.max(...ofProblem))),
    mean_score_ci95,
    accuracy,
    ci95,
    correct,
    total,
    num_examples,
    errors,
    format_rate: result.format_rate,
    truncated_rate: result.truncated_rate,
  };
}

function report(
  { task, task_name, category, parameters }: TaskResults,
  { examples, prompt, usage, device }: ModelResult,
  numbers: ReturnType<typeof numbersOf>,
  saveMetadata: boolean,
  saveFullResults: boolean,
) {
  return {
    name: task,
    dataset: task_name,
    category,
    parameters,
    ...numbers,
    prompt,
    usage,
    device,
    ...(saveFullResults && {
      results: examples.map(({ metadata, ...example }) =>
        saveMetadata ? { ...example, metadata } : example
      ),
    }),
  };
}
