/**
 * The numbers that scored completions add up to. Evaluations of a run and benchmarks both report
 * these. See intervals.ts for the intervals of other measures.
 */
import { wilson } from "../../core/intervals.ts";
import { mean } from "../../core/statistics.ts";
import { CORRECT } from "../../data/score_completion.ts";

/** How well problems were answered. */
export interface Accuracy {
  /** correct / total. */
  accuracy: number;
  /** Completions that are correct. */
  correct: number;
  /** Completions. */
  total: number;
  /**
   * Wilson's 95 % interval of the accuracy. It takes as many observations as there are problems,
   * since the completions of one problem resemble each other.
   */
  ci95: [low: number, high: number];
  /** Mean score, with partial credit. */
  mean_score: number;
  /** Share of completions that give an answer in the form that was asked for. */
  format_rate: number;
  /** Share of completions that were cut off. */
  truncated_rate: number;
  /** Mean number of tokens of a completion. */
  mean_completion_tokens: number;
}

/** How many answers to the problems of one task were right. */
export type TaskAccuracy = Pick<Accuracy, "accuracy" | "correct" | "total" | "ci95" | "mean_score">;

/** A completion after scoring. */
export interface ScoredAnswer {
  /** From 0 to 1. */
  score: number;
  /** It gives an answer in the form that was asked for. */
  formatted: boolean;
  /** It was cut off before its end. */
  truncated: boolean;
  /** Number of tokens of the completion. */
  tokens: number;
}

export const isCorrect = ({ score }: Pick<ScoredAnswer, "score">) => score >= CORRECT;

/**
 * Accuracy, its interval, mean score and shares of answers.
 * @param problems the answers of each problem; problems without an answer do not count
 */
export function accuracyOf(problems: readonly (readonly ScoredAnswer[])[]): Accuracy {
  const answered = problems.filter(({ length }) => length > 0).length, answers = problems.flat();
  const total = answers.length, correct = answers.filter(isCorrect).length;
  const share = (count: number) => total === 0 ? 0 : count / total;
  const meanOf = (values: readonly number[]) => total === 0 ? 0 : mean(values);
  const accuracy = share(correct);
  return {
    accuracy,
    correct,
    total,
    ci95: wilson(accuracy * answered, answered),
    mean_score: meanOf(answers.map(({ score }) => score)),
    format_rate: share(answers.filter(({ formatted }) => formatted).length),
    truncated_rate: share(answers.filter(({ truncated }) => truncated).length),
    mean_completion_tokens: meanOf(answers.map(({ tokens }) => tokens)),
  };
}

/**
 * The accuracy of each task, by its name and in the order of the names. `tasks` names the task of
 * each problem.
 */
export function accuracyByTask(
  problems: readonly (readonly ScoredAnswer[])[],
  tasks: readonly string[],
): Record<string, TaskAccuracy> {
  const places = Map.groupBy(problems.keys(), (i) => tasks[i]!);
  return Object.fromEntries(
    [...places].sort(([a], [b]) => a < b ? -1 : 1).map(([task, indices]) => {
      const { accuracy, correct, total, ci95, mean_score } = accuracyOf(
        indices.map((i) => problems[i]!),
      );
      return [task, { accuracy, correct, total, ci95, mean_score }];
    }),
  );
}
