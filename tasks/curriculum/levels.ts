/**
 * The current level of each curriculum attribute of a task, and the parameters at these levels
 * (reasoning-gym's curriculum). An attribute sets either one field, or the lower and upper field of
 * a range in one of three modes. Values outside a field's bounds are clamped to the nearest valid
 * value, and each clamped value is reported. Training decides when levels change (`coach.ts`).
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
 * Returns the configuration at the given level of each attribute.
 * @throws UsageError for a task without levels, an unknown attribute, or a missing level
 */
export function curriculumConfig(
  task: Task,
  levels: Readonly<Record<string, number>>,
  options: CurriculumOptions = {},
): Record<string, ParamValue> {
  return new CurriculumLevels(task, levels).config(options);
}

export class CurriculumLevels {
  readonly #attributes: readonly CurriculumAttribute[];
  readonly #levels: Record<string, number>;

  /**
   * @param start Level of each attribute. `"*"` is the level of all attributes that are not named,
   *   0 without it; an attribute with fewer levels starts at its top.
   * @throws UsageError for a task without levels, an unknown attribute, or a missing level
   */
  constructor(readonly task: Task, start: Readonly<Record<string, number>> = {}) {
    const { "*": everywhere = 0, ...named } = start;
    this.#attributes = attributesOf(task);
    if (!Number.isSafeInteger(everywhere) || everywhere < 0) {
      throw new UsageError(`a difficulty level is an integer of at least 0, found ${everywhere}`);
    }
    for (const [name, level] of Object.entries(named)) this.#check(name, level);
    this.#levels = Object.fromEntries(
      this.#attributes.map((a) => [a.name, named[a.name] ?? Math.min(everywhere, top(a))]),
    );
  }

  /** The current level of each attribute. */
  get levels(): Readonly<Record<string, number>> {
    return { ...this.#levels };
  }

  /** The highest current level. */
  get highest(): number {
    return Math.max(...Object.values(this.#levels));
  }

  set(name: string, level: number): void {
    this.#check(name, level);
    this.#levels[name] = level;
  }

  /**
   * Raises every attribute to one above the highest current level, or to its top. Returns false
   * when nothing changes.
   */
  incrementGlobal(): boolean {
    const target = this.highest + 1;
    let moved = false;
    for (const attribute of this.#attributes) {
      const level = Math.min(target, top(attribute));
      if (level <= this.#levels[attribute.name]!) continue;
      this.#levels[attribute.name] = level;
      moved = true;
    }
    return moved;
  }

  /** Lowers the attributes at the highest current level by one. Returns false when all are at 0. */
  decrementGlobal(): boolean {
    const { highest } = this;
    if (highest === 0) return false;
    for (const { name } of this.#attributes) {
      if (this.#levels[name] === highest) this.#levels[name] = highest - 1;
    }
    return true;
  }

  /** Returns the parameters of the task at the current levels. */
  config(
    { mode = "inclusive", k = 2, base = {}, onClamp }: CurriculumOptions = {},
  ): Record<string, ParamValue> {
    const config = withDefaults(this.task.params, base);
    for (const attribute of this.#attributes) {
      const level = this.#levels[attribute.name]!;
      if (attribute.field !== undefined) config[attribute.field] = attribute.levels[level]!;
      else {
        const [low, high] = rangeLevels(attribute, level, mode, k);
        const ends = [attribute.levels[low] as number, attribute.levels[high] as number];
        config[attribute.lowerField!] = Math.min(...ends);
        config[attribute.upperField!] = Math.max(...ends);
      }
    }
    for (const note of clamp(this.task, config)) onClamp?.(note);
    return config;
  }

  #check(name: string, level: number): void {
    const names = this.#attributes.map((attribute) => attribute.name), task = this.task.name;
    const attribute = this.#attributes.find((candidate) => candidate.name === name);
    if (attribute === undefined) {
      throw new UsageError(
        `${name}: unknown curriculum attribute of task ${task}${didYouMean(name, names)} ` +
          `(its attributes: ${names.join(", ")})`,
      );
    }
    const last = attribute.levels.length - 1;
    if (!Number.isSafeInteger(level) || level < 0 || level > last) {
      throw new UsageError(
        `${name}: the levels of this attribute of task ${task} are 0 to ${last}, found ${level}`,
      );
    }
  }
}

function top({ levels }: CurriculumAttribute): number {
  return levels.length - 1;
}

function attributesOf(task: Task): readonly CurriculumAttribute[] {
  if (task.curriculum === undefined) {
    throw new UsageError(`task ${task.name} has no difficulty levels`, {
      advice: `set its parameters instead: rgx tasks show ${task.name}`,
    });
  }
  return task.curriculum;
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
