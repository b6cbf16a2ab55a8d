/**
 * Completions that another program wants to be scored. A sample is a row of its data with a
 * completion: the columns of TRL's data sets, verl's, or those of `rgx tasks export`.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { entriesOf } from "../../data/row_entries.ts";
import { FILE_SOURCE } from "../../data/score_completion.ts";
import type { Rubric, RubricScores } from "../../rewards/rubric.ts";
import type { RewardSample, RewardValue } from "../../rewards/types.ts";

import type { Entry } from "../../tasks/types.ts";

type Json = Record<string, unknown>;

/** Fields of a sample that are no columns of its row. */
interface Given {
  completion: string;
  completionIds: readonly number[];
  truncated: boolean;
  step: number;
}

/** Columns of which one has the answer, unless the row is a task's problem. */
const ANSWERS = ["answer", "final_answer", "solution", "ground_truth", "reward_model"];

/**
 * The sample in a JSON value.
 * @param place for messages, such as "line 3"
 * @throws UsageError for what is missing or of another type
 */
export function readSample(
  value: unknown,
  place: string,
  rubric: Pick<Rubric, "names" | "needs">,
  maxLength: number,
): RewardSample {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsageError(`${place}: expected an object with completion and the columns of its row`);
  }
  const { completion, completion_ids, truncated, step, ...columns } = withVerlNames(value as Json);
  const given: Given = {
    completion: textOf(completion, `${place}: completion`),
    completionIds: idsOf(completion_ids, place),
    truncated: truncated === true,
    step: typeof step === "number" ? step : 0,
  };
  const [entry] = entriesOf([{ columns, place }], place);
  const found = Object.keys(value).join(", ");
  rubric.needs?.forEach((parts, k) => {
    const reward = `${place}: the reward ${rubric.names[k]} needs`;
    if (parts.includes("completionIds") && completion_ids == null) {
      throw new UsageError(`${reward} completion_ids, found only ${found}`);
    }
    if (parts.includes("answer") && hasNoAnswer(entry!, columns)) {
      throw new UsageError(`${reward} a column ${ANSWERS.join(", ")}, found only ${found}`);
    }
  });
  const { prompt } = columns;
  return {
    ...given,
    prompt: typeof prompt === "string" ? prompt : entry!.question,
    messages: entry!.messages ?? null,
    answer: entry!.answer,
    info: entry!.metadata,
    entry: entry!,
    maxCompletionLength: maxLength,
  };
}

/** Whether no column has the right answer. A null means that there is no right answer. */
function hasNoAnswer({ answer, metadata }: Entry, columns: Json): boolean {
  return answer === null && metadata["source_dataset"] === FILE_SOURCE &&
    !ANSWERS.some((name) => Object.hasOwn(columns, name));
}

/** The arguments of verl's `compute_score`, under the names of the columns that they come from. */
function withVerlNames(value: Json): Json {
  if (!Object.hasOwn(value, "solution_str")) return value;
  const { solution_str: completion, ground_truth, ...columns } = value;
  const { question, entry } = (columns["extra_info"] ?? {}) as Json;
  return {
    ...columns,
    completion,
    ...(ground_truth == null && entry == null ? {} : {
      reward_model: { ground_truth: ground_truth ?? "" },
    }),
    // verl does not give the prompt to its reward functions.
    prompt: columns["prompt"] ?? question ?? "(not given)",
  };
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string") return value;
  const [message, ...others] = Array.isArray(value) ? value : [];
  const content = (message as Json | undefined)?.["content"];
  if (others.length === 0 && typeof content === "string") return content;
  throw new UsageError(
    `${place}: expected a text or a list with one message, found ${
      JSON.stringify(value) ?? "none"
    }`,
  );
}

function idsOf(value: unknown, place: string): number[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(Number.isInteger)) return value;
  throw new UsageError(`${place}: completion_ids: expected a list of whole numbers`);
}

/** The reward of a sample. */
export interface SampleScore {
  /** Sum of weight × value over the rewards that apply; null if none applies. */
  reward: number | null;
  /** By the rewards' names, unweighted. */
  values: Record<string, RewardValue>;
}

/** The score of each sample of a batch. */
export function sampleScores(rubric: Rubric, { values }: RubricScores): SampleScore[] {
  return values.map((row) => ({
    reward: row.every((value) => value === null)
      ? null
      : row.reduce<number>((sum, value, k) => sum + (value ?? 0) * rubric.weights[k]!, 0),
    values: Object.fromEntries(rubric.names.map((name, k) => [name, row[k]!])),
  }));
}

/** The message of an error that the other program has caused. Other errors are thrown. */
export function mistakeOf(error: unknown): string {
  if (error instanceof RgxError) return error.message;
  throw error;
}
