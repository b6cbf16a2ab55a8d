/**
 * Benchmarks that are files: GSM8K, MATH-500 and MMLU-Pro as their authors publish them (JSON Lines, or
 * parquet as on the Hub), and any file with questions and answers. Their answers are compared as mathematics or as letters. Left
 * out: taking the last number of a text for its answer; fetching the files.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { extractAnswer } from "../data/extract.ts";
import { type DataRow, readJsonLineRows } from "../data/data_rows.ts";
import { entriesOf } from "../data/jsonl.ts";
import { cleanMath } from "../data/math_answer/clean.ts";
import { sameMath } from "../data/math_answer/equal.ts";
import { findMathAnswer } from "../data/math_answer/find.ts";
import { parseMath } from "../data/math_answer/parse.ts";
import { scoreCompletion, type ScoredCompletion } from "../data/score.ts";
import type { Entry } from "../tasks/types.ts";

type Row = Record<string, unknown>;

interface Format {
  /** The published data set on the Hub, which is looked for where no file is named. */
  hub: string;
  /** Columns without which a row is of another format. */
  columns: readonly string[];
  entry(row: Row, place: string): { question: string; answer: string; metadata: Row };
  extract(completion: string): string | null;
  /** @param answer what was extracted */
  score(answer: string, gold: string): number;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const FORMATS: Readonly<Record<string, Format>> = {
  gsm8k: {
    hub: "hf://datasets/openai/gsm8k/main",
    columns: ["question", "answer"],
    entry(row, place) {
      const [work, gold] = String(row["answer"]).split("####");
      if (gold === undefined) {
        throw new UsageError(`${place}: answer has no "####" before the result`);
      }
      const completion = `${
        work!.replace(/<<[^>]*>>/g, "").trim()
      }\n<answer>${gold.trim()}</answer>`;
      return { question: String(row["question"]), answer: gold.trim(), metadata: { completion } };
    },
    extract: mathAnswer,
    score: equalMath,
  },
  math500: {
    hub: "hf://datasets/HuggingFaceH4/MATH-500",
    columns: ["problem", "answer"],
    entry: ({ problem, answer, solution, ...rest }) => ({
      question: String(problem),
      answer: String(answer),
      metadata: {
        ...rest,
        ...(typeof solution === "string" && {
          completion: `${solution}\n<answer>${String(answer)}</answer>`,
        }),
      },
    }),
    extract: mathAnswer,
    score: equalMath,
  },
  mmlu_pro: {
    hub: "hf://datasets/TIGER-Lab/MMLU-Pro",
    columns: ["question", "options", "answer"],
    entry({ question, options, answer, cot_content: _, ...rest }, place) {
      if (!Array.isArray(options) || options.length < 2 || options.length > LETTERS.length) {
        throw new UsageError(`${place}: options: expected a list of answers to choose from`);
      }
      const lines = options.map((option, i) => `${LETTERS[i]}. ${String(option)}`);
      return {
        question: `${String(question)}\n\n${
          lines.join("\n")
        }\n\nAnswer with the letter of the right option.`,
        answer: String(answer).trim().toUpperCase(),
        metadata: rest,
      };
    },
    extract: (text) =>
      extractAnswer(text) ?? findMathAnswer(text) ??
        [...text.matchAll(/answer\s+is\s*:?\s*\(?([A-Z])\b/g)].at(-1)?.[1] ?? null,
    score: (answer, gold) =>
      /^[\s(*]*([A-Za-z])(?![A-Za-z])/.exec(answer)?.[1]?.toUpperCase() === gold ? 1 : 0,
  },
};

/** Data sets that can be asked for by name. */
export const DATASET_NAMES: readonly string[] = [...Object.keys(FORMATS), "file"];

/** Where a published data set is when no file is named; null for others. */
export function publishedPlace(name: string): string | null {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name]!.hub : null;
}

/** The published format that rows have, however their file is called; else "file". */
export function formatOf(rows: readonly DataRow[]): string {
  const has = (row: Row, columns: readonly string[]) => columns.every((name) => row[name] != null);
  const first = rows[0]?.columns ?? {};
  if (has(first, FORMATS["mmlu_pro"]!.columns) && Array.isArray(first["options"])) {
    return "mmlu_pro";
  }
  if (has(first, FORMATS["math500"]!.columns)) return "math500";
  const isWorked = ({ columns: row }: DataRow) => /\n####\s*\S+\s*$/.test(String(row["answer"]));
  return has(first, FORMATS["gsm8k"]!.columns) && rows.every(isWorked) ? "gsm8k" : "file";
}

/**
 * All problems of a JSON Lines file, in its order.
 * @param name gsm8k, math500, mmlu_pro, or file: any questions and answers
 * @throws UsageError naming the file and the line
 */
export function readDataset(name: string, path: string): Entry[] {
  return datasetEntries(name, readJsonLineRows(path), path);
}

/** The same for rows that are read already. @param path where they are from */
export function datasetEntries(name: string, rows: readonly DataRow[], path: string): Entry[] {
  if (name === "file") return entriesOf(rows, path);
  const format = FORMATS[name];
  if (format === undefined) {
    throw new UsageError(`unknown data set "${name}"${didYouMean(name, DATASET_NAMES)}`);
  }
  const entries: Entry[] = [];
  for (const { columns: row, place } of rows) {
    const missing = format.columns.find((column) => row[column] == null);
    if (missing !== undefined) {
      throw new UsageError(
        `${place}: no column "${missing}", expected those of ${name}: ${
          format.columns.join(", ")
        } ` +
          `(found ${Object.keys(row).join(", ") || "none"})`,
      );
    }
    const { question, answer, metadata } = format.entry(row, place);
    entries.push({
      question,
      answer,
      metadata: { ...metadata, source_dataset: name, source_index: entries.length, difficulty: {} },
    });
  }
  if (entries.length === 0) throw new UsageError(`the data file ${path} has no entries`);
  return entries;
}

/** Extracts and scores as the entry's data set wants it, or by its task, as training does. */
export function scoreProblem(completion: string, entry: Entry): ScoredCompletion {
  const format = FORMATS[String(entry.metadata["source_dataset"])];
  if (format === undefined || typeof entry.answer !== "string") {
    return scoreCompletion(completion, entry);
  }
  const extracted = format.extract(completion);
  const score = extracted === null ? 0 : format.score(extracted, entry.answer);
  return { extracted, score, error: null };
}

/** In tags, in a box or after "answer is", or behind GSM8K's "####". */
function mathAnswer(text: string): string | null {
  return extractAnswer(text) ?? extractAnswer(text, "SOLUTION") ?? findMathAnswer(text) ??
    /.*####\s*([^\n]+)/s.exec(text)?.[1]?.trim() ?? null;
}

function equalMath(answer: string, gold: string): number {
  const found = findMathAnswer(answer) ?? answer;
  const a = parseMath(found), b = parseMath(gold);
  if (a !== null && b !== null) return sameMath(a, b) ? 1 : 0;
  // What is no value for the parser can still be the same text.
  const text = (math: string) => cleanMath(math).replace(/\s+/g, "");
  return text(found) === text(gold) ? 1 : 0;
}
