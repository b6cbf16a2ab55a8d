/**
 * Problems from the rows of a file (JSON Lines or parquet). The columns of a row:
 * - `question` or `prompt`;
 * - `answer`, `solution` or `completion`, the first of these that is there; none of them is needed;
 * - `metadata`: an object, or its JSON text, as in tables.
 *
 * Four rules are about the form of the columns:
 * - `prompt` and `completion` may also be lists of chat messages, with one user (assistant)
 *   message.
 * - `messages` hold a prompt and, where the last message is an assistant's, a completion.
 * - In verl's rows `reward_model.ground_truth` is the answer. `rgx tasks export` puts the whole
 *   entry into `extra_info.entry`.
 * - All other columns go to the metadata.
 *
 * A completion is a whole text. The answer is what stands in its answer tags, or all of it where
 * there are no tags; the text itself becomes the metadata's `completion`. A bad row is an error
 * that names its place.
 */
import { UsageError } from "../core/errors.ts";
import { isBlank } from "../tasks/python/text.ts";
import { hasTask } from "../tasks/registry.ts";
import type { Entry } from "../tasks/types.ts";
import { type DataRow, describe, readJsonLineRows } from "./read_rows.ts";
import { extractAnswer } from "./extract.ts";
import { FILE_SOURCE } from "./score_completion.ts";

const QUESTION_COLUMNS = ["question", "prompt"];
const ANSWER_COLUMNS = ["answer", "solution", "completion"];

/** All entries of a JSON Lines file, in order; `metadata.source_index` counts them from 0. */
export function readJsonLines(path: string): Entry[] {
  return entriesOf(readJsonLineRows(path), path);
}

/**
 * Entries of rows, in order; `metadata.source_index` counts them from 0.
 * @param from the file, for messages
 */
export function entriesOf(rows: readonly DataRow[], from: string): Entry[] {
  if (rows.length === 0) {
    throw new UsageError(`the data file ${from} has no entries`, {
      advice: 'it should have one JSON object a line, such as {"question": "…", "answer": "…"}',
    });
  }
  return rows.map(entryOf);
}

/** A note that no completion can be right, since no problem has an answer; else null. */
export function withoutAnswers(entries: readonly Entry[]): string | null {
  const isOpen = ({ answer, metadata }: Entry) =>
    answer === null && metadata["source_dataset"] === FILE_SOURCE;
  if (!entries.every(isOpen)) return null;
  return `none of the ${entries.length} problems has an answer (a column ${
    ANSWER_COLUMNS.join(", ")
  }), so no completion is right`;
}

function entryOf({ columns: row, place }: DataRow, index: number): Entry {
  const { metadata: given, ...columns } = withProblemColumns(row), metadata = objectOf(given);
  const questionColumn = QUESTION_COLUMNS.find((name) => columns[name] != null);
  if (questionColumn === undefined) {
    throw new UsageError(
      `${place}: has neither "question" nor "prompt" (its columns: ` +
        `${Object.keys(row).join(", ") || "none"})`,
    );
  }
  const answerColumn = ANSWER_COLUMNS.find((name) => columns[name] != null);
  const question = textOf(columns[questionColumn], "user", `${place}: ${questionColumn}`);
  if (isBlank(question)) throw new UsageError(`${place}: ${questionColumn} is empty`);
  const text = (column: string) => textOf(columns[column], "assistant", `${place}: ${column}`);
  const completion = columns["completion"] == null ? null : text("completion");
  const answer = answerColumn === undefined
    ? null
    : answerColumn === "completion"
    ? extractAnswer(completion!) ?? completion
    : text(answerColumn);
  if (metadata != null && (typeof metadata !== "object" || Array.isArray(metadata))) {
    throw new UsageError(`${place}: metadata must be an object, found ${describe(metadata)}`);
  }
  const rest = Object.fromEntries(
    Object.entries(columns).filter(([name]) => name !== questionColumn && name !== answerColumn),
  );
  if (completion !== null) rest["completion"] = completion;
  return { question, answer, metadata: metadataOf(rest, metadata ?? {}, index) };
}

/** A row of a chat or of verl with the columns of a problem. */
function withProblemColumns(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (QUESTION_COLUMNS.every((name) => row[name] == null) && Array.isArray(row["messages"])) {
    const { messages, ...rest } = row, chat = messages as { role?: unknown }[];
    const isAnswered = chat.at(-1)?.role === "assistant";
    return isAnswered
      ? { ...rest, prompt: chat.slice(0, -1), completion: chat.slice(-1) }
      : { ...rest, prompt: chat };
  }
  const verl = row["reward_model"] as { ground_truth?: unknown } | undefined;
  if (typeof verl !== "object" || verl?.ground_truth == null) return row;
  const entry = objectOf((row["extra_info"] as { entry?: unknown } | undefined)?.entry);
  if (typeof (entry as { question?: unknown } | null)?.question === "string") {
    return { ...entry as Record<string, unknown> };
  }
  const hasAnswer = verl.ground_truth === "" || ANSWER_COLUMNS.some((name) => row[name] != null);
  return hasAnswer ? row : { ...row, answer: verl.ground_truth };
}

/** Parses the JSON text of an object; other values stay as they are. */
function objectOf(value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith("{")) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Entries of a task keep the task's name, so that its scorer is used; others get "file". */
function metadataOf(rest: object, given: object, index: number): Record<string, unknown> {
  const source = (given as Record<string, unknown>)["source_dataset"];
  const known = typeof source === "string" && hasTask(source);
  return {
    source_index: index,
    difficulty: {},
    ...rest,
    ...given,
    source_dataset: known ? source : FILE_SOURCE,
  };
}

/** A text, a number as text, or the content of the only message, which must have this role. */
function textOf(value: unknown, role: "user" | "assistant", place: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) {
    const messages = value as { role?: unknown; content?: unknown }[];
    const content = messages[0]?.content;
    if (messages.length === 1 && messages[0]?.role === role && typeof content === "string") {
      return content;
    }
    throw new UsageError(
      `${place}: a list must hold exactly one message {"role": "${role}", "content": "…"}, found ` +
        `${messages.length} with the roles ${messages.map((m) => String(m?.role)).join(", ")}`,
    );
  }
  throw new UsageError(
    `${place}: must be a text, a number or a list of messages, found ` +
      describe(value),
  );
}
