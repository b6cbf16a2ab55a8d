/** Brainf*ck programs; the question asks for their output. */
import { defineTask, exactScore, int, type RandomStream } from "../../define.ts";
import { wordsOfLength } from "../../text/words.ts";

const WORD_LENGTH = 5;
const TARGET = { min: 10, max: 240 };

export default defineTask({
  description: "Find the output of a Brainf*ck program.",
  ...exactScore("the output"),
  params: {
    difficulty: int(1, "1: prints a word, 2: adds in a loop, 3: adds in a loop with a condition", {
      min: 1,
      max: 3,
      levels: [1, 2, 3],
    }),
  },
  generate(random, { difficulty }) {
    const { source, code, output } = difficulty === 1
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
      answer: output,
      metadata: { bfit_code: source, bf_program: code },
    };
  },
});

interface Program {
  /** The equivalent program in a language like C. */
  source: string;
  code: string;
  output: string;
}

function main(...lines: string[]): string {
  return `\nint main() {\n${lines.map((line) => `    ${line}\n`).join("")}}\n`;
}

function printWord(random: RandomStream): Program {
  const word = random.choice(wordsOfLength(WORD_LENGTH));
  const compiler = new BfCompiler();
  compiler.printText(word);
  return { source: main(`print("${word}");`), code: compiler.code, output: word };
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
  const rounds = Math.ceil(target / (x + y));
  return { source, code: compiler.code, output: String(rounds * (x + y)) };
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
  let sum = 0;
  while (sum < target) sum += sum + x > threshold ? x + y : x;
  return { source, code: compiler.code, output: String(sum) };
}

/**
 * Writes Brainf*ck programs: an assembler over numbered cells, and the statements that the task
 * needs.
 */

/** Cells behind the variables. A statement uses them and leaves them at 0. */
const COUNTER = 10, COPY = 11, BACK = 12, FLAG = 13, TEN = 14, DIGIT = 15;
const BASE = 10;
const ZERO_CODE = 48;

class BfCompiler {
  #code = "";
  #at = 0;

  get code(): string {
    return this.#code;
  }

  #go(cell: number): void {
    this.#code += cell > this.#at ? ">".repeat(cell - this.#at) : "<".repeat(this.#at - cell);
    this.#at = cell;
  }

  add(cell: number, amount: number): void {
    this.#go(cell);
    this.#code += amount < 0 ? "-".repeat(-amount) : "+".repeat(amount);
  }

  print(cell: number): void {
    this.#go(cell);
    this.#code += ".";
  }

  clear(cell: number): void {
    this.#go(cell);
    this.#code += "[-]";
  }

  /** Repeats while the cell is not 0. */
  loop(cell: number, body: () => void): void {
    this.#go(cell);
    this.#code += "[";
    body();
    this.#go(cell);
    this.#code += "]";
  }

  /** Sets a cell that is 0. It uses a product when that is shorter. */
  set(cell: number, value: number, helper: number): void {
    const side = Math.round(Math.sqrt(value));
    if (side < 4) return this.add(cell, value);
    this.add(helper, side);
    this.loop(helper, () => {
      this.add(cell, side);
      this.add(helper, -1);
    });
    this.add(cell, value - side * side);
  }

  /** Prints a text with a single cell, by the difference from each character to the next. */
  printText(text: string): void {
    const cell = 0;
    let value = 0;
    for (const character of text) {
      const code = character.codePointAt(0)!;
      if (value === 0) this.set(cell, code, 1);
      else this.add(cell, code - value);
      this.print(cell);
      value = code;
    }
  }

  #copy(cell: number): void {
    this.loop(cell, () => {
      this.add(cell, -1);
      this.add(COPY, 1);
      this.add(BACK, 1);
    });
    this.loop(BACK, () => {
      this.add(BACK, -1);
      this.add(cell, 1);
    });
  }

  ifNotZero(cell: number, body: () => void): void {
    this.#copy(cell);
    this.loop(COPY, () => {
      this.clear(COPY);
      body();
    });
  }

  ifZero(cell: number, body: () => void): void {
    this.add(FLAG, 1);
    this.ifNotZero(cell, () => this.add(FLAG, -1));
    this.loop(FLAG, () => {
      this.add(FLAG, -1);
      body();
    });
  }

  /** Subtracts `amount` from a cell, but stops at 0. */
  takeAway(cell: number, amount: number): void {
    this.add(COUNTER, amount);
    this.loop(COUNTER, () => {
      this.add(COUNTER, -1);
      this.ifNotZero(cell, () => this.add(cell, -1));
    });
  }

  /**
   * Writes quotient and remainder of a cell by ten into two cells that are 0. The cell becomes 0.
   */
  #divideByTen(cell: number, quotient: number, remainder: number): void {
    this.add(TEN, BASE);
    this.loop(cell, () => {
      this.add(cell, -1);
      this.add(TEN, -1);
      this.ifZero(TEN, () => {
        this.add(quotient, 1);
        this.add(TEN, BASE);
      });
    });
    this.add(remainder, BASE);
    this.loop(TEN, () => {
      this.add(TEN, -1);
      this.add(remainder, -1);
    });
  }

  /** Prints a cell as a decimal number without leading zeros. The cell becomes 0. */
  printNumber(cell: number): void {
    const rest = DIGIT + 1, hundreds = DIGIT + 2, tens = DIGIT + 3, ones = DIGIT;
    this.#divideByTen(cell, rest, ones);
    this.#divideByTen(rest, hundreds, tens);
    const printDigit = (digit: number) => {
      this.add(digit, ZERO_CODE);
      this.print(digit);
      this.add(digit, -ZERO_CODE);
    };
    // If there are hundreds, the tens digit is always printed.
    const shown = DIGIT + 4;
    this.ifNotZero(tens, () => this.add(shown, 1));
    this.ifNotZero(hundreds, () => {
      printDigit(hundreds);
      this.clear(shown);
      this.add(shown, 1);
    });
    this.loop(shown, () => {
      this.clear(shown);
      printDigit(tens);
    });
    printDigit(ones);
  }
}
