/**
 * Problems from the rows of a file (JSON Lines, or parquet). A row is an object with `question` or `prompt`,
 * and may have `answer`, `solution` or `completion` (the first of these that is there) and `metadata`.
 * `prompt` and `completion` may also be chat messages; then one user (assistant) message is expected. All
 * further columns go to the metadata. A completion is a whole text: the answer is what stands in its answer tags (all of it where there
 * are none), and the text itself is the metadata's `completion`. A bad row is an error with its place.
 */
import { UsageError } from "../core/errors.ts";
import { isBlank } from "../tasks/python_text.ts";
import { hasTask } from "../tasks/registry.ts";
import type { Entry } from "../tasks/types.ts";
import { type DataRow, describe, readJsonLineRows } from "./data_rows.ts";
import { extractAnswer } from "./extract.ts";
import { FILE_SOURCE } from "./score.ts";

const QUESTION_COLUMNS = ["question", "prompt"];
const ANSWER_COLUMNS = ["answer", "solution", "completion"];

/** All entries of a JSON Lines file, in order; `metadata.source_index` counts them from 0. */
export function readJsonLines(path: string): Entry[] {
  return entriesOf(readJsonLineRows(path), path);
}

/** Entries of rows, in order; `metadata.source_index` counts them from 0. @param from what holds the rows */
export function entriesOf(rows: readonly DataRow[], from: string): Entry[] {
  if (rows.length === 0) {
    throw new UsageError(`the data file ${from} has no entries`, {
      advice: 'it should have one JSON object a line, such as {"question": "…", "answer": "…"}',
    });
  }
  return rows.map(entryOf);
}

function entryOf({ columns: row, place }: DataRow, index: number): Entry {
  const { metadata, ...columns } = row;
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

/** Entries of a task keep their own identity, so that its scorer is used; others are the file's. */
function metadataOf(rest: object, own: object, index: number): Record<string, unknown> {
  const source = (own as Record<string, unknown>)["source_dataset"];
  const known = typeof source === "string" && hasTask(source);
  return {
    source_index: index,
    difficulty: {},
    ...rest,
    ...own,
    source_dataset: known ? source : FILE_SOURCE,
  };
}

/** A text, a number as text, or the content of the only message with this role. */
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
