/**
 * The work that one rendering may do: a template is a program of a stranger, and it may loop
 * without end.
 */

/** Nodes that one rendering may evaluate. Long texts and lists, and `range`, count as more. */
const MAX_STEPS = 1_000_000;
/** A rendering that takes longer is ended, since single steps may also be slow. */
const MAX_SECONDS = 10;
/** The clock is read once in so many steps. */
const STEPS_PER_LOOK = 64;
/** Nodes inside each other, those of macros that call macros included: the stack is limited. */
const MAX_DEPTH = 500;

/**
 * The largest size of a value: the UTF-16 units of its texts, and 8 for each value in it
 * (weight.ts). A call compares what it will make with it beforehand, because no clock is looked at
 * inside of a call.
 */
export const MAX_SIZE = 1 << 22;
/** The longest text that a filter goes through by characters or words, each a value of its own. */
export const MAX_TAKEN_APART = 1 << 19;

/** A template took more work than is allowed. */
export class Endless extends Error {}

export class Budget {
  #steps = 0;
  #depth = 0;
  #nextLook = STEPS_PER_LOOK;
  readonly #end = performance.now() + MAX_SECONDS * 1000;

  count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new Endless(`it does not end (after ${MAX_STEPS} steps)`);
    if (this.#steps < this.#nextLook) return;
    this.#nextLook = this.#steps + STEPS_PER_LOOK;
    if (performance.now() > this.#end) throw new Endless(`it does not end (in ${MAX_SECONDS} s)`);
  }

  /** Goes one level deeper; `leave` comes back, unless an error ends the rendering. */
  enter(): void {
    this.count(1);
    if (++this.#depth > MAX_DEPTH) {
      throw new Endless("a macro calls itself without end, or too many parts stand in each other");
    }
  }

  leave(): void {
    this.#depth--;
  }
}
