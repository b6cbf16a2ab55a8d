/**
 * Rules about the sizes of the splits: `data.train_ratio`, `data.validation_examples` and
 * `data.test_examples`. They set `eval.num_examples`, where that is not written. The size of a file
 * is known when it is read; data/file_source.ts divides it.
 */
import { UsageError } from "../../core/errors.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { hasSplitSizes, splitCounts } from "../../data/split_sizes.ts";
import { RuleContext } from "./rule_context.ts";

/** So many problems of a file are all of them. */
const ALL = 1_000_000;

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
   * `eval.num_examples` where it is written and counts. A `test_examples` of another file counts
   * in place of it, but not in place of the command line.
   */
  #written(): number | null {
    const key = "eval.num_examples", node = this.node(key), test = this.node("data.test_examples");
    if (node === undefined) return null;
    const isOther = test !== undefined && this.config.data.test_examples !== null &&
      test.at.source !== node.at.source && !node.at.source.isLast;
    return isOther ? null : this.config.eval.num_examples;
  }

  /** Whether the two keys of the test say the same; none are asked with eval.num_examples 0. */
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

  /** How many problems the test has, where `train_ratio` leaves some for it. */
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
