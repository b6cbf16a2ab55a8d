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

/** A problem from its parts. The answer is the last number of the last step. */
export function story(
  variables: WordProblem["variables"],
  question: string,
  ...steps: string[]
): WordProblem {
  return { question, steps, answer: Number(/\d+(?=\D*$)/.exec(steps.at(-1)!)![0]), variables };
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

/** Draws `count` different people. */
export function people(random: RandomStream, count: number): Person[] {
  return random.sample(PEOPLE, count);
}

/** A multiple of `step` from low to high, which are multiples too. */
export function multiple(random: RandomStream, low: number, high: number, step: number): number {
  return step * random.int(low / step, high / step);
}
