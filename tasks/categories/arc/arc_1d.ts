/**
 * One-dimensional puzzles in the style of ARC: 70 rules that turn a row of colours into another
 * one.
 */
import { counts, defineTask, exactScore, int, type RandomStream } from "../../define.ts";
import { CHANGE_RULES } from "./row_changes.ts";
import { MOVE_RULES } from "./row_moves.ts";
import type { Row, RowPair, RowRule } from "./rows.ts";

/** Maximum number of draws of a pair. Every rule needs far fewer, even for the shortest rows. */
const MAX_TRIES = 10_000;

export const ROW_RULES: Readonly<Record<string, RowRule>> = { ...MOVE_RULES, ...CHANGE_RULES };
const NAMES = Object.keys(ROW_RULES).sort();

export default defineTask({
  description: "Find the rule behind pairs of rows of numbers.",
  ...exactScore("the row"),
  params: {
    size: counts([10, 30], "cells of a row", { min: 8, max: 10_000, levels: [10, 25, 50, 100] }),
    num_train: int(3, "pairs that show the rule", { min: 1, max: 1000 }),
  },
  generate(random, config) {
    const name = random.choice(NAMES);
    const size = random.int(config.min_size, config.max_size);
    const pairs = Array.from(
      { length: config.num_train + 1 },
      () => drawPair(random, ROW_RULES[name]!, size),
    );
    const test = pairs.pop()!;
    const shown = pairs.map(({ input, output }, i) =>
      `Example ${i + 1}\nInput:  ${rowText(input)}\nOutput: ${rowText(output)}\n\n`
    );
    return {
      question:
        "One rule turns each input row below into its output row; 0 is the background.\n\n" +
        `${shown.join("")}Find the rule and apply it to this input:\n${rowText(test.input)}\n\n` +
        "Answer with the output row only: digits separated by single spaces.",
      answer: rowText(test.output),
      metadata: { task_name: name, size, train_examples: pairs, test_example: test },
    };
  },
});

/** @throws Error for a rule that never gives a pair for rows of this size */
function drawPair(random: RandomStream, rule: RowRule, size: number): RowPair {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const pair = rule(random, size);
    if (pair !== null && pair.input.some((color, i) => color !== pair.output[i])) return pair;
  }
  throw new Error(`arc_1d: no pair of ${size} cells in ${MAX_TRIES} draws`);
}

function rowText(row: Row): string {
  return row.join(" ");
}
