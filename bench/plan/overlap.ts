/**
 * Counts the test problems that a checkpoint's run has seen in training. The splits have disjoint
 * keys, but two keys can give the same question, and a file may hold a question twice. So questions
 * are compared, not keys.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { splitProblems } from "../../data/held_out.ts";
import { openProblems } from "../../data/open_problems.ts";
import type { TestSet } from "./test_set.ts";

/** Time limit for drawing a run's training problems again, in milliseconds. */
const TIME_LIMIT = 5_000;

/** The questions of a run's training; null = not known: its levels moved, or drawing takes long. */
async function trainingQuestions(run: RunConfig): Promise<Set<string> | null> {
  if (run.curriculum !== null) return null;
  const source = await openProblems({
    ...run.data,
    curriculum: null,
    hold_out: run.eval.num_examples > 0,
  });
  const problems = splitProblems({ source, heldOutCount: run.eval.num_examples });
  const total = source.length("train");
  const questions = new Set<string>(), end = performance.now() + TIME_LIMIT;
  for (let i = 0; i < total; i++) {
    if (performance.now() > end) return null;
    questions.add(problems.trainEntry(i).question);
  }
  return questions;
}

/** Remembers the questions of each run, since several tasks and checkpoints ask for them. */
export class OverlapCounter {
  readonly #known = new Map<string, Set<string> | null>();

  /** How many of these problems the run has seen in training; null = not known. */
  async count(run: RunConfig | null, problems: TestSet["entries"]): Promise<number | null> {
    if (run === null) return null;
    const key = JSON.stringify([run.data, run.curriculum, run.eval.num_examples]);
    if (!this.#known.has(key)) this.#known.set(key, await this.#questions(run));
    const questions = this.#known.get(key)!;
    if (questions === null) return null;
    return problems.filter(({ question }) => questions.has(question)).length;
  }

  async #questions(run: RunConfig): Promise<Set<string> | null> {
    try {
      return await trainingQuestions(run);
    } catch {
      return null; // the run's data file is not here
    }
  }
}
