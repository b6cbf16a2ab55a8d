/** The interface of a reference function of codeio, and helpers to draw inputs. */
import type { RandomStream } from "../../../../core/philox.ts";
import { consecutive } from "../../../define.ts";

export type Json = number | string | boolean | Json[] | { [key: string]: Json };

export interface Snippet {
  /** The function. It must not change its input. */
  run: (input: never) => unknown;
  /** Difficulty from 1 (a line of arithmetic) to 10. */
  level: number;
  /** A description for people. */
  purpose: string;
  /** Descriptions of the fields of the input and of the output. */
  input: string;
  output: string;
  /** Whether the input follows from the output, so that the question can ask for it. */
  reversible?: boolean;
  draw(random: RandomStream): { [field: string]: Json };
}

/** Between `minimum` and `maximum` numbers. */
export function numbers(
  random: RandomStream,
  [minimum, maximum]: readonly [number, number],
  [low, high]: readonly [number, number],
): number[] {
  return Array.from({ length: random.int(minimum, maximum) }, () => random.int(low, high));
}

export function distinctNumbers(
  random: RandomStream,
  count: number,
  [low, high]: readonly [number, number],
): number[] {
  return random.sample(consecutive(low, high), count);
}

export function letters(
  random: RandomStream,
  [minimum, maximum]: readonly [number, number],
  alphabet = "abcdefghijklmnopqrstuvwxyz",
): string {
  return numbers(random, [minimum, maximum], [0, alphabet.length - 1])
    .map((place) => alphabet[place]).join("");
}

export function picture(
  random: RandomStream,
  rows: number,
  columns: number,
  share: number,
): string[] {
  return Array.from(
    { length: rows },
    () => Array.from({ length: columns }, () => random.chance(share) ? "#" : ".").join(""),
  );
}
