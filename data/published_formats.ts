/**
 * The formats in which GSM8K, MATH-500 and MMLU-Pro are published: how rows become entries, where a
 * completion states its answer, and when the answer is right (as mathematics, or as a letter). The
 * last number of a text is not taken for its answer.
 */
import { UsageError } from "../core/errors.ts";
import { extractAnswer } from "./extract.ts";
import { sameAnswer } from "./math_answer/equal.ts";
import { findMathAnswer, joinedBoxes, readings } from "./math_answer/find.ts";
import { chosenLetter, findLetter } from "./math_answer/letter.ts";
import { isRight } from "./math_answer/right.ts";
import { statedFormula, statedText } from "./math_answer/stated.ts";
import { findSolution, TAGS } from "./solution_format.ts";

type Row = Record<string, unknown>;

export interface PublishedFormat {
  /** Columns that every row of this format has. */
  columns: readonly string[];
  entry(row: Row, place: string): { question: string; answer: string; metadata: Row };
  extract(completion: string): string | null;
  /**
   * Whether the answer has the form that the system prompt asks for. If it asks for no form, a form
   * of another prompt counts. Default: true.
   */
  isFormatted?(completion: string, systemPrompt: string): boolean;
  /** @param answer the answer that was extracted */
  score(answer: string, gold: string, question?: string): number;
  /** Whether two extracted answers are the same one in different spellings. */
  same(answer: string, other: string): boolean;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const FORMATS: Readonly<Record<string, PublishedFormat>> = {
  gsm8k: {
    columns: ["question", "answer"],
    entry({ question, answer: worked, ...rest }, place) {
      const [solution, gold] = String(worked).split("####");
      if (gold === undefined) {
        throw new UsageError(`${place}: answer has no "####" before the result`);
      }
      const work = solution!.replace(/<<[^>]*>>/g, "").trim(), answer = gold.trim();
      const completion = `${work}\n<answer>${answer}</answer>`;
      return { question: String(question), answer, metadata: { ...rest, completion, work } };
    },
    extract: mathAnswer,
    same: sameMath,
    isFormatted: (text, systemPrompt) =>
      systemPrompt.includes(TAGS.solutionStart)
        ? findSolution(text) !== null
        : extractAnswer(text) !== null || findSolution(text) !== null ||
          (findMathAnswer(text) !== null && !text.includes(TAGS.solutionStart)),
    score: scoreMath,
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
    same: sameMath,
    score: scoreMath,
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
    extract: findLetter,
    same: (answer, other) =>
      chosenLetter(answer) !== undefined && chosenLetter(answer) === chosenLetter(other),
    score: (answer, gold) => chosenLetter(answer) === gold ? 1 : 0,
  },
};

/**
 * The letter of the right option: `answer`, or else the one with number `index`. @throws UsageError
 */
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

/** `metadata.source_dataset` of mathematical problems of other data sets; scored as MATH-500 is. */
export const MATH_SOURCE = "math";

/** The format of a published data set; null for other names. */
export function publishedFormat(name: unknown): PublishedFormat | null {
  if (name === MATH_SOURCE) return FORMATS["math500"]!;
  return typeof name === "string" && Object.hasOwn(FORMATS, name) ? FORMATS[name]! : null;
}

/**
 * The answer in tags; in a box; as a formula after "answer is" or "Answer:"; after GSM8K's "####";
 * as text after "answer is" or "Answer:".
 */
function mathAnswer(text: string): string | null {
  return extractAnswer(text) ?? extractAnswer(text, "SOLUTION") ?? answerWithin(text);
}

/** Maximum length of an answer without an announcement, and of a line that is searched for one. */
const MAX_PLAIN = 100, MAX_LINE = 1000;
/** The result at the end of a sentence: "The capital of France is Paris", "2 + 3 = 5". */
const SAID = /^.*(?:\b(?:is|are|was|were|equals)\s|[=:])\s*(\S.*)$/;

/**
 * The answer of a completion whose prompt asks for no mark: as in mathematics, else the result in
 * its last sentence, else all of a single line.
 */
export function plainAnswer(completion: string): string | null {
  const marked = mathAnswer(completion);
  if (marked !== null) return marked;
  const lines = completion.trim().split(/\s*\n\s*/), last = lines.at(-1)!;
  if (last.length > MAX_LINE) return null;
  const sentence = last.replace(/[.!]$/, "").split(/[.!?]\s+/).at(-1)!;
  const answer = SAID.exec(sentence)?.[1] ?? (lines.length === 1 ? sentence : "");
  return answer === "" || answer.length > MAX_PLAIN ? null : answer;
}

function answerWithin(text: string): string | null {
  return joinedBoxes(text) ?? findMathAnswer(text) ?? statedFormula(text) ?? afterMarks(text) ??
    statedText(text);
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

function scoreMath(answer: string, gold: string, question = ""): number {
  return isRight(bareAnswer(answer), unboxed(gold), question) ? 1 : 0;
}

function sameMath(answer: string, other: string): boolean {
  const [a, b] = [answer, other].map((text) => readings(bareAnswer(text)).at(-1)!);
  return sameAnswer(a!, b!);
}

/** A gold answer out of its box, or the list of its boxes; else what follows its "####". */
export function unboxed(gold: string): string {
  const boxes = /\\(?:boxed|fbox)/.test(gold) ? joinedBoxes(gold) ?? findMathAnswer(gold) : null;
  return boxes === null ? afterMarks(gold) ?? gold : readings(boxes).at(-1)!;
}

/** The answer within a sentence that stands between the tags. */
function bareAnswer(answer: string): string {
  return answerWithin(answer) ?? answer;
}
