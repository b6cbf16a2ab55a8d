/** Arithmetic on vectors of the host in machine code, where this processor has native kernels. */
import {
  PLAIN_ARITHMETIC,
  requireSameLength,
  type VectorArithmetic,
} from "../../core/vector_arithmetic.ts";
import { wantedLibraries } from "./choice.ts";

const SYMBOLS = {
  add_values: { parameters: ["buffer", "buffer", "buffer", "usize"], result: "void" },
  round_values: { parameters: ["buffer", "usize"], result: "void" },
  narrow_values: { parameters: ["buffer", "buffer", "usize"], result: "void" },
  widen_values: { parameters: ["buffer", "buffer", "usize"], result: "void" },
} as const;

/** Floats are done by native code, doubles by the plain functions. */
function open(path: string): VectorArithmetic {
  const { add_values, round_values, narrow_values, widen_values } =
    Deno.dlopen(path, SYMBOLS).symbols;
  // Deno's types know views of an ArrayBuffer only; it takes those of shared memory, too.
  const own = (array: Float32Array | Uint16Array) => array as Float32Array<ArrayBuffer>;
  const isFloat = (array: unknown) => array instanceof Float32Array;
  return {
    add(out, a, b) {
      if (!isFloat(out) || !isFloat(a) || !isFloat(b)) return PLAIN_ARITHMETIC.add(out, a, b);
      requireSameLength(out, a, b);
      add_values(own(out), own(a), own(b), BigInt(out.length));
    },
    round(values) {
      if (!isFloat(values)) return PLAIN_ARITHMETIC.round(values);
      round_values(own(values), BigInt(values.length));
    },
    narrow(values, out) {
      if (!isFloat(values)) return PLAIN_ARITHMETIC.narrow(values, out);
      requireSameLength(values, out);
      narrow_values(own(values), own(out), BigInt(out.length));
    },
    widen(halves, out) {
      if (!isFloat(out)) return PLAIN_ARITHMETIC.widen(halves, out);
      requireSameLength(halves, out);
      widen_values(own(halves), own(out), BigInt(out.length));
    },
  };
}

/** Patterns of floats that are rounded in every way: ties, carries, infinities, NaN. */
function samples(): Float32Array<ArrayBuffer> {
  const words = Uint32Array.from({ length: 999 }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
  words.set([0, 0x80000000, 1, 0x3f808000, 0x3f818000, 0x7f7fffff, 0x7f800000, 0xff800000]);
  words.set([0x7f800001, 0xffc12345, 0x00008000, 0x00018000], 8);
  return new Float32Array(words.buffer);
}

/** What the functions make of the samples, as words. */
function results({ add, round, narrow, widen }: VectorArithmetic): Uint32Array[] {
  const values = samples(), rounded = values.slice(), sums = values.slice();
  // Which of two NaN a sum keeps is not defined.
  const finite = values.map((value) => Number.isFinite(value) ? value : 1);
  add(sums, finite, finite.toReversed());
  round(rounded);
  const halves = new Uint16Array(values.length), widened = values.slice();
  narrow(values, halves);
  widen(halves, widened);
  return [sums, rounded, widened].map(({ buffer }) => new Uint32Array(buffer));
}

/** Whether the functions have the bits of the plain ones. */
export function hasPlainBits(arithmetic: VectorArithmetic): boolean {
  const expected = results(PLAIN_ARITHMETIC);
  return results(arithmetic).every((words, i) =>
    words.every((word, j) => word === expected[i]![j])
  );
}

let chosen: VectorArithmetic | undefined;

/** Native arithmetic where it can be used and has the same bits, else the plain functions. */
export function vectorArithmetic(): VectorArithmetic {
  return chosen ??= choose();
}

function choose(): VectorArithmetic {
  const code = wantedLibraries().codes[0];
  if (code === undefined) return PLAIN_ARITHMETIC;
  const native = open(code.path);
  return hasPlainBits(native) ? native : PLAIN_ARITHMETIC;
}
