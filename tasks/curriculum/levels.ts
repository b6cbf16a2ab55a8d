/**
 * Holds the current level of each curriculum attribute of a task and changes it (reasoning-gym's
 * curriculum): all together, by the rule of the global level. `levels_to_params.ts` turns levels
 * into parameters.
 */
import { checkedAttributes, curriculumConfig, type CurriculumOptions } from "./levels_to_params.ts";
import type { ParamValue } from "../../core/named_params.ts";
import type { CurriculumAttribute, Task } from "../types.ts";

export class CurriculumLevels {
  readonly #attributes: readonly CurriculumAttribute[];
  readonly #levels: Record<string, number>;

  /**
   * @param start Level of each attribute. `"*"` is the level of all attributes that are not named;
   * an attribute with fewer levels starts at its top.
   */
  constructor(readonly task: Task, start: Readonly<Record<string, number>> = {}) {
    this.#attributes = checkedAttributes(task, start);
    const { "*": everywhere = 0, ...named } = start;
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
    checkedAttributes(this.task, { [name]: level });
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
  config(options: CurriculumOptions = {}): Record<string, ParamValue> {
    return curriculumConfig(this.task, this.#levels, options);
  }
}

function top({ levels }: CurriculumAttribute): number {
  return levels.length - 1;
}
