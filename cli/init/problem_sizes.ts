/** How long the problems of a project are, and with which characters they are written. */
import { isHeldOut } from "../../data/file_source.ts";
import { filesWithoutTest, readEntries } from "../../data/open_problems.ts";
import { createDataset } from "../../tasks/dataset.ts";
import type { Entry } from "../../tasks/types.ts";

/** Sizes in characters: the model of a new project has one token for each. */
export interface ProblemSizes {
  /** Number of problems; infinite where they are generated. */
  count: number;
  question: number;
  /** The longest answer; null where some problems have none, so that there is nothing to copy. */
  answer: number | null;
  /** Characters that are not printable ASCII. */
  others: string;
  /** Whether some are held out, and others are left to train on. */
  hasHeldOut: boolean;
}

/** Number of problems that are looked at. */
const LOOKED_AT = 300;

/** @throws UsageError for an unknown task */
export function measureTask(
  name: string,
  params: Readonly<Record<string, unknown>>,
): ProblemSizes {
  const problems = createDataset(name, { ...params, size: LOOKED_AT, seed: 42 });
  return measure(Array.from({ length: LOOKED_AT }, (_, i) => problems.entry(i)), Infinity, true);
}

/** @throws UsageError for files that cannot be read */
export async function measureData(path: string): Promise<ProblemSizes> {
  const entries = await readEntries(path);
  const heldOut = entries.filter(({ question }) => isHeldOut(question)).length;
  const hasTest = await filesWithoutTest({ dataset_name: path, task_name: null }) === null;
  const hasHeldOut = hasTest || heldOut > 0 && heldOut < entries.length;
  return measure(entries.slice(0, LOOKED_AT), entries.length, hasHeldOut);
}

function measure(entries: readonly Entry[], count: number, hasHeldOut: boolean): ProblemSizes {
  const others = new Set<string>();
  let question = 0, answer: number | null = 0;
  for (const entry of entries) {
    question = Math.max(question, [...entry.question].length);
    answer = answer === null || typeof entry.answer !== "string"
      ? null
      : Math.max(answer, [...entry.answer].length);
    for (const character of entry.question + (entry.answer ?? "")) {
      if (!/[ -~\n]/.test(character)) others.add(character);
    }
  }
  return { count, question, answer, others: [...others].sort().join(""), hasHeldOut };
}
