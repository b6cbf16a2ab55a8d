/**
 * Every gold answer of MATH-500 in every phrasing, against every other gold answer. Prints the
 * answers that are wrong for their own gold, and those that are right for one that means another.
 *
 *     deno run -A tests/answers/matrix.ts
 */
import { readDataset } from "../../data/dataset_entries.ts";
import { scoreCompletion } from "../../data/score_completion.ts";
import { mathAccuracy } from "../../rewards/trl.ts";
import { goldenPath } from "../golden.ts";
import { PHRASINGS } from "./phrasings.ts";

/** Golds that mean the same, each group once. */
export const SAME_GOLDS: readonly (readonly string[])[] = [
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

export interface Judged {
  completion: string;
  gold: string;
  scorer: "math500" | "accuracy_reward";
}

/** @param step compare with every step-th of the other golds */
export function judgeAll(step = 1): { wrong: Judged[]; falselyRight: Judged[]; count: number } {
  const golds = [
    ...new Set(
      readDataset("math500", goldenPath("data/math500/test.jsonl")).map(({ answer }) => answer!),
    ),
  ];
  const wrong: Judged[] = [], falselyRight: Judged[] = [];
  let count = 0;
  for (const [index, answer] of golds.entries()) {
    for (const [nth, phrasing] of PHRASINGS.entries()) {
      const completion = phrasing.text(answer);
      for (const [other, gold] of golds.entries()) {
        if (other !== index && (other + index + nth) % step !== 0) continue;
        const same = gold === answer ||
          SAME_GOLDS.some((group) => group.includes(gold) && group.includes(answer)) ||
          SHORTER.some(([short, full]) => answer === short && gold === full);
        for (const scorer of ["math500", "accuracy_reward"] as const) {
          if (scorer === "accuracy_reward" && !phrasing.latex) continue;
          const value = scorer === "math500"
            ? scoreCompletion(completion, entryOf(gold)).score
            : mathAccuracy(completion, { answer: gold, info: {} });
          count++;
          if (value === null) continue;
          if (same && value !== 1) wrong.push({ completion, gold, scorer });
          if (!same && value !== 0) falselyRight.push({ completion, gold, scorer });
        }
      }
    }
  }
  return { wrong, falselyRight, count };
}

function entryOf(answer: string) {
  return { answer, metadata: { source_dataset: "math500" } };
}

if (import.meta.main) {
  const start = performance.now();
  const { wrong, falselyRight, count } = judgeAll(Number(Deno.args[0] ?? 1));
  for (const [name, cases] of Object.entries({ wrong, falselyRight })) {
    for (const { completion, gold, scorer } of cases.slice(0, 40)) {
      console.log(`${name} by ${scorer}: ${JSON.stringify(completion)} for ${gold}`);
    }
  }
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `${count} judgements in ${seconds.toFixed(0)} s: ` +
      `${wrong.length} right answers refused, ${falselyRight.length} wrong ones accepted`,
  );
}
