/** Parses the tasks of `rgx bench`: names, files of data sets, and parameters of tasks. */
import { isTask } from "../../bench/plan/test_set.ts";
import type { TaskRequest } from "../../bench/plan/test_set.ts";
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { DATASET_NAMES } from "../../data/dataset_entries.ts";
import { isTable } from "../../hub/default_files.ts";
import { getTask, hasTask } from "../../tasks/registry.ts";
import { readTaskParams, type TaskParamOptions } from "../tasks/task_params.ts";

/** @throws UsageError for an invalid path, parameter or level */
export function readTasks(texts: readonly string[], params: TaskParamOptions): TaskRequest[] {
  const requests = withPlaces(texts.flatMap(requestsOf));
  const names = requests.map(({ name }) => name).filter(hasTask);
  // Unknown tasks are reported by the benchmark, all of them together.
  const areTasks = requests.every(({ name }) => isTask(name));
  const flags = areTasks ? [...params.set, ...params.setLevel] : [];
  for (const text of flags) {
    if (names.length === 1 || names.some((name) => text.startsWith(`${name}.`))) continue;
    throw new UsageError(
      names.length === 0
        ? `${text}: no task that has parameters is named`
        : `${text}: of several tasks, say which: ${names[0]}.${text}`,
    );
  }
  const { level } = params;
  const hasLevels = (name: string) => getTask(name).curriculum !== undefined;
  // For a single task this error is reported with its parameters.
  if (areTasks && level !== undefined && names.length !== 1 && !names.some(hasLevels)) {
    throw new UsageError(`--level ${level}: no task that has levels is named`);
  }
  return requests.map((request) => {
    const { name } = request;
    if (!hasTask(name)) return request;
    const parameters = readTaskParams(getTask(name), params, names.length > 1);
    return Object.keys(parameters).length === 0 ? request : { ...request, parameters };
  });
}

/** Adds the folders to the labels of files that have the same name. */
function withPlaces(requests: readonly TaskRequest[]): TaskRequest[] {
  return requests.map((request) => {
    const { path, label } = request;
    const isAlone = requests.every((other) => other.label !== label || other.path === path);
    return label === undefined || isAlone ? request : { ...request, label: withoutEnding(path!) };
  });
}

const withoutEnding = (path: string) => path.replace(/\.[a-z]+$/, "");

/** Parses `name`, `a,b`, `gsm8k=PATH`, or a file of problems. */
function requestsOf(text: string): TaskRequest[] {
  const [, name, path] = /^([A-Za-z0-9_-]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined) {
    if (DATASET_NAMES.includes(name)) return [{ name, path: path! }];
    throw new UsageError(
      `--tasks ${text}: only a data set has a path: ${DATASET_NAMES.join(", ")}` +
        didYouMean(name.toLowerCase().replace("-", ""), DATASET_NAMES),
    );
  }
  if (/\.(?:jsonl?|parquet)$/.test(text) || isTable(text)) {
    const label = withoutEnding(text.replace(/^.*\//, ""));
    return [{ name: "file", path: text, label }];
  }
  return text.split(",").filter((part) => part !== "").map((part) => ({ name: part }));
}
