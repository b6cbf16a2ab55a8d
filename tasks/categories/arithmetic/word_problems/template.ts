/** The parts of a word problem, and the names of people that problems share. */
import type { RandomStream } from "../../../../core/philox.ts";

export interface WordProblem {
  question: string;
  /** The worked solution, one line for each step. */
  steps: string[];
  /** The answer, an integer. */
  answer: number;
  /** The drawn and the derived quantities. */
  variables: Record<string, string | number>;
}

/**
 * Draws the numbers of one story such that every division is exact; null for numbers that do not
 * allow it.
 */
export type Template = (random: RandomStream) => WordProblem | null;

/** Templates by name, in the order in which they are drawn. */
export type Templates = Readonly<Record<string, Template>>;

/**
 * Writes a problem. Its text is the question, up to the first line that ends with a question mark,
 * and then a line for each step. A line that is indented further continues the step before it. The
 * answer is the last number of the last step.
 */
export function story(variables: WordProblem["variables"]) {
  return (text: TemplateStringsArray, ...values: readonly unknown[]): WordProblem => {
    const lines = String.raw({ raw: text }, ...values).replaceAll("\n        ", " ").trim();
    const [, question, steps] = /^([^]*?\?)\n([^]*)$/.exec(lines.replaceAll(/\n +/g, "\n"))!;
    return {
      question: question!.replaceAll("\n", " "),
      steps: steps!.split("\n"),
      answer: Number(/\d+(?=\D*$)/.exec(lines)![0]),
      variables,
    };
  };
}

/** Draws one of several texts, which are separated by commas. */
export function pick(random: RandomStream, texts: string): string {
  return random.choice(texts.split(", "));
}

export interface Person {
  name: string;
  /** "she" or "he", and "her" or "his" before a noun. */
  they: string;
  their: string;
}

const SHE =
  "Amina Beatriz Chloe Daria Elena Fatima Grace Hana Ingrid Jana Keiko Leila Mei Nadia Olga " +
  "Priya Rosa Sofia Tala Yara";
const HE =
  "Ahmed Boris Carlos Dmitri Emeka Felix Gustav Hugo Ivan Jonas Kofi Luca Mateo Nils Omar Pavel " +
  "Ravi Sami Tomas Victor";

const PEOPLE: readonly Person[] = [
  ...SHE.split(" ").map((name) => ({ name, they: "she", their: "her" })),
  ...HE.split(" ").map((name) => ({ name, they: "he", their: "his" })),
];

export function person(random: RandomStream): Person {
  return random.choice(PEOPLE);
}

/** Draws the names of `count` different people. The type has as many as any problem needs. */
export function names(
  random: RandomStream,
  count: number,
): [a: string, b: string, c: string, d: string] {
  return random.sample(PEOPLE, count).map(({ name }) => name) as [string, string, string, string];
}

/** A random multiple of `step` between the multiples `low` and `high`. */
export function multiple(random: RandomStream, low: number, high: number, step: number): number {
  return step * random.int(low / step, high / step);
}
