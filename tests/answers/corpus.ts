/** Judged pairs of answers and golds (tests/golden/answers/), and how each is scored. */
import { scoreCompletion } from "../../data/score_completion.ts";
import { mathAccuracy } from "../../rewards/trl.ts";
import { goldenPath, readGoldenLines } from "../golden.ts";

export interface JudgedPair {
  kind: string;
  gold: string;
  answer: string;
  right: boolean;
  /** The mathematical reason. */
  why: string;
}

export function readCorpus(): JudgedPair[] {
  return [...Deno.readDirSync(goldenPath("answers"))].map(({ name }) => name)
    .filter((name) => name.endsWith(".jsonl") && name !== "statements.jsonl").sort()
    .flatMap((name) => readGoldenLines<JudgedPair>(`answers/${name}`));
}

/** A whole completion, where the answer must be found. */
export interface JudgedStatement {
  kind: string;
  completion: string;
  gold: string;
  right: boolean;
  why: string;
  scorers: Scorer[];
}

export type Scorer = keyof typeof isRightIn;

export function readStatements(): JudgedStatement[] {
  return readGoldenLines<JudgedStatement>("answers/statements.jsonl");
}

export const isRightIn = {
  gsm8k: (completion: string, gold: string) => scored("gsm8k", completion, gold),
  math500: (completion: string, gold: string) => scored("math500", completion, gold),
  /** null: the reward does not apply to such a gold. */
  accuracy_reward: (completion: string, gold: string) => {
    const value = mathAccuracy(completion, { answer: gold, info: {} });
    return value === null ? null : value === 1;
  },
};

function scored(source: string, completion: string, answer: string): boolean {
  const entry = { answer, metadata: { source_dataset: source } };
  return scoreCompletion(completion, entry).score === 1;
}
