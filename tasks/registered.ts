/**
 * The tasks that are known by their names, and the scores of answers by a task's rule. Importing
 * this file loads no task: `registry.ts` has the built-in ones. Tasks read their data files at the
 * first entry, so listing and checking tasks is cheap.
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { checkParams, type ParamValue, withDefaults } from "../core/named_params.ts";
import { isBlank } from "./python/text.ts";
import type { ScorableEntry, Task } from "./types.ts";

/** Names that every data set uses beside the parameters of its task. */
const DATASET_FIELDS = ["size", "seed", "split"];

/** By their names. */
export const tasks = new Map<string, Task>();

/**
 * Adds a task; one that was added already is left as it is.
 * @throws UsageError when the name is taken or not of the form `a_b_1`, when a parameter has a name
 * that every data set uses, or when the defaults violate the task's own rules
 */
export function registerTask(task: Task): void {
  const fail = (message: string) => {
    throw new UsageError(`cannot register task "${task.name}": ${message}`);
  };
  if (typeof task.name !== "string" || !/^[a-z][a-z0-9_]*$/.test(task.name)) {
    fail("a name has a–z, 0–9 and _ and begins with a letter");
  }
  if (tasks.get(task.name) === task) return;
  if (tasks.has(task.name)) fail("the name is taken");
  const clash = DATASET_FIELDS.find((field) => Object.hasOwn(task.params, field));
  if (clash !== undefined) {
    fail(`"${clash}" is a field of every data set, not a parameter of a task`);
  }
  const errors = configErrors(task, withDefaults(task.params, task.example ?? {}));
  if (errors.length > 0) fail(`its defaults are not valid: ${errors.join("; ")}`);
  tasks.set(task.name, task);
}

/** Removes a task that {@link registerTask} has added, so that another can have its name. */
export function unregisterTask(task: Task): void {
  if (tasks.get(task.name) === task) tasks.delete(task.name);
}

/** All registered names, sorted. */
export function taskNames(): string[] {
  return [...tasks.keys()].sort();
}

export function hasTask(name: string): boolean {
  return tasks.has(name);
}

/**
 * Returns the task.
 * @throws UsageError that suggests the nearest names
 */
export function getTask(name: string): Task {
  const task = tasks.get(name);
  if (task === undefined) {
    throw new UsageError(`unknown task "${name}"${didYouMean(name, tasks.keys())}`, {
      advice: tasks.size === 0
        ? "the tasks are not loaded: import them from @rgx/rgx/tasks"
        : "rgx tasks list (in a program taskNames()) shows all tasks",
    });
  }
  return task;
}

/**
 * Returns all errors in a task's parameters; each message begins with the field. Missing fields
 * have their defaults.
 * @throws UsageError for an unknown task
 */
export function validateTaskConfig(
  name: string,
  config: Readonly<Record<string, unknown>>,
): string[] {
  return configErrors(getTask(name), config);
}

/**
 * Returns the parameters with defaults filled in.
 * @throws UsageError that lists all errors
 */
export function resolveTaskConfig(
  name: string,
  config: Readonly<Record<string, unknown>>,
): Record<string, ParamValue> {
  const task = getTask(name);
  const errors = configErrors(task, config);
  if (errors.length > 0) {
    throw new UsageError(`task ${name}: ${errors.join("\n  ")}`, {
      advice:
        `rgx tasks show ${name} (in a program getTask("${name}").params) lists its parameters`,
    });
  }
  return withDefaults(task.params, config);
}

function configErrors(task: Task, config: Readonly<Record<string, unknown>>): string[] {
  const errors = checkParams(`task ${task.name}`, task.params, config);
  if (errors.length > 0 || task.validate === undefined) return errors;
  return task.validate(withDefaults(task.params, config));
}

// Scores without a data set: the entry names its task. Entries made elsewhere with the same names
// and metadata can be scored too. Before a task's own rule is applied, null, a non-string and a
// blank answer score 0, unless the task allows a blank right answer.

/**
 * Returns the score in [0, 1] of an answer.
 * @throws RgxError when the entry does not name a known task
 */
export function scoreAnswer(answer: string | null, entry: ScorableEntry): number {
  const source = entry.metadata?.["source_dataset"];
  if (typeof source !== "string") {
    throw new RgxError(
      "cannot score an entry without a task: metadata.source_dataset must be a task's name, " +
        "found " +
        (JSON.stringify(source) ?? "nothing"),
    );
  }
  return scoreTaskAnswer(source, answer, entry);
}

/** Scores an answer by the rule of the named task, for entries that do not name one. */
export function scoreTaskAnswer(name: string, answer: string | null, entry: ScorableEntry): number {
  const task = getTask(name), source = entry.metadata?.["source_dataset"];
  // A composite uses the rule of the task that made the entry.
  if (task.open !== undefined && typeof source === "string" && source !== name) {
    return scoreTaskAnswer(source, answer, entry);
  }
  if (typeof answer !== "string") return 0;
  if (isBlank(answer)) {
    const oracleIsBlank = typeof entry.answer === "string" && isBlank(entry.answer);
    return task.acceptsBlank && oracleIsBlank ? 1 : 0;
  }
  const score = task.score(answer, entry);
  if (!Number.isFinite(score)) {
    throw new RgxError(`the scorer of task ${name} returned ${score}, not a number in [0, 1]`);
  }
  return Math.min(1, Math.max(0, score));
}
