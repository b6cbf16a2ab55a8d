/**
 * The present level of each of a task's curriculum attributes, and moving it (reasoning-gym's curriculum): single
 * attributes, or all together by the rule of the global level. What a level means for the task's parameters is
 * `curriculum.ts`.
 */
import { checkedAttributes, curriculumConfig, type CurriculumOptions } from "./config.ts";
import type { CurriculumAttribute, ParamValue, Task } from "../types.ts";

export class CurriculumLevels {
  readonly #attributes: readonly CurriculumAttribute[];
  readonly #levels: Record<string, number>;

  /**
   * @param start Level of each attribute; `"*"` is that of all that are not named (of each its top where it has fewer).
   */
  constructor(readonly task: Task, start: Readonly<Record<string, number>> = {}) {
    this.#attributes = checkedAttributes(task, start);
    const { "*": everywhere = 0, ...named } = start;
    this.#levels = Object.fromEntries(
      this.#attributes.map((a) => [a.name, named[a.name] ?? Math.min(everywhere, top(a))]),
    );
  }

  /** Levels by attribute. */
  get levels(): Readonly<Record<string, number>> {
    return { ...this.#levels };
  }

  /** The highest present level. */
  get highest(): number {
    return Math.max(...Object.values(this.#levels));
  }

  set(name: string, level: number): void {
    checkedAttributes(this.task, { [name]: level });
    this.#levels[name] = level;
  }

  /** One level up; false at the top. */
  increment(name: string): boolean {
    return this.#move(name, 1);
  }

  /** One level down; false at the bottom. */
  decrement(name: string): boolean {
    return this.#move(name, -1);
  }

  /** The same level for all attributes, or the top of those that have fewer. */
  setGlobal(level: number): void {
    checkedAttributes(this.task, { "*": level });
    for (const attribute of this.#attributes) {
      this.#levels[attribute.name] = Math.min(level, top(attribute));
    }
  }

  /** Every attribute goes to one above the highest present level, or to its top; false when nothing moves. */
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

  /** The attributes at the highest present level go down by one; false when all are at the bottom. */
  decrementGlobal(): boolean {
    const { highest } = this;
    if (highest === 0) return false;
    for (const { name } of this.#attributes) {
      if (this.#levels[name] === highest) this.#levels[name] = highest - 1;
    }
    return true;
  }

  /** The task's parameters at these levels. */
  config(options: CurriculumOptions = {}): Record<string, ParamValue> {
    return curriculumConfig(this.task, this.#levels, options);
  }

  #move(name: string, by: number): boolean {
    const attribute = this.#attributes.find((candidate) => candidate.name === name);
    if (attribute === undefined) checkedAttributes(this.task, { [name]: 0 });
    const level = this.#levels[name]! + by;
    if (level < 0 || level > top(attribute!)) return false;
    this.#levels[name] = level;
    return true;
  }
}

function top({ levels }: CurriculumAttribute): number {
  return levels.length - 1;
}
