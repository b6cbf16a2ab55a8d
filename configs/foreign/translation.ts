/**
 * The tree of a configuration while foreign keys are translated into rgx's keys. It reads any key,
 * and sets only keys that the configuration does not set itself.
 */
import {
  type ConfigNode,
  describeNode,
  formatPosition,
  fromJson,
  isNull,
  type Json,
  type MapNode,
  nearness,
  nodeAt,
  type Problems,
  toJson,
  withEntry,
  withNode,
  without,
} from "../documents/node.ts";
import type { Section } from "../types/key_spec.ts";
import { fits, type Rule } from "./table.ts";

/** What is said of keys without effect, and of keys that rgx does not obey. */
export const NO_EFFECT = "accepted, has no effect in rgx";
export const NOT_YET = "not supported yet by this version";

export class Translation {
  /**
   * @param keys the keys that are translated
   * @param rules the keys of rgx that a value sets, if the value alone decides
   */
  constructor(
    public tree: MapNode,
    readonly problems: Problems,
    readonly keys: Section["keys"],
    readonly rules: ReadonlyMap<string, readonly Rule[]>,
  ) {}

  node(path: string): ConfigNode | undefined {
    return nodeAt(this.tree, path);
  }

  /** The node of a key that has a value: undefined also for null. */
  given(path: string): ConfigNode | undefined {
    const node = this.node(path);
    return node === undefined || isNull(node) ? undefined : node;
  }

  /** The number of a key, and where it is written. */
  number(path: string): { value: number; node: ConfigNode } | null {
    const node = this.node(path);
    if (node?.kind !== "scalar" || typeof node.value !== "number") return null;
    return { value: node.value, node };
  }

  /** The number of a key. @param otherwise where none is written; NaN is less than no number */
  count(path: string, otherwise = NaN): number {
    return this.number(path)?.value ?? otherwise;
  }

  isTrue(path: string): boolean {
    const node = this.node(path);
    return node?.kind === "scalar" && node.value === true;
  }

  text(path: string): string | null {
    const node = this.node(path);
    return node?.kind === "scalar" && typeof node.value === "string" ? node.value : null;
  }

  /** Where the problems come from: the first of these keys that is written. */
  problemKey(): string | undefined {
    return ["data.tasks", "data.task_name", "data.dataset_name"].find((path) => this.given(path));
  }

  /**
   * Sets a key of rgx to the value that `from` asks for. If the key itself is written too, the
   * later source of the two wins; in one file they contradict each other.
   */
  set(path: string, value: Json, from: ConfigNode): void {
    const there = this.given(path);
    const order = there === undefined ? 1 : nearness(from, there);
    if (there === undefined || order > 0) return this.#put(path, value, from);
    if (JSON.stringify(toJson(there)) === JSON.stringify(value)) return;
    const key = from.foreign ?? path, other = there.foreign ?? path;
    if (order < 0 || from.at.source.isLast) {
      return this.problems.note(from.at, key, `${other} is written too, and wins`);
    }
    const where = formatPosition(there.at);
    this.problems.add(from.at, key, `${other} at ${where} says something else: give one of them`);
  }

  /** Sets a key of rgx that is not written, or only in a source that `from` overrides. */
  prefer(path: string, value: Json, from: ConfigNode): void {
    const there = this.given(path);
    if (there === undefined || nearness(from, there) > 0) this.#put(path, value, from);
  }

  /** Sets a key of rgx that is not written to the other project's value for `from`. */
  fill(path: string, value: Json, from: ConfigNode): void {
    if (this.given(path) === undefined) this.#put(path, value, from);
  }

  /** Sets a key of rgx, with a note where it is written too, unless a later source has it. */
  override(path: string, value: Json, from: ConfigNode): void {
    const there = this.node(path);
    if (there !== undefined && nearness(there, from) > 0) return;
    if (there !== undefined) this.note(from, `overrides ${path}`);
    this.#put(path, value, from);
  }

  /** Removes a key, as if it were not written. */
  drop(path: string): void {
    if (this.node(path) !== undefined) this.tree = without(this.tree, path.split("."));
  }

  /** Adds a problem at a key of another project. @param key of a node that is not such a key */
  refuse(at: ConfigNode, text: string, key = ""): void {
    this.problems.add(at.at, at.foreign ?? key, text);
  }

  /** Adds a note at a key of another project. */
  note(at: ConfigNode, text: string, key = ""): void {
    this.problems.note(at.at, at.foreign ?? key, text);
  }

  /** Sets two keys to the two numbers of a list. */
  setPair(list: ConfigNode, first: string, second: string): void {
    const [one, other, ...more] = [toJson(list)].flat();
    if (one === undefined || other === undefined || more.length > 0) {
      return this.refuse(list, `expected two numbers, found ${describeNode(list)}`, first);
    }
    this.set(first, one, list);
    this.set(second, other, list);
  }

  /**
   * Adds DAPO's punishment of long completions to the list of rewards. If there is no list, another
   * rule reports that.
   * @param cache its soft_punish_cache
   * @param weight the key of its weight
   * @param longest the key of the longest completion, where the project has one
   */
  addOverlong(cache: number, weight: string, from: ConfigNode, longest = ""): void {
    const rewards = this.given("rewards");
    if (rewards === undefined) return;
    const most = this.number(longest) ?? this.number("training.max_completion_length");
    const reward = {
      name: "soft_overlong",
      weight: this.count(weight, 1),
      ...most !== null && { max_completion_len: most.value },
      soft_punish_cache: cache,
    };
    const items = rewards.kind === "list" ? rewards.items : [rewards];
    const list = [...items, fromJson(reward, from.at)];
    this.tree = withEntry(this.tree, "rewards", { kind: "list", items: list, at: rewards.at });
  }

  /**
   * Applies the rules of the tables to keys whose values have the right types. The defaults of the
   * other projects come last, after everything that is written.
   */
  applyRules(): void {
    for (const isDefault of [false, true]) {
      for (const [key, rules] of this.rules) {
        const isOver = rules[0]!.action === "override";
        const node = isOver ? this.node(key) : this.given(key);
        const read = node && this.keys[key]!.type.read(node, () => {});
        if (node === undefined || read === undefined) continue;
        const value = read === node ? toJson(node) : read as Json;
        for (const rule of rules) {
          const applies = (rule.action === "fill") === isDefault && rule.when(value) &&
            rule.only.every((condition) => this.#holds(condition));
          if (applies) this.#apply(rule, key, value, node);
        }
      }
    }
  }

  #apply(
    { action, paths, value: fixed }: Rule,
    key: string,
    written: Json,
    node: ConfigNode,
  ): void {
    const [path, second] = paths as [string, string?];
    if (action === "note" || action === "refuse") {
      const valueOf = (_: string, name: string) => String(this.#valueAt(name));
      return this[action](node, path.replace(/\{([\w.]+)\}/g, valueOf), key);
    }
    if (second !== undefined) this.setPair(node, path, second);
    else this[action](path, fixed ?? written, node);
  }

  #valueAt(path: string): Json {
    const node = this.given(path);
    return node === undefined ? null : toJson(node);
  }

  /** Whether a condition holds: `key` (it is on), `!key` (it is off), `key=value` or `key>0`. */
  #holds(condition: string): boolean {
    const [, not, key, wanted] = /^(!?)([\w.]+)=?(.*)$/.exec(condition)!;
    const value = this.#valueAt(key!);
    const isSo = wanted === "" ? Boolean(value) : fits(value, wanted!);
    return not === "" ? isSo : !isSo;
  }

  #put(path: string, value: Json, from: ConfigNode): void {
    const map = this.node(path.split(".")[0]!);
    if (map !== undefined && map.kind !== "map" && !isNull(map)) return;
    const made = fromJson(value, from.at), { foreign } = from;
    this.tree = withNode(this.tree, path, foreign === undefined ? made : { ...made, foreign });
  }
}
