/**
 * Prompts for questions, and scores of completions, as in training.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { extractAnswer, formatQuestion, renderPrompt, scoreCompletion } from "@rgx/rgx";
 * const question = "1 + 1 =", addInstructions = false;
 * assert.match(formatQuestion(question, { addInstructions: true }), /<answer>.*1 \+ 1 =$/s);
 * const prompt = renderPrompt({ question, systemPrompt: "Count.", addInstructions });
 * assert.equal(prompt, "Count.\n\n1 + 1 =");
 * assert.equal(extractAnswer("It is <answer> 2 </answer>"), "2");
 * const entry = { question, answer: "2", metadata: { source_dataset: "file" } };
 * assert.equal(scoreCompletion("It is <answer>2</answer>", entry).score, 1);
 * ```
 * @module
 */
export { extractAnswer } from "../data/extract.ts";
export {
  type ChatTemplate,
  formatQuestion,
  type PromptOptions,
  renderPrompt,
  UNIVERSAL_INSTRUCTION,
} from "../data/prompt.ts";
export type { PromptRole } from "../data/prompt_roles.ts";
export { scoreCompletion, type ScoredCompletion } from "../data/score_completion.ts";
