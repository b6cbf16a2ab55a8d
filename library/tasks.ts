/**
 * Tasks make any number of problems and score answers. Several can be mixed.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { CompositeDataset, createDataset, getTask, scoreAnswer, taskNames } from "@rgx/rgx";
 * const dataset = createDataset("chain_sum", { size: 3, seed: 7, max_terms: 2 });
 * for (const entry of dataset) assert.equal(scoreAnswer(entry.answer, entry), 1);
 * assert.equal(dataset.entry(1000).metadata.source_index, 1000);
 * assert.equal(taskNames().includes("leg_counting"), true);
 * assert.equal(getTask("chain_sum").category, "arithmetic");
 *
 * const parts = [
 *   { name: "chain_sum", weight: 2, config: {} },
 *   { name: "leg_counting", weight: 1, config: {} },
 * ];
 * const options = { seed: 42, size: 500, split: "train", versions: true } as const;
 * assert.match(new CompositeDataset(parts, options).entry(0).question, /\?/);
 * ```
 *
 * A task of one's own. Types follow from its parameters:
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createDataset,
 *   defaultScore,
 *   defineTask,
 *   intParam,
 *   registerTask,
 *   unregisterTask,
 * } from "@rgx/rgx";
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
 *   score: defaultScore,
 * });
 * registerTask(doubling);
 * assert.match(createDataset("doubling", { seed: 1 }).entry(0).question, /^2 × [1-9] =$/);
 * unregisterTask(doubling); // only where another is to have its name: in tests, in a notebook
 * ```
 *
 * Other kinds of parameters, and an attribute by which a curriculum makes it harder:
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   boolParam,
 *   decimalScore,
 *   floatParam,
 *   intervals,
 *   levels,
 *   rangeAttribute,
 *   SPLIT_NUMBERS,
 *   textListParam,
 *   textParam,
 * } from "@rgx/rgx";
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
 * const entry = { question: "1 / 4 =", answer: "0.25", metadata: {} };
 * assert.equal(decimalScore("0.250", entry), 1);
 * assert.deepEqual(SPLIT_NUMBERS, { train: 0, validation: 1, test: 2 }); // for RandomStream
 * ```
 * @module
 */
export { createDataset, type Dataset, type DatasetOptions, scoreAnswer } from "../tasks/dataset.ts";
export { CompositeDataset } from "../tasks/composite_dataset.ts";
export type { CompositePart, CompositeParts } from "../tasks/categories/other/composite_parts.ts";
export { type RandomStream, SPLIT as SPLIT_NUMBERS, type Split } from "../core/philox.ts";
export { getTask, registerTask, taskNames, unregisterTask } from "../tasks/registry.ts";
export type { ParamSpec, ParamValue } from "../core/named_params.ts";
export type {
  CurriculumAttribute,
  Entry,
  Generated,
  OpenOptions,
  Preference,
  ScorableEntry,
  Task,
} from "../tasks/types.ts";
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
