/**
 * Counts the test problems that a checkpoint's run has seen in training. The splits have disjoint
 * keys, but two keys can give the same question, and a file may hold a question twice. So questions
 * are compared, not keys.
 */
import { messageOf } from "../../core/errors.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { splitProblems } from "../../data/held_out.ts";
import { isDataGone, openProblems } from "../../data/open_problems.ts";
import type { TestSet } from "./test_set.ts";

/** Time limit for drawing a run's training problems again, in seconds: tasks of files are slow. */
const TIME_LIMIT = 60;

/** The questions of a run's training, or why they are not known. */
type Questions = { questions: Set<string> } | { unknown: string };

async function trainingQuestions(run: RunConfig, seconds: number): Promise<Questions> {
  if (run.curriculum !== null) return { unknown: "the levels of its curriculum moved" };
  if (await isDataGone(run.data)) return { unknown: "its data is not here" };
  const source = await openProblems({
    ...run.data,
    curriculum: null,
    hold_out: run.eval.num_examples > 0,
  });
  const problems = splitProblems({
    source,
    heldOutCount: run.eval.num_examples,
    validationCount: run.data.validation_examples ?? 0,
  });
  const total = source.length("train");
  const questions = new Set<string>(), end = performance.now() + 1000 * seconds;
  for (let i = 0; i < total; i++) {
    if (performance.now() > end) {
      return {
        unknown: `its ${total} training problems take more than ${seconds} s to draw again`,
      };
    }
    questions.add(problems.trainEntry(i).question);
  }
  return { questions };
}

/** Remembers the questions of each run, since several tasks and checkpoints ask for them. */
export class OverlapCounter {
  readonly #known = new Map<string, Questions>();
  readonly #warnings = new Set<string>();

  /** @param seconds time limit for drawing the training problems of a run again */
  constructor(private readonly seconds = TIME_LIMIT) {}

  /** What a user must know before the scores are believed. */
  get warnings(): string[] {
    return [...this.#warnings];
  }

  /**
   * How many of these problems the run has seen in training; null = not known.
   * @param model the run's model and the task, for the warnings
   */
  async count(
    run: RunConfig | null,
    problems: TestSet["entries"],
    { model, task }: { model: string; task: string },
  ): Promise<number | null> {
    if (run === null) return null;
    const key = JSON.stringify([run.data, run.curriculum, run.eval.num_examples]);
    if (!this.#known.has(key)) this.#known.set(key, await this.#questions(run));
    const known = this.#known.get(key)!;
    if ("unknown" in known) {
      this.#warnings.add(
        `whether ${model} was trained on these problems is not known: ${known.unknown}`,
      );
      return null;
    }
    const seen = problems.filter(({ question }) => known.questions.has(question)).length;
    if (seen > 0) {
      this.#warnings.add(
        `${model} was trained on ${seen} of the ${problems.length} questions of ${task}: ` +
          "its score is not one of new problems",
      );
    }
    return seen;
  }

  async #questions(run: RunConfig): Promise<Questions> {
    try {
      return await trainingQuestions(run, this.seconds);
    } catch (error) {
      return { unknown: messageOf(error) };
    }
  }
}
