/**
 * The formats in which GSM8K, MATH-500 and MMLU-Pro are published: how rows become entries, where a
 * completion states its answer, and when the answer is right (as mathematics, or as a letter). The
 * last number of a text is not taken for its answer.
 */
import { UsageError } from "../core/errors.ts";
import { extractAnswer } from "./extract.ts";
import { sameAnswer } from "./math_answer/equal.ts";
import { findMathAnswer } from "./math_answer/find.ts";
import { findSolution, TAGS } from "./solution_format.ts";

type Row = Record<string, unknown>;

export interface PublishedFormat {
  /** Columns that every row of this format has. */
  columns: readonly string[];
  entry(row: Row, place: string): { question: string; answer: string; metadata: Row };
  extract(completion: string): string | null;
  /**
   * Whether a completion gives its answer in the form that the system prompt asks for, or, where it
   * asks for none, in a form that other prompts ask for. Default: true.
   */
  isFormatted?(completion: string, systemPrompt: string): boolean;
  /** @param answer the answer that was extracted */
  score(answer: string, gold: string): number;
  /** Whether two extracted answers are the same one in different spellings. */
  same(answer: string, other: string): boolean;
}

/** The words that announce an answer in a text. */
const STATES = "[Aa]nswer(?:\\s+is|\\*{0,2}:)";
const STATED_LETTER = new RegExp(`${STATES}[\\s:(*]*([A-Z])\\b`, "g");
const STATED_NUMBER = new RegExp(
  `${STATES}[\\s:*]*([-−+]?[$£€]?\\d(?:[\\d.,/]*\\d)?%?)`,
  "g",
);
/** A second letter after the first one. */
const SECOND_LETTER = /^\)?(?:\s*[,/&]|\s+and|\s+or)\s*\(?[A-Z](?![A-Za-z'])/;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const FORMATS: Readonly<Record<string, PublishedFormat>> = {
  gsm8k: {
    columns: ["question", "answer"],
    entry(row, place) {
      const [solution, gold] = String(row["answer"]).split("####");
      if (gold === undefined) {
        throw new UsageError(`${place}: answer has no "####" before the result`);
      }
      const work = solution!.replace(/<<[^>]*>>/g, "").trim(), answer = gold.trim();
      const completion = `${work}\n<answer>${answer}</answer>`;
      return { question: String(row["question"]), answer, metadata: { completion, work } };
    },
    extract: mathAnswer,
    same: sameMathAnswer,
    isFormatted: (text, systemPrompt) =>
      systemPrompt.includes(TAGS.solutionStart)
        ? findSolution(text) !== null
        : extractAnswer(text) !== null || findSolution(text) !== null ||
          (findMathAnswer(text) !== null && !text.includes(TAGS.solutionStart)),
    score: equalMath,
  },
  math500: {
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
    same: sameMathAnswer,
    score: equalMath,
  },
  mmlu_pro: {
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
        answer: goldLetter(answer, rest["answer_index"], options.length, place),
        metadata: rest,
      };
    },
    extract: (text) => extractAnswer(text) ?? findMathAnswer(text) ?? statedLetter(text),
    same: (answer, other) =>
      chosenLetter(answer) !== undefined && chosenLetter(answer) === chosenLetter(other),
    score: (answer, gold) => chosenLetter(answer) === gold ? 1 : 0,
  },
};

/** The letter of the right option; where `answer` is none, by `index`. @throws UsageError */
function goldLetter(answer: unknown, index: unknown, count: number, place: string): string {
  const letters = LETTERS.slice(0, count);
  const letter = /^\s*\(?([A-Za-z])[.)]?\s*$/.exec(String(answer))?.[1]?.toUpperCase() ??
    (typeof index === "number" ? letters[index] : undefined) ?? "";
  if (letter !== "" && letters.includes(letter)) return letter;
  throw new UsageError(
    `${place}: answer: expected the letter of one of its ${count} options, ` +
      `found ${JSON.stringify(answer).slice(0, 60)}`,
  );
}

/** The format of a published data set; null for other names. */
export function publishedFormat(name: unknown): PublishedFormat | null {
  return typeof name === "string" && Object.hasOwn(FORMATS, name) ? FORMATS[name]! : null;
}

/** Reads "C", "(C) because …", "**C**", "[C]", "\text{C}", "Option C"; not two letters. */
function chosenLetter(answer: string): string | undefined {
  const text = findMathAnswer(answer) ?? statedLetter(answer) ?? answer;
  const match =
    /^(?:option|answer|choice|\\text(?:bf)?|\\math(?:rm|bf)|[\s({[*$:"“])*([A-Za-z])(?![A-Za-z'])/i
      .exec(text);
  if (match === null || SECOND_LETTER.test(text.slice(match[0].length))) return undefined;
  return match[1]!.toUpperCase();
}

/** Reads "The answer is (C)" and "Answer: C". */
function statedLetter(text: string): string | null {
  return [...text.matchAll(STATED_LETTER)].at(-1)?.[1] ?? null;
}

/**
 * The answer in tags, in a box, as a formula after "answer is", after GSM8K's "####", or as a
 * number after "answer is".
 */
function mathAnswer(text: string): string | null {
  return extractAnswer(text) ?? extractAnswer(text, "SOLUTION") ?? findMathAnswer(text) ??
    afterMarks(text) ?? statedNumber(text);
}

/** The text after the last "####" that is followed by any. */
function afterMarks(text: string): string | null {
  for (let at = text.lastIndexOf("####"); at >= 0; at = text.lastIndexOf("####", at - 1)) {
    const line = /\S[^\n]*/.exec(text.slice(at + 4))?.[0].trimEnd();
    if (line !== undefined) return line;
    if (at === 0) break;
  }
  return null;
}

/** Reads "The answer is 72.", as early GSM8K benchmarks ask for it, and "Answer: 72". */
function statedNumber(text: string): string | null {
  return [...text.matchAll(STATED_NUMBER)].at(-1)?.[1] ?? null;
}

function equalMath(answer: string, gold: string): number {
  return sameMathAnswer(answer, gold) ? 1 : 0;
}

function sameMathAnswer(answer: string, other: string): boolean {
  return sameAnswer(bareAnswer(answer), bareAnswer(other));
}

/** The answer within a sentence that stands between the tags. */
function bareAnswer(answer: string): string {
  return findMathAnswer(answer) ?? afterMarks(answer) ?? statedNumber(answer) ?? answer;
}
