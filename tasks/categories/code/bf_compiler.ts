/**
 * Writes Brainf*ck programs: an assembler over numbered cells, and the statements that the task
 * needs.
 */

/** Cells behind the variables. A statement uses them and leaves them at 0. */
const COUNTER = 10, COPY = 11, BACK = 12, FLAG = 13, TEN = 14, DIGIT = 15;
const BASE = 10;
const ZERO_CODE = 48;

export class BfCompiler {
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
