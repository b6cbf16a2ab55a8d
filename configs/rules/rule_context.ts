/**
 * What all rules about several keys need: the configuration, where its keys are written, and
 * whether they are valid.
 */
import {
  type ConfigNode,
  type MapNode,
  nodeAt,
  type Position,
  type Problems,
} from "../documents/node.ts";
import type { RunConfig } from "../schema/run_config.ts";
import { ROOTS } from "../schema/schema.ts";

export class RuleContext {
  constructor(
    readonly config: RunConfig,
    readonly tree: MapNode,
    readonly problems: Problems,
  ) {}

  protected node(path: string): ConfigNode | undefined {
    return nodeAt(this.tree, path);
  }

  /** The position of the first of these keys that is written, else of the file. */
  protected at(...paths: string[]): Position {
    for (const path of paths) {
      const node = this.node(path);
      if (node !== undefined) return node.at;
    }
    return this.tree.at;
  }

  protected valid(...paths: string[]): boolean {
    return !paths.some((path) => this.problems.has(path));
  }

  /** Reports a problem at the first of `paths` that is written, under the name of `paths[0]`. */
  protected fail(text: string, ...paths: [string, ...string[]]): void {
    this.problems.add(this.at(...paths), paths[0], text);
  }

  /**
   * Checks a rule, if every key that it reads has a valid value.
   * @param keys the key that is reported, others at which it may stand, and after `|` those that
   *   are only read; a bare name is one of section `training`, or a section
   * @param wrong what is wrong, if anything is
   */
  protected rule(keys: string, wrong: () => string | false | null | undefined): void {
    const at = this.#broken(keys, wrong);
    if (at !== null) this.fail(at.text, ...at.places);
  }

  /** Checks a rule in the same way. A broken rule is only noted. */
  protected noteRule(keys: string, wrong: () => string | false | null | undefined): void {
    const at = this.#broken(keys, wrong);
    if (at !== null) this.problems.note(this.at(...at.places), at.places[0], at.text);
  }

  #broken(keys: string, wrong: () => string | false | null | undefined) {
    const [places, read] = keys.split(" | ").map((names) => names.split(" ").map(fullName));
    if (!this.valid(...places!, ...read ?? [])) return null;
    const text = wrong();
    return text ? { text, places: places as [string, ...string[]] } : null;
  }

  /** Reports a missing key, unless some key was not understood: that one may be the missing key. */
  protected missing(key: string, text: string): void {
    if (!this.problems.incomplete) this.problems.add(this.tree.at, key, text);
  }
}

function fullName(name: string): string {
  return name.includes(".") || ROOTS.has(name) ? name : `training.${name}`;
}

/** The nearest valid values below and above `value`, among the 10,000 on each side. */
export function nearby(value: number, right: (value: number) => boolean): number[] {
  const found: number[] = [];
  for (const step of [-1, 1]) {
    for (let distance = 1; distance <= 10_000; distance++) {
      const other = value + step * distance;
      if (other < 1) break;
      if (!right(other)) continue;
      found.push(other);
      break;
    }
  }
  return found;
}
