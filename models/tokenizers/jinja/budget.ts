/**
 * The work that one rendering may do, and the sizes of values: a template is a program of a
 * stranger, which may loop without end and make large values in few steps.
 */
import { PyDict, PyTuple } from "../../../tasks/python/literals.ts";
import { Lazy, Markup, type Value } from "./values.ts";

/** Nodes that one rendering may evaluate. Long texts and lists, and `range`, count as more. */
const MAX_STEPS = 1_000_000;
/** A rendering that takes longer is ended, since single steps may also be slow. */
const MAX_SECONDS = 10;
/** The clock is read once in so many steps. */
const STEPS_PER_LOOK = 64;
/** Nodes inside each other, those of macros that call macros included: the stack is limited. */
const MAX_DEPTH = 500;

/**
 * The largest size of a value: the UTF-16 units of its texts, and 8 for each value in it. A call
 * compares what it will make with it beforehand, because no clock is looked at inside of a call.
 */
export const MAX_SIZE = 1 << 22;
/** The longest text that a filter goes through by characters or words, each a value of its own. */
export const MAX_TAKEN_APART = 1 << 19;

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

/** What each value counts as, besides its characters. */
const OWN = 8;
/** So many characters, or items, are gone through in the time of a step. */
const STEP_CHARACTERS = 1024, STEP_ITEMS = 128;

/** A list never changes. Its weight is kept, so that a list of lists adds few numbers. */
const known = new WeakMap<object, number>();

/**
 * The UTF-16 units of all texts in a value, and 8 for each value. What stands in it twice counts
 * twice, because it is also printed and compared twice: `[l, l]` weighs twice as much as `l`.
 */
export function weightOf(value: Value): number {
  if (typeof value === "string") return OWN + value.length;
  if (value instanceof Markup) return OWN + value.text.length;
  if (typeof value !== "object" || value === null) return OWN;
  const kept = known.get(value);
  if (kept !== undefined) return kept;
  let weight = OWN;
  for (const item of itemsIn(value)) weight += weightOf(item);
  known.set(value, weight);
  return weight;
}

export function stepsOf(value: Value): number {
  if (typeof value === "string") return Math.floor(value.length / STEP_CHARACTERS);
  if (value instanceof Markup) return Math.floor(value.text.length / STEP_CHARACTERS);
  // The numbers of a range have been made just now.
  if (value instanceof Lazy && value.kind === "range") return value.items.length;
  const length = value instanceof PyDict ? value.size : itemsIn(value).length;
  return Math.floor(length / STEP_ITEMS);
}

function itemsIn(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof PyTuple || value instanceof Lazy) return value.items;
  return value instanceof PyDict ? value.entries.flat() : [];
}
