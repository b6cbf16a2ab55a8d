/**
 * Turns the difficulty levels of a task into its configuration. Each attribute of a task has a list
 * of levels. An attribute sets either one field, or the lower and upper field of a range in one of
 * three modes. Values outside a field's bounds are clamped to the nearest valid value, and each
 * clamped value is reported. Training decides when levels change (`coach.ts`).
 */
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { type ParamValue, withDefaults } from "../../core/named_params.ts";
import type { CurriculumAttribute, Task } from "../types.ts";

/** The range of a level: all levels up to it, only the level itself, or the last k levels. */
export type CurriculumMode = "inclusive" | "upper_bound" | "last_k";

export interface CurriculumOptions {
  mode?: CurriculumMode;
  /** Number of levels for `last_k`; at least 1. */
  k?: number;
  /** Values of the parameters that no attribute sets. Default: those of the task. */
  base?: Readonly<Record<string, unknown>>;
  /**
   * Called for each clamped value, e.g. with "max_rotation: 50 is above its maximum, 25 is used".
   */
  onClamp?: (note: string) => void;
}

/**
 * Returns the configuration at the given level of each attribute. The key `"*"` sets the level of
 * all attributes that are not named; an attribute with fewer levels uses its last one. Without
 * `"*"` they stay at level 0.
 * @throws UsageError for a task without levels, an unknown attribute, or a missing level
 */
export function curriculumConfig(
  task: Task,
  levels: Readonly<Record<string, number>>,
  { mode = "inclusive", k = 2, base = {}, onClamp }: CurriculumOptions = {},
): Record<string, ParamValue> {
  const attributes = checkedAttributes(task, levels);
  const { "*": everywhere = 0, ...named } = levels;
  const config = withDefaults(task.params, base);
  for (const attribute of attributes) {
    const level = named[attribute.name] ?? Math.min(everywhere, attribute.levels.length - 1);
    if (attribute.field !== undefined) config[attribute.field] = attribute.levels[level]!;
    else {
      const [low, high] = rangeLevels(attribute, level, mode, k);
      const ends = [attribute.levels[low] as number, attribute.levels[high] as number];
      config[attribute.lowerField!] = Math.min(...ends);
      config[attribute.upperField!] = Math.max(...ends);
    }
  }
  for (const note of clamp(task, config)) onClamp?.(note);
  return config;
}

/**
 * Returns the attributes of a task after checking that `levels` fits them.
 * @throws UsageError when the task has no levels, or one of the given levels does not exist
 */
export function checkedAttributes(
  task: Task,
  levels: Readonly<Record<string, number>>,
): readonly CurriculumAttribute[] {
  const attributes = attributesOf(task);
  const { "*": everywhere = 0, ...named } = levels;
  if (!Number.isSafeInteger(everywhere) || everywhere < 0) {
    throw new UsageError(`a difficulty level is an integer of at least 0, found ${everywhere}`);
  }
  for (const [name, level] of Object.entries(named)) checkLevel(task, attributes, name, level);
  return attributes;
}

function attributesOf(task: Task): readonly CurriculumAttribute[] {
  if (task.curriculum === undefined) {
    throw new UsageError(`task ${task.name} has no difficulty levels`, {
      advice: `set its parameters instead: rgx tasks show ${task.name}`,
    });
  }
  return task.curriculum;
}

function checkLevel(
  task: Task,
  attributes: readonly CurriculumAttribute[],
  name: string,
  level: number,
): void {
  const names = attributes.map((attribute) => attribute.name);
  const attribute = attributes.find((candidate) => candidate.name === name);
  if (attribute === undefined) {
    throw new UsageError(
      `${name}: unknown curriculum attribute of task ${task.name}${didYouMean(name, names)} ` +
        `(its attributes: ${names.join(", ")})`,
    );
  }
  const last = attribute.levels.length - 1;
  if (!Number.isSafeInteger(level) || level < 0 || level > last) {
    throw new UsageError(
      `${name}: the levels of this attribute of task ${task.name} are 0 to ${last}, found ${level}`,
    );
  }
}

/** Indices of the lower and the upper level. With `ensureInterval` they differ. */
function rangeLevels(
  { levels, ensureInterval }: CurriculumAttribute,
  level: number,
  mode: CurriculumMode,
  k: number,
): [low: number, high: number] {
  const last = levels.length - 1, next = Math.min(level + 1, last);
  if (mode === "inclusive") return [0, ensureInterval ? next : level];
  if (mode === "upper_bound") {
    return ensureInterval ? [Math.max(0, next - 1), next] : [level, level];
  }
  const low = Math.max(0, level - k + 1);
  return ensureInterval && low === level ? [Math.max(0, level - 1), level] : [low, level];
}

function clamp(task: Task, config: Record<string, ParamValue>): string[] {
  const notes: string[] = [];
  for (const [field, spec] of Object.entries(task.params)) {
    const value = config[field];
    if (typeof value !== "number") continue;
    const low = spec.min ?? -Infinity, high = spec.max ?? Infinity;
    if (value >= low && value <= high) continue;
    config[field] = Math.min(high, Math.max(low, value));
    const side = value > high ? "above its maximum" : "below its minimum";
    notes.push(`${field}: ${value} is ${side}, ${config[field]} is used`);
  }
  return [...notes, ...(task.clamp?.(config) ?? [])];
}
