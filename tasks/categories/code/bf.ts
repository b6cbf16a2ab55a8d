/** Brainf*ck programs; the question asks for their output. */
import type { RandomStream } from "../../../core/philox.ts";
import { defineTask, int, levels } from "../../define.ts";
import { exactScore } from "../../scoring_rules.ts";
import { wordsOfLength } from "../../text/words.ts";
import { BfCompiler } from "./bf_compiler.ts";
import { runBf } from "./bf_machine.ts";

const WORD_LENGTH = 5;
const TARGET = { min: 10, max: 240 };

export default defineTask({
  description: "Find the output of a Brainf*ck program.",
  ...exactScore("the output"),
  params: {
    difficulty: int(1, "1: prints a word, 2: adds in a loop, 3: adds in a loop with a condition", {
      min: 1,
      max: 3,
    }),
  },
  curriculum: {
    difficulty: levels([1, 2, 3], "what the program does"),
  },
  generate(random, { difficulty }) {
    const { source, code } = difficulty === 1
      ? printWord(random)
      : difficulty === 2
      ? sumLoop(random)
      : conditionalLoop(random);
    return {
      question: "What does this BF (Brainf*ck) program print?\n\n" +
        `${code}\n\nIt works on a row of cells, each a number from 0 to 255 that wraps around ` +
        "(255 + 1 = 0, 0 - 1 = 255). All are 0 at first, and the pointer is at the leftmost " +
        "cell. > and < move the pointer to the right and to the left, + and - add 1 to the cell " +
        "at the pointer and take 1 from it, . prints the character with the code in the cell, [ " +
        "jumps behind the matching ] if the cell is 0, and ] jumps back to the matching [ if the " +
        "cell is not 0. Answer with exactly what is printed, nothing else.",
      answer: runBf(code),
      metadata: { bfit_code: source, bf_program: code },
    };
  },
});

interface Program {
  /** The equivalent program in a language like C. */
  source: string;
  code: string;
}

function main(...lines: string[]): string {
  return `\nint main() {\n${lines.map((line) => `    ${line}\n`).join("")}}\n`;
}

function printWord(random: RandomStream): Program {
  const word = random.choice(wordsOfLength(WORD_LENGTH));
  const compiler = new BfCompiler();
  compiler.printText(word);
  return { source: main(`print("${word}");`), code: compiler.code };
}

/** Cells: the sum, the rest to the target (0 ends the loop), the rest to a threshold, a helper. */
const SUM = 0, LEFT = 1, UNDER = 2, HELPER = 3;

function sumLoop(random: RandomStream): Program {
  const x = random.int(1, 4), y = random.int(1, 5), target = random.int(TARGET.min, TARGET.max);
  const compiler = new BfCompiler();
  compiler.set(LEFT, target, HELPER);
  compiler.loop(LEFT, () => {
    compiler.add(SUM, x);
    compiler.add(SUM, y);
    compiler.takeAway(LEFT, x + y);
  });
  compiler.printNumber(SUM);
  const source = main(
    "int sum = 0;",
    `while (sum < ${target}) {`,
    `    sum = sum + ${x};`,
    `    sum = sum + ${y};`,
    "}",
    "printint(sum);",
  );
  return { source, code: compiler.code };
}

function conditionalLoop(random: RandomStream): Program {
  const x = random.int(1, 7), y = random.int(1, 9), target = random.int(TARGET.min, TARGET.max);
  const threshold = random.int(1, target - 1);
  const compiler = new BfCompiler();
  compiler.set(LEFT, target, HELPER);
  // This cell becomes 0 as soon as the sum is above the threshold.
  compiler.set(UNDER, threshold + 1, HELPER);
  compiler.loop(LEFT, () => {
    compiler.add(SUM, x);
    compiler.takeAway(LEFT, x);
    compiler.takeAway(UNDER, x);
    compiler.ifZero(UNDER, () => {
      compiler.add(SUM, y);
      compiler.takeAway(LEFT, y);
    });
  });
  compiler.printNumber(SUM);
  const source = main(
    "int sum = 0;",
    `while (sum < ${target}) {`,
    `    sum = sum + ${x};`,
    `    if (sum > ${threshold}) {`,
    `        sum = sum + ${y};`,
    "    }",
    "}",
    "printint(sum);",
  );
  return { source, code: compiler.code };
}
