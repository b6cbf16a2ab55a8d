/**
 * Gathers the contents of a chart from result files: the tasks, the models, and the result of each
 * pair. Where a pair was measured several times, the newest result is drawn. So
 * `results_all_tasks_*` may be given together with the files of its tasks, or all files of a
 * folder. Notes are for the reader of the chart.
 */
import { counted } from "../../core/counted.ts";
import { RgxError } from "../../core/errors.ts";
import type { ModelResult, ResultFile, TaskResults } from "../../bench/results/result_file.ts";

/** A result file and its path (for messages). */
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
  /** The newest stamp of the files. */
  stamp: string;
  /** Notes for the user. */
  notes: string[];
}

interface Found {
  created: string;
  stamp: string;
  /** Settings that must be equal for results to be comparable. */
  setting: ReadonlyMap<string, string>;
  result: ModelResult;
}

/** @throws RgxError when there is nothing to draw */
export function gatherResults(files: readonly NamedResult[]): ChartData {
  const found = new Map<string, Map<string, Found>>();
  const models = new Set<string>(), notes: string[] = [];
  let replaced = 0;
  for (const { result: file } of files) {
    for (const task of file.kind === "task" ? [file] : Object.values(file.tasks)) {
      const ofTask = found.get(task.task) ?? new Map<string, Found>();
      for (const [model, result] of Object.entries(task.models)) {
        const { created, stamp } = file;
        const next = { created, stamp, setting: settingOf(file, task, result), result };
        const before = ofTask.get(model);
        if (before === undefined || created > before.created) ofTask.set(model, next);
        if (before !== undefined && before.stamp !== stamp) replaced++;
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
      // A result that failed here may be in another file.
      if (!found.get(task)?.has(model)) notes.push(`${model} failed on ${task}`);
    }
  }
  const differing = new Map<string, string[]>();
  for (const [task, ofTask] of found) {
    const found = differences([...ofTask.values()].map(({ setting }) => setting));
    if (found !== "") differing.set(found, [...differing.get(found) ?? [], task]);
  }
  for (const [found, tasks] of differing) {
    const where = tasks.length <= MAX_NAMED ? tasks.join(", ") : `${tasks.length} tasks`;
    notes.push(`${where}: not the same measurement for all models: ${found}`);
  }
  if (replaced > 0) {
    notes.push(`${counted(replaced, "result")} measured more than once: the newest is drawn`);
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

/** Maximum number of tasks that a note names. */
const MAX_NAMED = 5;
/** Settings of the draws; greedy completions do not depend on them. */
const DRAW_SETTINGS = ["top_p", "top_k", "min_p"];

function settingOf(
  file: ResultFile,
  task: TaskResults,
  { dialogues }: ModelResult,
): ReadonlyMap<string, string> {
  const { seed = file.seed, parameters } = task;
  const isGreedy = file.sampling.temperature === 0;
  const all = {
    seed,
    ...file.sampling,
    parameters,
    ...(dialogues && { dialogues: dialogues.with }),
  };
  return new Map(
    Object.entries(all).filter(([name]) => !isGreedy || !DRAW_SETTINGS.includes(name))
      .map(([name, value]) => [name, JSON.stringify(value)]),
  );
}

/** The settings that differ, such as "seed 1 | 2; max_new_tokens 8 | 64"; "" when none do. */
function differences(settings: readonly ReadonlyMap<string, string>[]): string {
  const names = new Set(settings.flatMap((setting) => [...setting.keys()]));
  return [...names].flatMap((name) => {
    const among = settings.filter((setting) => setting.has(name) || !DRAW_SETTINGS.includes(name));
    const values = new Set(among.map((setting) => setting.get(name) ?? "none"));
    return values.size > 1 ? [`${name} ${[...values].join(" | ")}`] : [];
  }).join("; ");
}

/** The data with other names of the models. */
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
