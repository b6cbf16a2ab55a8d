/** Parses the parameters of a task: `--set key=value`, `--level L`, `--set-level attribute=L`. */
import { parse } from "yaml";
import { plainScalar } from "../../configs/documents/yaml_source.ts";
import { UsageError } from "../../core/errors.ts";
import { curriculumConfig } from "../../tasks/curriculum/levels.ts";
import type { ParamValue } from "../../core/named_params.ts";
import type { Task } from "../../tasks/types.ts";
import { log } from "../terminal/terminal.ts";

export interface TaskParamOptions {
  set: readonly string[];
  level?: number;
  setLevel: readonly string[];
}

/**
 * The parameters of a task from its flags. A key may begin with its name: `chain_sum.max_terms=3`.
 * @param isOneOfSeveral the command has other tasks, too: only keys with this task's name count
 * @throws UsageError for a flag without a value, and for an unknown level or attribute
 */
export function readTaskParams(
  task: Task,
  options: TaskParamOptions,
  isOneOfSeveral = false,
): Record<string, ParamValue> {
  const prefix = `${task.name}.`;
  const ofThisTask = (texts: readonly string[]) =>
    texts.filter((text) => !isOneOfSeveral || text.startsWith(prefix))
      .map((text) => text.startsWith(prefix) ? text.slice(prefix.length) : text);
  const levels: Record<string, number> = {};
  const hasLevels = !isOneOfSeveral || task.curriculum !== undefined;
  if (options.level !== undefined && hasLevels) levels["*"] = options.level;
  for (const text of ofThisTask(options.setLevel)) {
    const [attribute, value] = splitPair(text, "--set-level", "attribute=level");
    const level = Number(value);
    if (!Number.isInteger(level) || level < 0) {
      throw new UsageError(`--set-level ${text}: expected an integer level ≥ 0, found "${value}"`);
    }
    levels[attribute] = level;
  }
  const params: Record<string, ParamValue> = Object.keys(levels).length > 0
    ? curriculumConfig(task, levels, { onClamp: (text) => log(`note: ${text}`) })
    : {};
  noteLastLevels(task, levels);
  for (const text of ofThisTask(options.set)) {
    const [key, value] = splitPair(text, "--set", "key=value");
    if (key === "seed" || key === "size") {
      throw new UsageError(`--set ${text}: write --${key} ${value}`);
    }
    params[key] = readValue(value, `--set ${text}`);
  }
  return params;
}

/** Notes the attributes that have fewer levels than `--level` asks for. */
function noteLastLevels({ curriculum = [] }: Task, levels: Readonly<Record<string, number>>): void {
  const { "*": asked = 0, ...named } = levels;
  const lower = curriculum.filter(({ name, levels: { length } }) =>
    asked >= length && !(name in named)
  );
  if (lower.length === 0) return;
  const last = lower.map(({ name, levels: { length } }) => `${name} ${length - 1}`).join(", ");
  log(`note: --level ${asked}: tasks with fewer levels have their last level: ${last}`);
}

/**
 * A value, parsed as in the overrides of a configuration: plain text is text; brackets and quotes
 * are YAML.
 */
export function readValue(text: string, flag: string): ParamValue {
  if (!/^\s*["'[{]/.test(text)) return plainScalar(text.trim());
  try {
    return parse(text, { prettyErrors: false }) as ParamValue;
  } catch (cause) {
    throw new UsageError(`${flag}: can not read the value: ${(cause as Error).message}`, {
      cause,
      advice: `signs and texts in a list need quotes, and the whole needs others: 'ops=["+", "*"]'`,
    });
  }
}

export function splitPair(text: string, flag: string, form: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw new UsageError(`${flag} ${text}: expected ${form}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
