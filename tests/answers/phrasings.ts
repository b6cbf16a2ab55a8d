/**
 * For tests only: the ways in which a completion states its answer. `latex`: the answer stands as a
 * formula after the word "answer" or in a box, so that accuracy_reward reads it too.
 */

export interface Phrasing {
  latex: boolean;
  text(answer: string): string;
}

const latex = (text: (answer: string) => string): Phrasing => ({ latex: true, text });
const plain = (text: (answer: string) => string): Phrasing => ({ latex: false, text });

export const PHRASINGS: readonly Phrasing[] = [
  latex((a) => `So we get $\\boxed{${a}}$.`),
  latex((a) => `\\[\\boxed{${a}}\\]`),
  latex((a) => `First $\\boxed{17}$, which is wrong. In fact it is \\boxed{ ${a} }`),
  latex((a) => `The answer is $${a}$.`),
  latex((a) => `The final answer is: $${a}$. I hope it is correct.`),
  latex((a) => `Therefore, the answer is \\(${a}\\).`),
  latex((a) => `The final answer is\n\\[\n${a}\n\\]`),
  latex((a) => `The answer is $$${a}$$`),
  latex((a) => `**Final Answer:** $${a}$`),
  latex((a) => `**Final Answer**: \\(${a}\\)\n`),
  latex((a) => `Answer: $${a}$`),
  latex((a) => `**Answer:** $${a}$.`),
  latex((a) => `### Final Answer\n\n$$${a}$$`),
  plain((a) => `<answer>${a}</answer>`),
  plain((a) => `<answer>\n$${a}$\n</answer>`),
  plain((a) => `<think>Is it 17?</think>\n<answer> \\(${a}\\). </answer>`),
  plain((a) => `<answer>\\boxed{${a}}</answer>`),
  plain((a) => `<answer>The answer is ${a}</answer>`),
  plain((a) => `<answer>The answer is $${a}$.</answer>`),
  plain((a) => `<answer>Answer: ${a}</answer>`),
  plain((a) => `<SOLUTION>${a}</SOLUTION>`),
  plain((a) => `We add them.\n#### ${a}`),
  plain((a) => `The answer is ${a}.`),
  plain((a) => `So the final answer is ${a}`),
  plain((a) => `Answer: ${a}`),
  plain((a) => `**Answer:** ${a}\n\nThat was easy.`),
  plain((a) => `The answer is **${a}**.`),
  plain((a) => `The answer to the question is ${a}. It took 17 steps.`),
  plain((a) => `Final Answer:\n${a}`),
];
