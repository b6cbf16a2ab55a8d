/**
 * What a chart shows, gathered from result files: which tasks, which models, and the result of each pair. A pair that was
 * measured more than once is drawn once: the newest, so that `results_all_tasks_*` beside its parts, or all files of a
 * folder, can be given together. What a reader of the chart should know comes back as notes.
 */
import { RgxError } from "../../core/errors.ts";
import type { ModelResult, ResultFile, TaskResults } from "../../bench/results/result_file.ts";

/** A result file and where it comes from (for messages). */
export interface NamedResult {
  path: string;
  result: ResultFile;
}

export interface ChartData {
  /** In the order of the files. */
  tasks: string[];
  models: string[];
  /** Task → model → result; a pair that was not measured is missing. */
  results: Map<string, Map<string, ModelResult>>;
  /** Newest stamp of the files. */
  stamp: string;
  /** Sentences for the user. */
  notes: string[];
}

interface Found {
  path: string;
  created: string;
  stamp: string;
  /** What makes problems and answers comparable. */
  setting: ReadonlyMap<string, string>;
  result: ModelResult;
}

/** @throws RgxError when there is nothing to draw */
export function gatherResults(files: readonly NamedResult[]): ChartData {
  const found = new Map<string, Map<string, Found>>();
  const models = new Set<string>(), notes: string[] = [];
  /** How many results of which file were given up for which other one. */
  const chosen = new Map<string, number>();
  for (const { path, result: file } of files) {
    for (const task of file.kind === "task" ? [file] : Object.values(file.tasks)) {
      const ofTask = found.get(task.task) ?? new Map<string, Found>();
      for (const [model, result] of Object.entries(task.models)) {
        const { created, stamp } = file;
        const next = { path, created, stamp, setting: settingOf(file, task), result };
        const before = ofTask.get(model);
        ofTask.set(model, before === undefined ? next : newer(before, next));
        if (before !== undefined && before.stamp !== stamp) {
          const choice = choiceOf(before, next);
          chosen.set(choice, (chosen.get(choice) ?? 0) + 1);
        }
        models.add(model);
      }
      if (ofTask.size > 0) found.set(task.task, ofTask);
    }
  }
  if (found.size === 0) {
    throw new RgxError(`no results in ${files.map((file) => file.path).join(", ")}`, {
      advice: "All combinations of the benchmark failed; its own messages say why.",
    });
  }
  for (const { result: file } of files) {
    if (file.kind !== "all_tasks") continue;
    for (const { task, model } of file.failures) {
      // Another file may have what failed here.
      if (!found.get(task)?.has(model)) notes.push(`${model} failed on ${task}`);
    }
  }
  const unlike = new Map<string, string[]>();
  for (const [task, ofTask] of found) {
    const found = differences([...ofTask.values()].map(({ setting }) => setting));
    if (found !== "") unlike.set(found, [...unlike.get(found) ?? [], task]);
  }
  for (const [found, tasks] of unlike) {
    const where = tasks.length <= MOST_NAMED ? tasks.join(", ") : `${tasks.length} tasks`;
    notes.push(`${where}: not the same measurement for all models: ${found}`);
  }
  for (const [choice, n] of chosen) {
    notes.push(`${n === 1 ? "1 result is" : `${n} results are`} ${choice}`);
  }
  const results = new Map(
    [...found].map((
      [task, ofTask],
    ) => [task, new Map([...ofTask].map(([model, { result }]) => [model, result]))]),
  );
  return {
    tasks: [...found.keys()],
    models: [...models],
    results,
    stamp: files.map(({ result }) => result.stamp).sort().at(-1)!,
    notes: [...new Set(notes)],
  };
}

function newer(a: Found, b: Found): Found {
  return b.created > a.created ? b : a;
}

function choiceOf(a: Found, b: Found): string {
  const kept = newer(a, b), left = kept === a ? b : a;
  return `drawn from ${kept.path}, which is newer, not from ${left.path}`;
}

/** Tasks that a note names. */
const MOST_NAMED = 5;
/** Greedy completions do not depend on these. */
const OF_DRAWS = ["top_p", "top_k", "min_p"];

function settingOf(file: ResultFile, task: TaskResults): ReadonlyMap<string, string> {
  const { seed = file.seed, parameters } = task;
  const isGreedy = file.sampling.temperature === 0;
  const all = { seed, ...file.sampling, parameters };
  return new Map(
    Object.entries(all).filter(([name]) => !isGreedy || !OF_DRAWS.includes(name))
      .map(([name, value]) => [name, JSON.stringify(value)]),
  );
}

/** "seed 1 | 2; max_new_tokens 8 | 64": what is not the same in all; "" when all is. */
function differences(settings: readonly ReadonlyMap<string, string>[]): string {
  const names = new Set(settings.flatMap((setting) => [...setting.keys()]));
  return [...names].flatMap((name) => {
    const among = settings.filter((setting) => setting.has(name) || !OF_DRAWS.includes(name));
    const values = new Set(among.map((setting) => setting.get(name) ?? "none"));
    return values.size > 1 ? [`${name} ${[...values].join(" | ")}`] : [];
  }).join("; ");
}

/** The same with other names of models, in the same order. */
export function renameModels(data: ChartData, names: ReadonlyMap<string, string>): ChartData {
  const nameOf = (model: string) => names.get(model) ?? model;
  return {
    ...data,
    models: data.models.map(nameOf),
    results: new Map(
      [...data.results].map((
        [task, ofTask],
      ) => [task, new Map([...ofTask].map(([model, result]) => [nameOf(model), result]))]),
    ),
  };
}
