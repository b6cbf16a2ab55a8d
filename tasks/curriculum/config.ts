/**
 * Difficulty levels of a task → its configuration. A task's attributes each have a list of levels; an
 * attribute sets one field, or the lower and upper field of a range in one of three modes. Values that a
 * task would refuse (a field's own bounds) are clamped to the nearest valid ones, and that is reported.
 * Raising and lowering levels by results belongs to the trainer.
 */
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { withDefaults } from "../params.ts";
import type { CurriculumAttribute, ParamValue, Task } from "../types.ts";

/** How a level becomes a range: from the easiest, only itself, or the last k levels. */
export type CurriculumMode = "inclusive" | "upper_bound" | "last_k";

export interface CurriculumOptions {
  mode?: CurriculumMode;
  /** For `last_k` (1 or more). */
  k?: number;
  /** Parameters that no attribute sets; default: the task's own. */
  base?: Readonly<Record<string, unknown>>;
  /** Told of every clamped value: "max_rotation: 50 is above its maximum, 25 is used". */
  onClamp?: (note: string) => void;
}

/**
 * The configuration at the given level of each attribute. `"*"` is the level of all attributes that are not
 * named (of each its last level where it has fewer); without it they stay at level 0. Throws UsageError
 * for a task without levels, an unknown attribute, and a level that does not exist.
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

/** A task's attributes. @throws UsageError when it has none, or when one of the levels does not exist */
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

/** Indices of the lower and upper level; `ensureInterval` keeps two different ones. */
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
