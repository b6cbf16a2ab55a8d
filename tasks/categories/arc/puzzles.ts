/**
 * The 800 public puzzles of ARC-AGI-1. Licence: `assets/LICENCE.md`. A puzzle is one line: the part
 * (`t` or `e`) and the id, a `>` before the pairs that show the rule, another `>` before the test
 * pairs, and input and output of each pair. The items are separated by spaces. A board is its rows
 * of digits with a slash between rows.
 */
import { readCompressedAsset } from "../../asset.ts";
import type { Board, Pair } from "./boards.ts";

export interface Puzzle {
  id: string;
  /** The pairs that show the rule. */
  examples: Pair[];
  /** The first test pair. */
  test: Pair;
}

/** The lines of both parts, read once. */
let parts: { train: string[]; evaluation: string[] } | undefined;

/** The number of puzzles in the training part and in the evaluation part. */
export function puzzleCounts(): { train: number; evaluation: number } {
  const { train, evaluation } = readParts();
  return { train: train.length, evaluation: evaluation.length };
}

/** Puzzle `index` of a part, in the order of the ids. */
export function puzzle(part: "train" | "evaluation", index: number): Puzzle {
  const [id, examples, test] = readParts()[part][index]!.split(" > ");
  return { id: id!, examples: readPairs(examples!), test: readPairs(test!)[0]! };
}

function readParts() {
  if (parts === undefined) {
    parts = { train: [], evaluation: [] };
    for (const line of readCompressedAsset("arc.br").split("\n")) {
      if (line !== "") parts[line[0] === "t" ? "train" : "evaluation"].push(line.slice(1));
    }
  }
  return parts;
}

function readPairs(text: string): Pair[] {
  const boards = text.split(" ").map(readBoard);
  return Array.from(
    { length: boards.length / 2 },
    (_, i) => ({ input: boards[2 * i]!, output: boards[2 * i + 1]! }),
  );
}

function readBoard(text: string): Board {
  return text.split("/").map((row) => {
    const colors = new Array<number>(row.length);
    for (let i = 0; i < row.length; i++) colors[i] = row.charCodeAt(i) - 48;
    return colors;
  });
}
