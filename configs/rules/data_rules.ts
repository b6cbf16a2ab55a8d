/**
 * Rules about the source of the problems (one task, several tasks, or a file) and about the
 * curriculum of the tasks. Two of them fill in keys: the parts of the task "composite" may be
 * written as its parameter, and a curriculum without tasks names the tasks.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { PUBLISHED_SETS, publishedPlace } from "../../hub/set_addresses.ts";
import { getTask, taskNames, validateTaskConfig } from "../../tasks/registry.ts";
import { didYouMean } from "../../core/suggest.ts";
import type { Task } from "../../tasks/types.ts";
import { type ConfigNode, nodeAt } from "../documents/node.ts";
import { reportField } from "../schema/reward_list.ts";
import { RuleContext } from "./rule_context.ts";
import type { CurriculumSection } from "../schema/run_config.ts";
import { TASKS, type TaskSection } from "../schema/task_types.ts";
import { hasSplitSizes, splitCounts } from "../../data/split_sizes.ts";

const OWN_SPLITS = "a split of a file, and a task makes its own";

export class DataRules extends RuleContext {
  check(): void {
    const { developer_role: role, system_prompt: prompt } = this.config.data;
    this.rule(
      "data.developer_role | data.system_prompt",
      () =>
        role !== "system" && prompt === null &&
        "the role of the system prompt, and there is none: data.system_prompt",
    );
    const keys = ["task_name", "dataset_name", "task_config", "tasks"].map((key) => `data.${key}`);
    if (!this.valid(...keys, "curriculum")) return;
    this.#complete();
    if (!this.valid(...keys)) return;
    const { task_name: task, tasks, dataset_name: file, max_examples } = this.config.data;
    const { dataset_prompt_column: column, eval_dataset_name: held } = this.config.data;
    const isPublished = task !== null && publishedPlace(task) !== null;
    if (((task !== null && !isPublished) || tasks !== null) && file !== null) {
      const text = "the problems come either from a task (task_name) or from a file " +
        "(dataset_name), not both: data.task_name=null takes the task away";
      return this.fail(text, "data.dataset_name");
    }
    if (file !== null || (isPublished && tasks === null)) return this.#file();
    if (tasks !== null) this.#mixture(tasks, task);
    else if (task !== null) this.#single(task);
    else if (this.config.environment !== null) {
      // It makes the problems itself.
      return this.rule(
        "data.num_examples",
        () => this.config.data.num_examples === null && "expected a number of starts, found null",
      );
    } else {
      const text = "missing: name a task, or a file with data.dataset_name";
      return this.missing("data.task_name", text);
    }
    const { num_examples, dataset_train_split, dataset_test_split } = this.config.data;
    const wrong: Readonly<Record<string, readonly [isWrong: boolean, text: string]>> = {
      num_examples: [
        num_examples === null,
        "a task makes as many problems as it is asked for: expected a number, found null",
      ],
      max_examples: [
        max_examples !== null,
        "takes the first rows of a file; a task makes data.num_examples problems",
      ],
      dataset_train_split: [dataset_train_split !== "train", OWN_SPLITS],
      dataset_test_split: [dataset_test_split !== "test", OWN_SPLITS],
      eval_dataset_name: [held !== null, "is held out of a file, and a task makes its own"],
      dataset_prompt_column: [column !== null, "names a column of a file, and a task has none"],
    };
    for (const [name, [isWrong, text]] of Object.entries(wrong)) {
      this.rule(`data.${name}`, () => isWrong && text);
    }
    if (this.config.curriculum !== null) this.#curriculum(this.config.curriculum);
  }

  /** Fills in the tasks that other keys name. */
  #complete(): void {
    const { data, curriculum } = this.config;
    const parts = this.node("data.task_config.datasets");
    if (data.task_name === "composite" && data.tasks === null && parts !== undefined) {
      const tasks = TASKS.read(parts, (at, text, sub = "") => {
        this.problems.add(at, `data.task_config.datasets${sub}`, text);
      });
      const { datasets: _parts, ...rest } = data.task_config;
      data.task_config = rest;
      if (tasks !== undefined) data.tasks = tasks;
      else this.problems.incomplete = true;
    }
    const named = Object.entries(curriculum?.curricula ?? {});
    const nothing = data.task_name === null && data.tasks === null && data.dataset_name === null;
    if (!nothing || named.length === 0) return;
    data.tasks = named.map(([task_name, { weight }]) => ({ task_name, weight, config: {} }));
  }

  #file(): void {
    const { data } = this.config;
    if (Object.keys(data.task_config).length > 0) {
      const text = "parameters of a task, without effect on problems from a file";
      this.problems.note(this.at("data.task_config"), "data.task_config", text);
      data.task_config = {};
    }
    if (this.config.curriculum === null) return;
    this.fail("the problems of a file have no levels", "curriculum");
  }

  #single(name: string): void {
    if (name === "composite") {
      const text = "a composite needs its tasks: data.tasks, a list of {task_name, weight, config}";
      return this.missing("data.tasks", text);
    }
    const { task_config: params } = this.config.data;
    const map = this.node("data.task_config") ?? this.tree;
    for (const [field, key] of [["seed", "data.seed"], ["size", "data.num_examples"]] as const) {
      if (!Object.hasOwn(params, field)) continue;
      const at = map.kind === "map" ? map.entries.get(field)!.keyAt : map.at;
      this.problems.add(at, `data.task_config.${field}`, `write it as ${key}`);
    }
    this.#task(name, params, "data.task_name", map, "data.task_config");
  }

  #mixture(tasks: readonly TaskSection[], name: string | null): void {
    if (name !== null && name !== "composite") {
      const text = `${name} beside data.tasks: write task_name: composite, or take data.tasks away`;
      this.fail(text, "data.task_name");
    }
    if (Object.keys(this.config.data.task_config).length > 0) {
      const text = "several tasks have their parameters in data.tasks: {task_name, weight, config}";
      this.fail(text, "data.task_config");
    }
    for (const [i, { task_name, config }] of tasks.entries()) {
      const node = this.#part(task_name, i), key = `data.tasks.${i}`;
      const map = ["config", "task_config", "params"]
        .map((field) => node && nodeAt(node, [field])).find((found) => found !== undefined);
      this.#task(task_name, config, key, map ?? node ?? this.tree, `${key}.config`);
    }
  }

  /** The node of one task of the mixture. */
  #part(name: string, index: number): ConfigNode | undefined {
    const list = this.node("data.tasks") ?? this.node("data.task_config.datasets");
    if (list?.kind === "list") return list.items[index];
    return list?.kind === "map" ? list.entries.get(name)?.node : list;
  }

  /** Checks the name of a task and its parameters. */
  #task(
    name: string,
    params: Readonly<Record<string, unknown>>,
    key: string,
    map: ConfigNode,
    mapKey: string,
  ): void {
    const task = this.#find(name, key, map);
    if (task === null) return;
    if (task.open !== undefined) {
      return this.problems.add(map.at, key, `${name} is made of tasks and can not be a part`);
    }
    const taskParams = Object.entries(params).filter(([field]) =>
      field !== "seed" && field !== "size"
    );
    const messages = validateTaskConfig(name, Object.fromEntries(taskParams));
    const unknownAt = messages.findLastIndex((message) =>
      message.includes(": unknown field of") && !message.includes("did you mean")
    );
    for (const [i, message] of messages.entries()) {
      const hint = i === unknownAt ? this.#otherTaskHint(key, map) : "";
      reportField(message + hint, map, mapKey, this.problems);
    }
  }

  /**
   * A hint for parameters that may belong to another task: the task is named in one place, for
   * example on the command line, and the parameters are written in another.
   */
  #otherTaskHint(key: string, map: ConfigNode): string {
    const named = this.at(key).source;
    if (key !== "data.task_name" || named.name === map.at.source.name) return "";
    const how = named?.isLast ? "~data.task_config" : "task_config: {_delete_: true}";
    return `; ${how} takes away what was written for another task`;
  }

  #find(name: string, key: string, node: ConfigNode): Task | null {
    try {
      return getTask(name);
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      const isAlone = key === "data.task_name", at = isAlone ? this.at(key) : node.at;
      // The name of a published data set may stand in place of a task, but not among several tasks.
      const hint = isAlone
        ? didYouMean(name, [...taskNames(), ...Object.keys(PUBLISHED_SETS)])
        : "";
      this.problems.add(at, key, hint === "" ? error.message : `unknown task "${name}"${hint}`);
      return null;
    }
  }

  #curriculum(curriculum: CurriculumSection): void {
    const { success_threshold: high, failure_threshold: low, curricula } = curriculum;
    if (low > high) {
      const text = `${low} is above success_threshold ${high}: levels would go up and down at once`;
      this.fail(text, "curriculum.failure_threshold", "curriculum.success_threshold", "curriculum");
    }
    const { tasks, task_name, task_config } = this.config.data;
    const run = new Map(
      (tasks ?? [{ task_name: task_name!, config: task_config }]).map((
        t,
      ) => [t.task_name, t.config]),
    );
    for (const [name, { attribute_levels }] of Object.entries(curricula)) {
      const key = `curriculum.curricula.${name}`, task = this.#find(name, key, this.tree);
      if (task === null) continue;
      if (!run.has(name)) {
        const near = didYouMean(name, run.keys());
        const text = `not a task of this run${near} (its tasks: ${[...run.keys()].join(", ")})`;
        this.fail(text, key);
      } else this.#levels(task, attribute_levels, key);
    }
    const begun = Object.keys(curricula).length > 0 ? Object.keys(curricula) : [...run.keys()];
    const tasksWithLevels = begun.filter((name) => this.#levelled(name));
    if (tasksWithLevels.length === 0 && Object.keys(curricula).length === 0) {
      const known = begun.filter((name) => taskNames().includes(name));
      if (known.length > 0) {
        this.fail(`none of the run's tasks has levels: ${known.join(", ")}`, "curriculum");
      }
    }
    for (const name of tasksWithLevels) this.#hiddenFields(name, run.get(name) ?? {});
  }

  #levels(task: Task, levels: Readonly<Record<string, number>>, key: string): void {
    if (task.curriculum === undefined) {
      return this.fail(`${task.name} has no difficulty levels`, key);
    }
    const names = task.curriculum.map(({ name }) => name);
    for (const [name, level] of Object.entries(levels)) {
      const path = `${key}.attribute_levels.${name}`;
      const attribute = task.curriculum.find((candidate) => candidate.name === name);
      if (name === "*") continue;
      if (attribute === undefined) {
        const text = `no attribute of ${task.name}${didYouMean(name, names)} ` +
          `(its attributes: ${names.join(", ")})`;
        this.fail(text, path);
      } else if (level >= attribute.levels.length) {
        this.fail(`expected a level of 0 to ${attribute.levels.length - 1}, found ${level}`, path);
      }
    }
  }

  /** Notes the written parameters that the levels of the curriculum replace. */
  #hiddenFields(name: string, config: Readonly<Record<string, unknown>>): void {
    for (const { name: attribute, ...fields } of getTask(name).curriculum ?? []) {
      for (const field of [fields.field, fields.lowerField, fields.upperField]) {
        if (field === undefined || !Object.hasOwn(config, field)) continue;
        const text = `the curriculum sets ${field} of ${name} (attribute ${attribute}); ` +
          "the written value has no effect";
        this.problems.note(this.at("data.tasks", "data.task_config"), "curriculum", text);
      }
    }
  }

  #levelled(name: string): boolean {
    try {
      return getTask(name).curriculum !== undefined;
    } catch {
      return false; // reported where the task is named
    }
  }
}

/** No file has more problems than this number, so it stands for all of them. */
const ALL = 1_000_000;

/**
 * Rules about the sizes of the splits: `data.train_ratio`, `data.validation_examples` and
 * `data.test_examples`. They set `eval.num_examples`, where that is not written. The size of a file
 * is known when it is read; data/file_source.ts divides it.
 */
export class SplitRules extends RuleContext {
  check(): void {
    const keys = ["data.train_ratio", "data.validation_examples", "data.test_examples"] as const;
    if (!this.valid("data", "eval", ...keys, "eval.num_examples", "data.num_examples")) return;
    const { data, training, eval: evaluation } = this.config;
    if (!hasSplitSizes(data)) return;
    const { train_ratio: ratio, validation_examples } = data;
    if (!this.#isOneSize()) return;
    const test = ratio === null ? data.test_examples : this.#test(ratio);
    if (this.#written() === null && test !== null) evaluation.num_examples = test;
    const isAsked = training.eval_strategy !== "no" || training.eval_on_start;
    if (validation_examples !== null && !isAsked && this.valid("training.eval_strategy")) {
      const text = "they are asked while training, which needs eval_strategy: steps or epoch";
      this.problems.note(this.at(keys[1]), keys[1], text);
    }
  }

  /**
   * `eval.num_examples` if it is written and counts. If `test_examples` is in another file,
   * `test_examples` counts in its place; but a value from the command line always counts.
   */
  #written(): number | null {
    const key = "eval.num_examples", node = this.node(key), test = this.node("data.test_examples");
    if (node === undefined) return null;
    const isOther = test !== undefined && this.config.data.test_examples !== null &&
      test.at.source !== node.at.source && !node.at.source.isLast;
    return isOther ? null : this.config.eval.num_examples;
  }

  /** Whether both keys give the same number. With eval.num_examples 0 no problem is asked. */
  #isOneSize(): boolean {
    const key = "data.test_examples", { data } = this.config, counted = this.#written();
    if (data.test_examples === null || counted === null || counted === 0) return true;
    if (counted === data.test_examples) return true;
    if (this.at(key).source !== this.at("eval.num_examples").source) {
      data.test_examples = counted;
      return true;
    }
    const text = `eval.num_examples is ${counted}: both say how many problems are asked before ` +
      "and after training, so give one of them";
    this.fail(`${data.test_examples}, and ${text}`, key);
    return false;
  }

  /** The number of test problems, if `train_ratio` leaves some for the test. */
  #test(ratio: number): number | null {
    const { data } = this.config, { task_name: task, tasks } = data;
    const isTask = tasks !== null || (task !== null && publishedPlace(task) === null);
    if (!isTask || data.num_examples === null) return data.test_examples ?? ALL;
    try {
      const name = task ?? "data.tasks";
      return splitCounts(data.num_examples, data, { name, test: 0 }).test;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.fail(`${ratio}: ${error.message}`, "data.train_ratio");
      return null;
    }
  }
}
