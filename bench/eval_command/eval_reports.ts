/**
 * Reports of `rgx eval` in the layout and with the names of reasoning-gym's evaluations, so that
 * programs that read those read these too:
 * `{output_dir}/{model}_{stamp}/{category}/{dataset}.json`, `summary.json`, and on request
 * `results.json` with everything. With a single category, the name of the model's folder contains
 * it. The score of a data set is the mean over its problems of the mean over repeats;
 * `average_best_score` takes the best repeat of each problem. Problems without any answer are in
 * neither.
 */
import { type FileContent, writeFilesAtomic } from "../../core/atomic_file.ts";
import { fileName } from "../../core/paths.ts";
import { REMOTE_PREFIX } from "../../core/remote/model_names.ts";
import { mean } from "../../core/statistics.ts";
import { SYSTEM_PROMPTS } from "../../data/prompt.ts";
import type { EvalDescription } from "./eval_config.ts";
import {
  type AllTasksResultFile,
  type ExampleResult,
  type ModelResult,
  type SampleResult,
  samplesOf,
  type TaskResults,
} from "../results/result_file.ts";

/** The part of a description that its reports need. */
export type ReportOptions = Pick<EvalDescription, "options" | "saveMetadata" | "saveFullResults">;

/** A model's name as the name of a folder. "./" is removed, since the folder would be hidden. */
export function folderName(model: string): string {
  return fileName(nameInReports(model).replace(/^(\.{1,2}\/)+/, ""));
}

/** The name of a remote model without the prefix that rgx adds. */
function nameInReports(model: string): string {
  return model.startsWith(REMOTE_PREFIX) ? model.slice(REMOTE_PREFIX.length) : model;
}

/** @returns the paths of the summaries, one for each model */
export async function writeEvalReports(
  result: AllTasksResultFile,
  description: ReportOptions,
  outputDir = description.options.outputDir ?? "results",
): Promise<string[]> {
  const tasks = Object.values(result.tasks);
  const models = new Set(tasks.flatMap((task) => Object.keys(task.models)));
  const categories = new Set(tasks.map(categoryOf));
  const paths: string[] = [];
  for (const model of models) {
    const only = categories.size === 1 ? `${fileName([...categories][0]!)}_` : "";
    // Two models may have the same file name: m/x and m_x.
    const name = folderName(model);
    const twins = [...models].filter((other) => folderName(other) === name);
    const place = twins.indexOf(model), suffix = place === 0 ? "" : `_${place + 1}`;
    const folder = `${outputDir}/${name}_${only}${result.stamp}${suffix}`;
    const asked = tasks.filter((task) => task.models[model] !== undefined);
    const reports = asked.map((task) =>
      datasetReport(task, task.models[model]!, result, description.saveMetadata)
    );
    const files = new Map<string, FileContent | string>();
    for (const [i, report] of reports.entries()) {
      const category = `${folder}/${fileName(report.category)}`;
      await Deno.mkdir(category, { recursive: true });
      files.set(`${category}/${fileName(asked[i]!.task)}.json`, () => reportPieces(report));
    }
    const summary = summaryOf(model, asked, reports, result, description);
    const path = `${folder}/summary.json`;
    if (description.saveFullResults) {
      files.set(`${folder}/results.json`, () => fullResults(summary, reports));
    }
    // The summary is written last: if it exists, so do all other files.
    files.set(path, `${json(summary)}\n`);
    await writeFilesAtomic(files);
    paths.push(path);
  }
  return paths;
}

const encoder = new TextEncoder();

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function categoryOf({ category }: TaskResults): string {
  return category ?? "other";
}

type DatasetReport = ReturnType<typeof datasetReport>;

/** A model on a data set; an average is null where no problem has an answer. */
function datasetReport(
  task: TaskResults,
  result: ModelResult,
  { sampling }: AllTasksResultFile,
  saveMetadata: boolean,
) {
  const { examples, prompt, usage, device } = result;
  const { accuracy, ci95, mean_score_ci95, correct, total, num_examples, errors } = result;
  const results = examples.map((example) => problemReport(example, saveMetadata));
  const answered = results.filter((_, i) => answersOf(examples[i]!).length > 0);
  const average = (scores: number[]) => scores.length === 0 ? null : mean(scores);
  const average_mean_score = average(answered.map(({ mean_score }) => mean_score));
  return {
    name: task.task,
    dataset: task.task_name,
    category: categoryOf(task),
    average_best_score: average(answered.map(({ best_score }) => best_score)),
    average_mean_score,
    average_score: average_mean_score, // its name in the evaluations of a local model
    total_examples: num_examples,
    config: { size: num_examples, seed: task.seed, ...task.parameters },
    system_prompt: prompt.system_prompt,
    completions_per_prompt: sampling.samples,
    mean_score_ci95,
    accuracy,
    ci95,
    correct,
    total,
    errors,
    format_rate: result.format_rate,
    truncated_rate: result.truncated_rate,
    prompt,
    usage,
    device,
    results,
  };
}

/** The samples of a problem that have an answer. */
function answersOf(example: ExampleResult): SampleResult[] {
  return samplesOf(example).filter(({ error }) => error === undefined);
}

function problemReport(example: ExampleResult, saveMetadata: boolean) {
  const answers = answersOf(example), scores = answers.map(({ score }) => score);
  const best = answers.reduce<SampleResult | undefined>(
    (best, one) => best === undefined || isBetter(one, best) ? one : best,
    undefined,
  );
  return {
    question: example.question,
    expected_answer: example.expected,
    best_model_answer: best?.extracted ?? null,
    best_full_model_response: best?.completion ?? null,
    best_score: Math.max(0, ...scores),
    mean_score: scores.length === 0 ? 0 : mean(scores),
    ...(answers.length === 0 && { error: samplesOf(example)[0]?.error }),
    completions: samplesOf(example).map(({ completion, extracted, score, ...rest }) => ({
      model_answer: extracted,
      full_model_response: completion,
      score,
      ...rest,
    })),
    ...(saveMetadata && { metadata: example.metadata }),
  };
}

/** Among equal scores, the first completion with an answer counts. */
function isBetter(one: SampleResult, best: SampleResult): boolean {
  return one.score > best.score ||
    one.score === best.score && best.extracted === null && one.extracted !== null;
}

function summaryOf(
  model: string,
  tasks: readonly TaskResults[],
  reports: readonly DatasetReport[],
  result: AllTasksResultFile,
  { options }: ReportOptions,
) {
  const { created, rgx_version, seed, sampling } = result;
  const first = tasks[0]!.models[model]!, prompt = first.prompt.system_prompt;
  const id = Object.entries(SYSTEM_PROMPTS).find(([, text]) => text === prompt)?.[0];
  const seconds = tasks.map((task) => task.models[model]!.usage.seconds);
  const categories: Record<string, Record<string, unknown>> = {};
  for (const { results: _, prompt: __, usage: ___, system_prompt: ____, ...rest } of reports) {
    (categories[rest.category] ??= {})[rest.name] = rest;
  }
  return {
    model: nameInReports(model),
    provider: options.remote?.provider ?? null,
    timestamp: created,
    rgx_version,
    device: [...new Set(tasks.map((task) => task.models[model]!.device))].join("; "),
    duration_seconds: seconds.reduce((sum, one) => sum + one, 0),
    system_prompt: prompt,
    ...(id !== undefined && { system_prompt_id: id }),
    max_tokens: sampling.max_new_tokens,
    temperature: sampling.temperature,
    top_p: sampling.top_p,
    completions_per_prompt: sampling.samples,
    seed,
    sampling,
    total_datasets: reports.length,
    total_examples: reports.reduce((sum, { total_examples }) => sum + total_examples, 0),
    dataset_best_scores: byName(reports, ({ average_best_score }) => average_best_score),
    dataset_mean_scores: byName(reports, ({ average_mean_score }) => average_mean_score),
    average: result.average[model],
    categories,
  };
}

type Summary = ReturnType<typeof summaryOf>;

function byName(
  reports: readonly DatasetReport[],
  value: (report: DatasetReport) => number | null,
): Record<string, number | null> {
  return Object.fromEntries(reports.map((report) => [report.name, value(report)]));
}

/** A data set's JSON in pieces, since all of its completions may be longer than a text can be. */
function* reportPieces({ results, ...numbers }: DatasetReport): Generator<Uint8Array> {
  const empty = json({ ...numbers, results: [] }), end = "]\n}";
  yield encoder.encode(empty.slice(0, -end.length));
  for (const [i, one] of results.entries()) {
    yield encoder.encode(`${i === 0 ? "" : ","}\n${json(one)}`);
  }
  yield encoder.encode(`${end}\n`);
}

/** `results.json` in pieces. */
function* fullResults(
  { categories: _, dataset_best_scores, dataset_mean_scores, ...rest }: Summary,
  reports: readonly DatasetReport[],
): Generator<Uint8Array> {
  const { total_datasets, total_examples, average: __, ...metadata } = rest;
  const summary = { total_datasets, total_examples, dataset_best_scores, dataset_mean_scores };
  const names = [...new Set(reports.map(({ category }) => category))];
  yield encoder.encode(`{\n"metadata": ${json(metadata)},\n"summary": ${json(summary)},\n`);
  yield encoder.encode(`"categories": [`);
  for (const [i, name] of names.entries()) {
    yield encoder.encode(`${i === 0 ? "" : ","}\n{"name": ${json(name)}, "datasets": [`);
    for (const [j, report] of reports.filter(({ category }) => category === name).entries()) {
      yield encoder.encode(j === 0 ? "\n" : ",\n");
      yield* reportPieces(report);
    }
    yield encoder.encode("]}");
  }
  yield encoder.encode("\n]\n}\n");
}
