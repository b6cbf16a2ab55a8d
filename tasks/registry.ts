/**
 * Maps names to tasks. The built-in tasks come from `all.ts`; a program may register its own. Tasks
 * read their data files at the first entry, so listing and checking tasks is cheap.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { BUILT_IN } from "./all.ts";
import { checkParams, type ParamValue, withDefaults } from "../core/named_params.ts";
import type { Task } from "./types.ts";

/** Names that every data set uses beside the parameters of its task. */
const DATASET_FIELDS = ["size", "seed", "split"];

const tasks = new Map<string, Task>();

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
      advice: "rgx tasks list (in a program taskNames()) shows all tasks",
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

// Built-in tasks are not checked at run time, which would cost every command some milliseconds. A
// test checks them with the rules of `registerTask`.
for (const task of BUILT_IN) tasks.set(task.name, task);
