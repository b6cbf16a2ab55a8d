/**
 * Sums of long vectors over ranks, in the fixed order of `sum_tree.ts`. A rank sends each other
 * rank a slice of its partial sums, adds up the slice that it gets from all, and sends the result
 * back. So it sends about twice the vector, as in a ring. Long vectors are summed a window at a
 * time, which bounds the memory on the host, and windows a chunk at a time, which fits the cache of
 * a core. Where MPI can read or write the vectors themselves, nothing is copied.
 */
import {
  type FloatArray,
  PLAIN_ARITHMETIC,
  type VectorArithmetic,
} from "../../core/vector_arithmetic.ts";
import { nodesOf, PartialSums, shareOf, type TreeNode } from "./sum_tree.ts";
import { type Blocks, consecutive, type Transport } from "./transport.ts";

/** A partial sum that this rank has: a node of the tree. */
export interface PartialSum {
  node: TreeNode;
  /**
   * Elements [begin, end), read when they are needed. Without slices each element is read once, and
   * the array may be changed.
   */
  read(begin: number, end: number): FloatArray | Promise<FloatArray>;
}

export interface SummedVector {
  length: number;
  create(length: number): FloatArray;
  /** Stores summed elements, from element `at` on. */
  write(values: FloatArray, at: number): void;
}

export type Slice = readonly [begin: number, end: number];

export interface SumOptions {
  /**
   * The part of the sum that each rank gets. Parts may overlap. Default: each rank gets the whole
   * sum.
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

/** Elements of a chunk of each rank's slice: 512 kB of floats. */
export const CHUNK = 2 ** 17;

export interface SumMeans {
  /** Default: the plain functions. */
  arithmetic?: VectorArithmetic;
  /** Elements of a window. Default {@link WINDOW}. */
  window?: number;
  /** Elements of a chunk. Default {@link CHUNK}. */
  chunk?: number;
}

export class VectorSums {
  /** Memory for messages, which is reused. */
  readonly #rooms = {
    sent: new ArrayBuffer(0),
    received: new ArrayBuffer(0),
    widened: new ArrayBuffer(0),
  };
  readonly #arithmetic: VectorArithmetic;
  readonly #window: number;
  readonly #chunk: number;

  constructor(
    private readonly transport: Transport,
    private readonly alarm: () => void,
    { arithmetic = PLAIN_ARITHMETIC, window = WINDOW, chunk = CHUNK }: SumMeans = {},
  ) {
    this.#arithmetic = arithmetic;
    this.#window = window;
    this.#chunk = chunk;
  }

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
    const all = windows(vector.length, size, this.#window, slices);
    const [start, stop] = slices?.[rank] ?? [0, 0];
    // Written at the end: other ranks still need this rank's part of it.
    const slice = vector.create(stop - start);
    let coming = all.length === 0 ? null : read(own, all[0]!);
    for (const [number, window] of all.entries()) {
      const pieces = await coming!, next = all[number + 1], { first, last } = window;
      coming = next === undefined ? null : read(own, next);
      // If this window fails, no error of the next one may stay unhandled.
      coming?.catch(() => {});
      const out = slices === undefined
        ? { values: pieces.whole?.[0] ?? vector.create(last - first), first }
        : { values: slice, first: start };
      // The ranks meet once for each window. After that, no rank is late.
      let alarm: (() => void) | null = this.alarm;
      for (const parts of chunksOf(window.parts, this.#chunk)) {
        const about = { nodes, pieces, vector, parts, out, halves, rounded };
        const values = await this.#exchange(about, alarm);
        alarm = null;
        this.#add(count, values, about);
        if (slices === undefined) await this.#gather(about);
      }
      if (slices === undefined) vector.write(out.values, first);
    }
    if (slices !== undefined) vector.write(slice, start);
  }

  /** For each rank, the slices of its nodes that this rank adds up. */
  async #exchange(about: Exchange, alarm: (() => void) | null): Promise<FloatArray[][]> {
    const { nodes, pieces, vector, parts, halves, rounded } = about;
    const { rank } = this.transport, [begin, end] = parts[rank]!, width = end - begin;
    const like = vector.create(0), each = halves ? 2 : like.BYTES_PER_ELEMENT;
    const lengths = (bytes: number) =>
      nodes.map((list, from) => from === rank ? 0 : list.length * width * bytes);
    const received = this.#blocks("received", lengths(each));
    const floats = halves ? this.#blocks("widened", lengths(like.BYTES_PER_ELEMENT)) : received;
    await this.transport.exchange(this.#sent(about, each), received, alarm);
    return nodes.map((list, from) =>
      list.map((_, i) => {
        if (from === rank) {
          const value = pieces.of(i, parts[rank]!, rank);
          if (halves && !rounded) this.#arithmetic.round(value);
          return value;
        }
        const values = arrayOf(like, width, floats, from, i);
        if (halves) this.#arithmetic.widen(halvesOf(width, received, from, i), values);
        return values;
      })
    );
  }

  /** The slices of the partial sums that this rank sends. */
  #sent(about: Exchange, each: number): Blocks {
    const { pieces, parts } = about;
    const { rank } = this.transport, { count, whole } = pieces;
    const lengths = parts.map(([begin, end], to) => to === rank ? 0 : count * (end - begin) * each);
    // MPI can read the slices of one vector where they are.
    if (count === 1 && whole !== null && each > 2) {
      const starts = parts.map(([begin]) => (begin - pieces.first) * each);
      return { bytes: bytesOf(whole[0]!), starts, lengths };
    }
    const blocks = this.#blocks("sent", lengths);
    parts.forEach((slice, to) => {
      if (to === rank) return;
      for (let i = 0; i < count; i++) {
        const part = pieces.of(i, slice, to), { length } = part;
        if (each === 2) this.#arithmetic.narrow(part, halvesOf(length, blocks, to, i));
        else arrayOf(part, length, blocks, to, i).set(part);
      }
    });
    return blocks;
  }

  /** Adds up this rank's slice, in the order of the tree, and puts the sum in its place. */
  #add(count: number, values: readonly (readonly FloatArray[])[], about: Exchange): void {
    const { nodes, parts, out, halves, rounded } = about, arithmetic = this.#arithmetic;
    const [begin, end] = parts[this.transport.rank]!;
    const place = out.values.subarray(begin - out.first, end - out.first);
    const isPlace = ({ buffer, byteOffset }: FloatArray) =>
      buffer === place.buffer && byteOffset === place.byteOffset;
    const sums = new PartialSums<FloatArray>(count, (left, right) => {
      const sum = isPlace(right) ? right : left;
      arithmetic.add(sum, left, right);
      if (rounded) arithmetic.round(sum);
      return sum;
    });
    nodes.forEach((list, from) => list.forEach((node, i) => sums.push(node, values[from]![i]!)));
    const total = sums.values[0]?.value;
    if (total === undefined) return;
    if (halves && !rounded) arithmetic.round(total);
    if (!isPlace(total)) place.set(total);
  }

  /** Fills the slices of the other ranks with their sums. */
  async #gather({ parts, out: { values, first }, halves }: Exchange): Promise<void> {
    const { rank } = this.transport, each = halves ? 2 : values.BYTES_PER_ELEMENT;
    const lengths = parts.map(([begin, end]) => (end - begin) * each);
    if (!halves) {
      const starts = parts.map(([begin]) => (begin - first) * each);
      return await this.transport.gatherParts({ bytes: bytesOf(values), starts, lengths }, null);
    }
    const blocks = this.#blocks("received", lengths);
    const wire = parts.map(([begin, end], from) => ({
      halves: halvesOf(end - begin, blocks, from, 0),
      values: values.subarray(begin - first, end - first),
    }));
    this.#arithmetic.narrow(wire[rank]!.values, wire[rank]!.halves);
    await this.transport.gatherParts(blocks, null);
    // The own sum is rounded already.
    for (const [from, { halves, values }] of wire.entries()) {
      if (from !== rank) this.#arithmetic.widen(halves, values);
    }
  }

  /** Consecutive parts in memory that is reused. */
  #blocks(room: "sent" | "received" | "widened", lengths: readonly number[]): Blocks {
    const total = lengths.reduce((sum, length) => sum + length, 0);
    if (this.#rooms[room].byteLength < total) this.#rooms[room] = new ArrayBuffer(total);
    return consecutive(lengths, new Uint8Array(this.#rooms[room], 0, total));
  }
}

/** The number of values that are summed at a time. */
interface Window {
  /** The slices of the ranks. */
  parts: readonly Slice[];
  /** Whether the slices are consecutive: then they are elements [first, last). */
  isWhole: boolean;
  first: number;
  last: number;
}

/** The elements of a window of this rank's partial sums. */
interface Pieces {
  /** Number of partial sums. */
  count: number;
  /** All elements of each partial sum, from `first` on, where the slices are consecutive. */
  whole: readonly FloatArray[] | null;
  first: number;
  /** The elements of a slice of partial sum `index`, which are in the part of a rank. */
  of(index: number, slice: Slice, rank: number): FloatArray;
}

/** The number of values that are exchanged at a time. */
interface Exchange {
  nodes: readonly (readonly TreeNode[])[];
  pieces: Pieces;
  vector: SummedVector;
  /** The slices of the ranks. */
  parts: readonly Slice[];
  /** The place of the sum, from its element `first` on. */
  out: { values: FloatArray; first: number };
  halves: boolean;
  rounded: boolean;
}

async function read(own: readonly PartialSum[], window: Window): Promise<Pieces> {
  const { parts, isWhole, first, last } = window, count = own.length;
  if (isWhole) {
    const whole: FloatArray[] = [];
    for (const partial of own) whole.push(await partial.read(first, last));
    const of = (index: number, [begin, end]: Slice) =>
      whole[index]!.subarray(begin - first, end - first);
    return { count, whole: count === 0 ? null : whole, first, of };
  }
  // Values are copied, because another window may send some of them again.
  const copies: FloatArray[][] = [];
  for (const partial of own) {
    const list: FloatArray[] = [];
    for (const [begin, end] of parts) list.push((await partial.read(begin, end)).slice());
    copies.push(list);
  }
  const of = (index: number, [begin, end]: Slice, rank: number) => {
    const from = parts[rank]![0];
    return copies[index]![rank]!.subarray(begin - from, end - from);
  };
  return { count, whole: null, first, of };
}

/** The parts of the ranks in consecutive slices of up to `size` elements. */
function* chunksOf(parts: readonly Slice[], size: number): Generator<Slice[]> {
  const most = Math.max(...parts.map(([begin, end]) => end - begin));
  for (let at = 0; at < most; at += size) {
    yield parts.map(([begin, end]): Slice => [
      Math.min(end, begin + at),
      Math.min(end, begin + at + size),
    ]);
  }
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
  for (const parts of chunksOf(slices, Math.ceil(window / size))) {
    all.push({ parts, isWhole: false, first: 0, last: length });
  }
  return all;
}

/** Array `index` of those of one length in part `rank`, of the kind of `like`. */
function arrayOf(
  like: FloatArray,
  length: number,
  { bytes: { buffer, byteOffset }, starts }: Blocks,
  rank: number,
  index: number,
): FloatArray {
  const at = byteOffset + starts[rank]! + index * length * like.BYTES_PER_ELEMENT;
  return like instanceof Float32Array
    ? new Float32Array(buffer, at, length)
    : new Float64Array(buffer, at, length);
}

/** The bytes of these bfloat16 patterns. */
function halvesOf(
  length: number,
  { bytes: { buffer, byteOffset }, starts }: Blocks,
  rank: number,
  index: number,
): Uint16Array {
  return new Uint16Array(buffer, byteOffset + starts[rank]! + 2 * index * length, length);
}

function bytesOf({ buffer, byteOffset, byteLength }: FloatArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
