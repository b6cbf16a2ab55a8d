/**
 * Sums of long vectors over ranks, in the fixed order of `sum_tree.ts`. A rank sends each other
 * rank a slice of its partial sums, adds up the slice that it gets from all, and sends the result
 * back. So it sends about twice the vector, as in a ring. Long vectors are summed a window at a
 * time, which bounds the memory on the host. Where MPI can read or write the vectors themselves,
 * nothing is copied.
 */
import {
  cutBF16Into,
  narrowBF16,
  narrowBF16Into,
  widenBF16,
  widenBF16Into,
} from "../core/half_floats.ts";
import { addInto, nodesOf, PartialSums, shareOf, type TreeNode } from "./sum_tree.ts";
import { type Blocks, consecutive, type Transport } from "./transport.ts";

export type FloatArray = Float32Array | Float64Array;

/** A partial sum that this rank has: a node of the tree. */
export interface PartialSum {
  node: TreeNode;
  /**
   * Elements [begin, end), read when they are needed. Without slices they may be changed, and each
   * is read once.
   */
  read(begin: number, end: number): FloatArray | Promise<FloatArray>;
}

/** The vector that is summed. */
export interface SummedVector {
  length: number;
  /** Makes an array of zeros. */
  create(length: number): FloatArray;
  /** Takes summed elements from `at` on. */
  write(values: FloatArray, at: number): void;
}

/** Elements [begin, end) of a vector. */
export type Slice = readonly [begin: number, end: number];

export interface SumOptions {
  /**
   * The part of the sum that each rank needs, and gets; they may overlap. Default: all of them need
   * all of it.
   */
  slices?: readonly Slice[];
  /**
   * Values are bfloat16 on the wire, rounded to the nearest: the partial sums that ranks send, and
   * the whole sum. They are added in float32. Default false.
   */
  halves?: boolean;
  /** With `halves`: each sum of two values of the tree is rounded. Default false. */
  rounded?: boolean;
}

/** Elements of a window: 16 MB of floats. */
export const WINDOW = 2 ** 22;

/** Rounds values to bfloat16. */
function round(values: FloatArray): FloatArray {
  const halves = narrowBF16(values);
  if (values instanceof Float32Array) widenBF16Into(halves, values);
  else values.set(widenBF16(halves));
  return values;
}

/** @param rounded whether the values are bfloat16 already */
function toHalves(values: FloatArray, out: Uint16Array, rounded: boolean): void {
  if (rounded && values instanceof Float32Array) cutBF16Into(values, out);
  else narrowBF16Into(values, out);
}

export class VectorSums {
  /** Memory of messages, which is used again. */
  readonly #rooms = { sent: new ArrayBuffer(0), received: new ArrayBuffer(0) };

  /** @param window elements that are summed at a time */
  constructor(
    private readonly transport: Transport,
    private readonly alarm: () => void,
    private readonly window = WINDOW,
  ) {}

  /**
   * Sums vectors, and passes the sum, or this rank's slice of it, to `vector.write`. The elements
   * of a window are read while those of the one before are summed.
   * @param count number of vectors, which are dealt to the ranks by {@link shareOf}
   * @param own the partial sums of this rank, from left to right
   */
  async sum(
    count: number,
    own: readonly PartialSum[],
    vector: SummedVector,
    { slices, halves = false, rounded = false }: SumOptions = {},
  ): Promise<void> {
    const { size, rank } = this.transport;
    const nodes = Array.from(
      { length: size },
      (_, other) => nodesOf(...shareOf(count, other, size), count),
    );
    const join = (left: FloatArray, right: FloatArray) => {
      addInto(left, right);
      return rounded ? round(left) : left;
    };
    const all = windows(vector.length, size, this.window, slices);
    const [start, stop] = slices?.[rank] ?? [0, 0];
    // Written at the end: other ranks still need this rank's part of it.
    const slice = vector.create(stop - start);
    let coming = all.length === 0 ? null : read(own, all[0]!);
    for (const [number, window] of all.entries()) {
      const pieces = await coming!, next = all[number + 1];
      coming = next === undefined ? null : read(own, next);
      // If this window fails, nobody waits for the next one.
      coming?.catch(() => {});
      const [begin, end] = window.parts[rank]!;
      const about = { nodes, pieces, vector, window, halves, rounded };
      const values = await this.#exchange(about);
      const sums = new PartialSums<FloatArray>(count, join);
      nodes.forEach((list, from) => list.forEach((node, i) => sums.push(node, values[from]![i]!)));
      const total = sums.values[0]?.value ?? vector.create(end - begin);
      if (halves && !rounded) round(total);
      if (slices !== undefined) slice.set(total, begin - start);
      else vector.write(await this.#gather(total, about), window.first);
    }
    if (slices !== undefined) vector.write(slice, start);
  }

  /** For each rank, the slices of its nodes that this rank adds up. */
  async #exchange(about: Exchange): Promise<FloatArray[][]> {
    const { nodes, pieces, vector, window: { parts }, halves, rounded } = about;
    const { rank } = this.transport, [begin, end] = parts[rank]!, width = end - begin;
    const each = halves ? 2 : vector.create(0).BYTES_PER_ELEMENT;
    const received = this.#blocks(
      "received",
      nodes.map((list, from) => from === rank ? 0 : list.length * width * each),
    );
    await this.transport.exchange(this.#sent(about, each), received, this.alarm);
    return nodes.map((list, from) =>
      list.map((_, i) => {
        if (from === rank) {
          const value = pieces.of(i, rank);
          return halves && !rounded ? round(value) : value;
        }
        const { buffer, byteOffset } = received.bytes;
        const at = byteOffset + received.starts[from]! + i * width * each;
        if (halves) return widenBF16(new Uint16Array(buffer, at, width));
        return arrayOf(vector.create(0), width, buffer, at);
      })
    );
  }

  /** What this rank sends: the slices of its partial sums. */
  #sent(about: Exchange, each: number): Blocks {
    const { pieces, vector, window: { first, parts }, rounded } = about;
    const { rank } = this.transport, { count, whole } = pieces;
    const lengths = parts.map(([begin, end], to) => to === rank ? 0 : count * (end - begin) * each);
    // MPI can read the slices of one vector where they are.
    if (count === 1 && whole !== null && each > 2) {
      const starts = parts.map(([begin]) => (begin - first) * each);
      return { bytes: bytesOf(whole[0]!), starts, lengths };
    }
    const blocks = this.#blocks("sent", lengths), { buffer, byteOffset } = blocks.bytes;
    parts.forEach(([begin, end], to) => {
      if (to === rank) return;
      for (let i = 0; i < count; i++) {
        const at = byteOffset + blocks.starts[to]! + i * (end - begin) * each;
        const part = pieces.of(i, to);
        if (each === 2) toHalves(part, new Uint16Array(buffer, at, part.length), rounded);
        else arrayOf(vector.create(0), part.length, buffer, at).set(part);
      }
    });
    return blocks;
  }

  /** The sum of a window, whose slices are consecutive and summed by one rank each. */
  async #gather(total: FloatArray, about: Exchange): Promise<FloatArray> {
    const { pieces: { whole }, window: { first, last, parts }, vector, halves } = about;
    const { rank } = this.transport, out = whole?.[0] ?? vector.create(last - first);
    const each = halves ? 2 : out.BYTES_PER_ELEMENT, at = parts[rank]![0] - first;
    const lengths = parts.map(([begin, end]) => (end - begin) * each);
    if (!halves) {
      // For the first rank, the total is there already.
      if (total.buffer !== out.buffer) out.set(total, at);
      await this.transport.gatherParts(consecutive(lengths, bytesOf(out)), this.alarm);
      return out;
    }
    const blocks = this.#blocks("received", lengths), { buffer, byteOffset } = blocks.bytes;
    const words = new Uint16Array(buffer, byteOffset, out.length);
    // It is rounded already.
    toHalves(total, words.subarray(at), true);
    await this.transport.gatherParts(blocks, this.alarm);
    if (out instanceof Float32Array) widenBF16Into(words, out);
    else out.set(widenBF16(words));
    return out;
  }

  /** Consecutive parts in memory that is used again. */
  #blocks(room: "sent" | "received", lengths: readonly number[]): Blocks {
    const total = lengths.reduce((sum, length) => sum + length, 0);
    if (this.#rooms[room].byteLength < total) this.#rooms[room] = new ArrayBuffer(total);
    return consecutive(lengths, new Uint8Array(this.#rooms[room], 0, total));
  }
}

/** What is summed at a time. */
interface Window {
  /** The slices of the ranks. */
  parts: readonly Slice[];
  /** Whether they are consecutive: then they are elements [first, last). */
  isWhole: boolean;
  first: number;
  last: number;
}

/** The elements of a window of this rank's partial sums. */
interface Pieces {
  /** Number of partial sums. */
  count: number;
  /** All elements of each partial sum, where the slices are consecutive. */
  whole: readonly FloatArray[] | null;
  /** Those of partial sum `index` for a rank. */
  of(index: number, rank: number): FloatArray;
}

interface Exchange {
  nodes: readonly (readonly TreeNode[])[];
  pieces: Pieces;
  vector: SummedVector;
  window: Window;
  halves: boolean;
  rounded: boolean;
}

async function read(own: readonly PartialSum[], window: Window): Promise<Pieces> {
  const { parts, isWhole, first, last } = window, count = own.length;
  if (isWhole) {
    const whole: FloatArray[] = [];
    for (const partial of own) whole.push(await partial.read(first, last));
    const of = (index: number, rank: number) => {
      const [begin, end] = parts[rank]!;
      return whole[index]!.subarray(begin - first, end - first);
    };
    return { count, whole: count === 0 ? null : whole, of };
  }
  // Copies, because another window may send some of them again.
  const slices: FloatArray[][] = [];
  for (const partial of own) {
    const list: FloatArray[] = [];
    for (const [begin, end] of parts) list.push((await partial.read(begin, end)).slice());
    slices.push(list);
  }
  return { count, whole: null, of: (index, rank) => slices[index]![rank]! };
}

function windows(
  length: number,
  size: number,
  window: number,
  slices: readonly Slice[] | undefined,
): Window[] {
  const all: Window[] = [];
  if (slices === undefined) {
    for (let first = 0; first < length; first += window) {
      const width = Math.min(window, length - first);
      const parts = Array.from({ length: size }, (_, rank): Slice => {
        const [begin, end] = shareOf(width, rank, size);
        return [first + begin, first + end];
      });
      all.push({ parts, isWhole: true, first, last: first + width });
    }
    return all;
  }
  const most = Math.max(...slices.map(([begin, end]) => end - begin));
  const step = Math.ceil(window / size);
  for (let at = 0; at < most; at += step) {
    const parts = slices.map(([begin, end]): Slice => [
      Math.min(end, begin + at),
      Math.min(end, begin + at + step),
    ]);
    all.push({ parts, isWhole: false, first: 0, last: length });
  }
  return all;
}

/** An array of the kind of `like`. */
function arrayOf(like: FloatArray, length: number, bytes: ArrayBufferLike, at: number): FloatArray {
  return like instanceof Float32Array
    ? new Float32Array(bytes, at, length)
    : new Float64Array(bytes, at, length);
}

function bytesOf({ buffer, byteOffset, byteLength }: FloatArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
