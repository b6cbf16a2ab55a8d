/**
 * Two different golds of MATH-500 given as one answer. Such an answer is right for neither of them.
 *
 *     deno run -A tests/answers/hedges.ts
 */
import { readDataset } from "../../data/dataset_entries.ts";
import { scoreCompletion } from "../../data/score_completion.ts";
import { mathAccuracy } from "../../rewards/trl.ts";
import { goldenPath } from "../golden.ts";
import { approximate } from "./exact.ts";
import { readGold } from "./gold.ts";
import { SAME_GOLDS } from "./matrix.ts";

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

/** @param step judge every step-th of all */
export function judgeHedges(step = 1): { count: number; gained: string[] } {
  const golds = [
    ...new Set(
      readDataset("math500", goldenPath("data/math500/test.jsonl")).map(({ answer }) => answer!),
    ),
  ].filter((gold) => !SEVERAL.test(gold));
  const gained: string[] = [];
  let count = 0, nth = 0;
  for (const a of golds) {
    for (const b of golds) {
      if (a === b || SAME_GOLDS.some((group) => group.includes(a) && group.includes(b))) continue;
      for (const hedge of [...HEDGES, ...JOINS]) {
        if (nth++ % step !== 0 || (JOINS.includes(hedge) && JOINABLE.test(`${a} ${b}`))) continue;
        const completion = hedge(a, b);
        if (completion.includes("\\approx") && isNear(a, b, 1)) continue;
        if (completion.includes(" = ") && isNear(a, b, 1e-9)) continue;
        for (const gold of [a, b]) {
          count++;
          const entry = { answer: gold, metadata: { source_dataset: "math500" } };
          if (
            scoreCompletion(completion, entry).score > 0 ||
            mathAccuracy(completion, { answer: gold, info: {} }) === 1
          ) gained.push(`${JSON.stringify(completion)} for ${gold}`);
        }
      }
    }
  }
  return { count, gained };
}

/** Whether both state one value: 3√13 ≈ 11, 120° = 120. */
function isNear(a: string, b: string, distance: number): boolean {
  const [exact, rounded] = [numberOf(a), numberOf(b)];
  return exact !== null && rounded !== null && Math.abs(exact - rounded) < distance;
}

function numberOf(text: string): number | null {
  const gold = readGold(text);
  if (gold.kind !== "number") return null;
  const plain = gold.value.every(({ names }) => Object.keys(names).length === 0);
  return plain ? approximate(gold.value) : null;
}

if (import.meta.main) {
  const { count, gained } = judgeHedges(Number(Deno.args[0] ?? 1));
  for (const line of gained.slice(0, 60)) console.log(line);
  console.log(`${count} judgements: ${gained.length} gained`);
}
