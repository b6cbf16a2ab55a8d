/**
 * The gold answers of MATH-500 as answers: in many phrasings against every other gold, and two of
 * them as one answer, which is right for neither.
 *
 *     deno run -A tests/answers/published.ts [STEP]
 */
import { readDataset } from "../../data/dataset_entries.ts";
import { goldenPath } from "../golden.ts";
import { isRightIn } from "./corpus.ts";

type Phrasing = (answer: string) => string;

/** The answer stands as a formula after the word "answer" or in a box: accuracy_reward reads it. */
const FORMULAS: readonly Phrasing[] = [
  (a) => `So we get $\\boxed{${a}}$.`,
  (a) => `\\[\\boxed{${a}}\\]`,
  (a) => `First $\\boxed{17}$, which is wrong. In fact it is \\boxed{ ${a} }`,
  (a) => `The answer is $${a}$.`,
  (a) => `The final answer is: $${a}$. I hope it is correct.`,
  (a) => `Therefore, the answer is \\(${a}\\).`,
  (a) => `The final answer is\n\\[\n${a}\n\\]`,
  (a) => `The answer is $$${a}$$`,
  (a) => `**Final Answer:** $${a}$`,
  (a) => `**Final Answer**: \\(${a}\\)\n`,
  (a) => `Answer: $${a}$`,
  (a) => `**Answer:** $${a}$.`,
  (a) => `### Final Answer\n\n$$${a}$$`,
];
/** For the scores of data sets alone. */
const OTHERS: readonly Phrasing[] = [
  (a) => `<answer>${a}</answer>`,
  (a) => `<answer>\n$${a}$\n</answer>`,
  (a) => `<think>Is it 17?</think>\n<answer> \\(${a}\\). </answer>`,
  (a) => `<answer>\\boxed{${a}}</answer>`,
  (a) => `<answer>The answer is ${a}</answer>`,
  (a) => `<answer>The answer is $${a}$.</answer>`,
  (a) => `<answer>Answer: ${a}</answer>`,
  (a) => `<SOLUTION>${a}</SOLUTION>`,
  (a) => `We add them.\n#### ${a}`,
  (a) => `The answer is ${a}.`,
  (a) => `So the final answer is ${a}`,
  (a) => `Answer: ${a}`,
  (a) => `**Answer:** ${a}\n\nThat was easy.`,
  (a) => `The answer is **${a}**.`,
  (a) => `The answer to the question is ${a}. It took 17 steps.`,
  (a) => `Final Answer:\n${a}`,
];

/** Golds that mean the same, each group once. */
const SAME_GOLDS: readonly (readonly string[])[] = [
  ["10,\\!080", "10080"],
  ["15", "15\\mbox{ cm}^2"],
  ["2 \\sqrt{5}", "2\\sqrt{5}"],
  ["36", "\\$36"],
  ["5", "x=5"],
  ["\\frac14", "\\frac{1}{4}"],
  ["(-2,1)", "-2,1"],
  ["-2,1", "1,-2"],
];
/** An answer may leave out what the question names: the base, the degrees. It may not add them. */
const SHORTER: readonly (readonly [answer: string, gold: string])[] = [
  ["40", "40_9"],
  ["30", "30^\\circ"],
  ["36", "36^\\circ"],
  ["90", "90^\\circ"],
  ["120", "120^\\circ"],
];

/** What some judgements found. */
export interface Judged {
  count: number;
  /** Right answers that are refused. */
  wrong: string[];
  /** Wrong ones that are accepted. */
  falselyRight: string[];
}

function publishedGolds(): string[] {
  const rows = readDataset("math500", goldenPath("data/math500/test.jsonl"));
  return [...new Set(rows.map(({ answer }) => answer!))];
}

const meanTheSame = (a: string, b: string) =>
  a === b || SAME_GOLDS.some((group) => group.includes(a) && group.includes(b));

/** Every gold in every phrasing. @param step compare with every step-th of the other golds */
export function judgeAll(step = 1): Judged {
  const golds = publishedGolds(), judged: Judged = { count: 0, wrong: [], falselyRight: [] };
  for (const [index, answer] of golds.entries()) {
    for (const [nth, phrasing] of [...FORMULAS, ...OTHERS].entries()) {
      const completion = phrasing(answer);
      for (const [other, gold] of golds.entries()) {
        if (other !== index && (other + index + nth) % step !== 0) continue;
        const same = meanTheSame(gold, answer) ||
          SHORTER.some(([short, full]) => answer === short && gold === full);
        const values = [isRightIn.math500(completion, gold)];
        if (nth < FORMULAS.length) values.push(isRightIn.accuracy_reward(completion, gold)!);
        judged.count += values.length;
        const text = `${JSON.stringify(completion)} for ${gold}`;
        if (same && values.includes(false)) judged.wrong.push(text);
        if (!same && values.includes(true)) judged.falselyRight.push(text);
      }
    }
  }
  return judged;
}

type Hedge = (a: string, b: string) => string;
const HEDGES: readonly Hedge[] = [
  (a, b) => `\\boxed{${a} \\text{ or } ${b}}`,
  (a, b) => `\\boxed{${a}, ${b}}`,
  (a, b) => `\\boxed{${a}; ${b}}`,
  (a, b) => `\\boxed{${a} \\text{ and } ${b}}`,
  (a, b) => `\\boxed{\\text{either } ${a} \\text{ or } ${b}}`,
  (a, b) => `\\boxed{${a} \\text{ (or } ${b} \\text{)}}`,
  (a, b) => `\\boxed{${a} \\approx ${b}}`,
  (a, b) => `\\boxed{${a} = ${b}}`,
  (a, b) => `\\boxed{${a} \\vee ${b}}`,
  (a, b) => `\\boxed{\\{${a}, ${b}\\}}`,
  (a, b) => `$\\boxed{${a}}$ or $\\boxed{${b}}$`,
  (a, b) => `The answer is $${a}$ or $${b}$.`,
  (a, b) => `The answer is ${a} or ${b}.`,
  (a, b) => `The answer is ${a}, but it may be ${b}.`,
  (a, b) => `The answer is $${a}$, $${b}$.`,
  (a, b) => `<answer>${a} or ${b}</answer>`,
  (a, b) => `<answer>${a}, ${b}</answer>`,
  (a, b) => `<answer>$${a}$ or $${b}$</answer>`,
  (a, b) => `<answer>The answer is ${a} or ${b}.</answer>`,
  (a, b) => `#### ${a} or ${b}`,
];

/** Without a word between them, some golds are a product or a difference: 0 -3, 1 (a+5)(b+2). */
const JOINS: readonly Hedge[] = [
  (a, b) => `\\boxed{${a} \\quad ${b}}`,
  (a, b) => `<answer>${a}\n${b}</answer>`,
];
const JOINABLE = /^[01] | -/;

/** These may contain one another: a list with one of its own items is the same list. */
const SEVERAL = /,(?!\\!)|\\pm|\\cup|_/;

/** Golds with approximate or equal values are a true statement with these signs. */
const EQUATIONS = /\\approx| = /;
const PLAIN = /^-?\d+$/;

/** Two golds as one answer. @param step judge every step-th of all */
export function judgeHedges(step = 1): Judged {
  const golds = publishedGolds().filter((gold) => !SEVERAL.test(gold));
  const judged: Judged = { count: 0, wrong: [], falselyRight: [] };
  let nth = 0;
  for (const a of golds) {
    for (const b of golds) {
      if (meanTheSame(a, b)) continue;
      for (const hedge of [...HEDGES, ...JOINS]) {
        if (nth++ % step !== 0 || (JOINS.includes(hedge) && JOINABLE.test(`${a} ${b}`))) continue;
        const completion = hedge(a, b);
        if (EQUATIONS.test(completion) && !(PLAIN.test(a) && PLAIN.test(b))) continue;
        for (const gold of [a, b]) {
          judged.count++;
          if (isRightIn.math500(completion, gold) || isRightIn.accuracy_reward(completion, gold)) {
            judged.falselyRight.push(`${JSON.stringify(completion)} for ${gold}`);
          }
        }
      }
    }
  }
  return judged;
}

if (import.meta.main) {
  const step = Number(Deno.args[0] ?? 1);
  for (const { count, wrong, falselyRight } of [judgeAll(step), judgeHedges(step)]) {
    for (const text of wrong.slice(0, 40)) console.log(`refused: ${text}`);
    for (const text of falselyRight.slice(0, 40)) console.log(`accepted: ${text}`);
    console.log(`${count}: ${wrong.length} right refused, ${falselyRight.length} wrong accepted`);
  }
}
