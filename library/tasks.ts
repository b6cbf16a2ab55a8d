/**
 * Tasks make any number of problems and score answers. Several can be mixed.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { CompositeDataset, createDataset, getTask, scoreAnswer, taskNames } from "@rgx/rgx";
 * const dataset = createDataset("chain_sum", { size: 3, seed: 7, max_terms: 2 });
 * for (const entry of dataset) assert.equal(scoreAnswer(entry.answer, entry), 1);
 * assert.equal(getTask(taskNames()[0]!).name, taskNames()[0]);
 * const parts = [{ name: "chain_sum", weight: 2, config: {} }];
 * const options = { seed: 42, size: 500, split: "train", versions: true } as const;
 * assert.match(new CompositeDataset(parts, options).entry(0).question, /\?/);
 * ```
 *
 * A task of one's own. Types follow from its parameters; a curriculum makes it harder:
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, decimalScore, defaultScore, defineTask } from "@rgx/rgx";
 * import { boolParam, floatParam, intParam, textListParam, textParam } from "@rgx/rgx";
 * import { intervals, levels, rangeAttribute, registerTask, unregisterTask } from "@rgx/rgx";
 * const doubling = defineTask({
 *   name: "doubling",
 *   category: "custom",
 *   description: "Double a number.",
 *   scoring: "1 for the right number, else 0",
 *   params: { max: intParam(9, "largest number", { min: 1 }) },
 *   generate(random, { max }) {
 *     const x = random.int(1, max);
 *     return { question: `2 × ${x} =`, answer: `${2 * x}`, metadata: { x }, difficulty: { max } };
 *   },
 *   score: defaultScore, // or decimalScore, for which 0.250 is 0.25
 * });
 * registerTask(doubling);
 * assert.match(createDataset("doubling", { seed: 1 }).entry(0).question, /^2 × [1-9] =$/);
 * unregisterTask(doubling); // only where another is to have its name: in tests, in a notebook
 *
 * // Other kinds of parameters, and attributes of a curriculum.
 * const params = {
 *   share: floatParam(0.5, "share of negative numbers", { min: 0, max: 1 }),
 *   signed: boolParam(true, "whether numbers may be negative"),
 *   style: textParam("plain", "how it is written", ["plain", "latex"]),
 *   operators: textListParam(["+", "-"], "operators that may occur"),
 * };
 * assert.equal(params.operators.default.length, 2);
 * const curriculum = {
 *   share: levels([0, 0.1, 0.5], "share of negative numbers"), // of the parameter `share`
 *   digits: intervals([2, 4, 8], "digits of the number"), // of `min_digits` and `max_digits`
 * };
 * assert.deepEqual(curriculum.digits.levels, [2, 4, 8]);
 * // The same as an element of a list:
 * const digits = rangeAttribute("digits", ["min_digits", "max_digits"], [2, 4, 8], "digits");
 * assert.equal(digits.lowerField, "min_digits");
 * assert.equal(decimalScore("0.250", { question: "1 / 4 =", answer: "0.25", metadata: {} }), 1);
 * ```
 * @module
 */
export { createDataset, type Dataset, type DatasetOptions, scoreAnswer } from "../tasks/dataset.ts";
export { CompositeDataset } from "../tasks/composite_dataset.ts";
export type { CompositePart, CompositeParts } from "../tasks/categories/other/composite_parts.ts";
export { type RandomStream, SPLIT as SPLIT_NUMBERS, type Split } from "../core/philox.ts";
export { getTask, registerTask, taskNames, unregisterTask } from "../tasks/registry.ts";
export type { ParamSpec, ParamValue } from "../core/named_params.ts";
export type * from "../tasks/types.ts";
export type { ChatMessage, ToolCall } from "../core/chat_message.ts";
export {
  bool as boolParam,
  defineTask,
  float as floatParam,
  int as intParam,
  intervals,
  levels,
  rangeAttribute,
  text as textParam,
  texts as textListParam,
} from "../tasks/define.ts";
export type {
  Bounds,
  ConfigOf,
  Levels,
  Param,
  Range,
  RangeLevels,
  Rules,
  TaskDeclaration,
} from "../tasks/define.ts";
export { decimalScore, defaultScore } from "../tasks/scoring_rules.ts";
