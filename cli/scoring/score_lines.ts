/** Scores lines of `rgx score`. A worker calls it with one piece of the input. */
import { whyNotJson } from "../../core/text_file.ts";
import { publishedFormat } from "../../data/published_formats.ts";
import { FILE_SOURCE, scoreCompletion, scoreExtracted } from "../../data/score_completion.ts";
import { getTask } from "../../tasks/registry.ts";
import type { ScorableEntry } from "../../tasks/types.ts";

export interface ScoredPiece {
  /** One JSON line per line of input that is not blank, in order. */
  text: string;
  scored: number;
  failed: number;
}

/**
 * @param completions whether lines hold whole completions. The answer is then extracted as in
 *   training.
 */
export function scoreLines(lines: string, completions: boolean): ScoredPiece {
  const piece: ScoredPiece = { text: "", scored: 0, failed: 0 };
  for (const line of lines.split("\n")) {
    if (line.trim() === "") continue;
    const result = scoreLine(line, completions);
    if ("error" in result) piece.failed++;
    else piece.scored++;
    piece.text += JSON.stringify(result) + "\n";
  }
  return piece;
}

type LineResult = { score: number } | { score: 0; error: string };

function scoreLine(line: string, completions: boolean): LineResult {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { score: 0, error: `not JSON: ${whyNotJson(error)}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { score: 0, error: "expected an object with entry and answer" };
  }
  const { entry, answer, completion } = value as Record<string, unknown>;
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    return { score: 0, error: "entry: expected an object with question, answer and metadata" };
  }
  const metadata = (entry as ScorableEntry).metadata;
  const name = metadata?.["source_dataset"];
  if (typeof name !== "string") {
    return { score: 0, error: "entry.metadata.source_dataset: expected the task's name" };
  }
  try {
    // Problems of published data sets are scored as in benchmarks. Any other name must be a task.
    if (publishedFormat(name) === null && name !== FILE_SOURCE) getTask(name);
    if (completions && typeof completion !== "string") {
      return { score: 0, error: "completion: expected a string (with --completions)" };
    }
    if (!completions && !isText(answer)) return { score: 0, error: `answer: ${noText(answer)}` };
    const { score, error } = completions
      ? scoreCompletion(completion as string, entry as ScorableEntry)
      : scoreExtracted(answer as string | null, entry as ScorableEntry);
    if (error === null) return { score };
    const gold: unknown = (entry as ScorableEntry).answer ?? null;
    return { score: 0, error: isText(gold) ? error : `entry.answer: ${noText(gold)}` };
  } catch (error) {
    return { score: 0, error: (error as Error).message };
  }
}

const isText = (value: unknown) => value === null || typeof value === "string";

function noText(value: unknown): string {
  const found = value === undefined ? "" : `, found ${JSON.stringify(value).slice(0, 60)}`;
  return `expected a string or null${found}`;
}
