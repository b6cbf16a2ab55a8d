/**
 * Sums of long vectors over ranks, in the fixed order of `sum_tree.ts`. A rank sends each other
 * rank a slice of its partial sums, adds up the slice that it gets from all, and sends the result
 * back. So it sends about twice the vector, as in a ring. Long vectors are summed a window at a
 * time, which bounds the memory of the messages. Where MPI can read or write the vectors
 * themselves, nothing is copied.
 */
import { narrowBF16, narrowBF16Into, widenBF16, widenBF16Into } from "../core/half_floats.ts";
import { addInto, nodesOf, PartialSums, shareOf, type TreeNode } from "./sum_tree.ts";
import { type Blocks, consecutive, type Transport } from "./transport.ts";

export type FloatArray = Float32Array | Float64Array;

/** Partial sums of one vector: the nodes of the tree that a rank has, from left to right. */
export type Partials<T extends FloatArray> = readonly { node: TreeNode; value: T }[];

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
   * @param count number of vectors, which are dealt to the ranks by {@link shareOf}
   * @param own the partial sums of this rank; without slices they are used up
   * @param empty creates a vector, for a rank that had nothing to add
   * @returns the sum, or this rank's slice of it
   */
  async sum<T extends FloatArray>(
    count: number,
    own: Partials<T>,
    empty: () => T,
    { slices, halves = false, rounded = false }: SumOptions = {},
  ): Promise<T> {
    const { size, rank } = this.transport;
    const nodes = Array.from(
      { length: size },
      (_, other) => nodesOf(...shareOf(count, other, size), count),
    );
    const whole = own[0]?.value ?? empty(), [first, last] = slices?.[rank] ?? [0, whole.length];
    const inPlace = slices === undefined;
    const out = inPlace ? whole : arrayOf(whole, last - first);
    const join = (left: FloatArray, right: FloatArray) => {
      addInto(left, right);
      return rounded ? round(left) : left;
    };
    for (const parts of windows(whole.length, size, this.window, slices)) {
      const [begin, end] = parts[rank]!;
      const values = await this.#exchange({ nodes, own, like: whole, parts, halves, inPlace });
      const sums = new PartialSums<FloatArray>(count, join);
      nodes.forEach((list, from) => list.forEach((node, i) => sums.push(node, values[from]![i]!)));
      const total = sums.values[0]?.value ?? arrayOf(whole, end - begin);
      if (halves && !rounded) round(total);
      if (total.buffer !== out.buffer) out.set(total, begin - first);
      if (inPlace) await this.#gather(out, parts, halves);
    }
    return out as T;
  }

  /** For each rank, the slices of its nodes that this rank adds up. */
  async #exchange(window: Window): Promise<FloatArray[][]> {
    const { nodes, own, like, parts, halves, inPlace } = window;
    const { rank } = this.transport, [begin, end] = parts[rank]!, width = end - begin;
    const each = halves ? 2 : like.BYTES_PER_ELEMENT;
    const others = <T>(what: (other: number) => T, self: T) =>
      parts.map((_, other) => other === rank ? self : what(other));
    const received = this.#blocks(
      "received",
      others((from) => nodes[from]!.length * width * each, 0),
    );
    await this.transport.exchange(this.#sent(own, parts, each), received, this.alarm);
    return nodes.map((list, from) =>
      list.map((_, i) => {
        if (from === rank) {
          const value = own[i]!.value.subarray(begin, end), copy = inPlace ? value : value.slice();
          return halves ? round(copy) : copy;
        }
        const { buffer, byteOffset } = received.bytes;
        const at = byteOffset + received.starts[from]! + i * width * each;
        if (halves) return widenBF16(new Uint16Array(buffer, at, width));
        return arrayOf(like, width, buffer, at);
      })
    );
  }

  /** What this rank sends: the slices of its partial sums. */
  #sent(own: Partials<FloatArray>, parts: readonly Slice[], each: number): Blocks {
    const { rank } = this.transport, [first] = own;
    const lengths = parts.map(([begin, end], to) =>
      to === rank ? 0 : own.length * (end - begin) * each
    );
    const base = Math.min(...parts.map(([begin]) => begin));
    const last = Math.max(...parts.map(([, end]) => end));
    // MPI can read the slices of one vector where they are, if they are near one another.
    if (own.length === 1 && each > 2 && last - base <= this.window) {
      const bytes = bytesOf(first!.value.subarray(base, last));
      return { bytes, starts: parts.map(([begin]) => (begin - base) * each), lengths };
    }
    const blocks = this.#blocks("sent", lengths), { buffer, byteOffset } = blocks.bytes;
    parts.forEach(([begin, end], to) => {
      if (to === rank) return;
      own.forEach(({ value }, i) => {
        const at = byteOffset + blocks.starts[to]! + i * (end - begin) * each;
        const part = value.subarray(begin, end);
        if (each === 2) narrowBF16Into(part, new Uint16Array(buffer, at, part.length));
        else arrayOf(value, part.length, buffer, at).set(part);
      });
    });
    return blocks;
  }

  /** Fills a window, whose slices are consecutive and summed by one rank each. */
  async #gather(out: FloatArray, parts: readonly Slice[], halves: boolean): Promise<void> {
    const { rank } = this.transport, [base] = parts[0]!, [, last] = parts.at(-1)!;
    const window = out.subarray(base, last), each = halves ? 2 : out.BYTES_PER_ELEMENT;
    const lengths = parts.map(([begin, end]) => (end - begin) * each);
    const starts = parts.map(([begin]) => (begin - base) * each);
    if (!halves) {
      await this.transport.gatherParts({ bytes: bytesOf(window), starts, lengths }, this.alarm);
      return;
    }
    const blocks = this.#blocks("received", lengths), { buffer, byteOffset } = blocks.bytes;
    const words = new Uint16Array(buffer, byteOffset, window.length), [begin, end] = parts[rank]!;
    narrowBF16Into(out.subarray(begin, end), words.subarray(begin - base));
    await this.transport.gatherParts(blocks, this.alarm);
    if (window instanceof Float32Array) widenBF16Into(words, window);
    else window.set(widenBF16(words));
  }

  /** Consecutive parts in memory that is used again. */
  #blocks(room: "sent" | "received", lengths: readonly number[]): Blocks {
    const total = lengths.reduce((sum, length) => sum + length, 0);
    if (this.#rooms[room].byteLength < total) this.#rooms[room] = new ArrayBuffer(total);
    return consecutive(lengths, new Uint8Array(this.#rooms[room], 0, total));
  }
}

/** A window of a sum. */
interface Window {
  nodes: readonly (readonly TreeNode[])[];
  own: Partials<FloatArray>;
  /** An array of the kind of the vectors. */
  like: FloatArray;
  /** The slices of the ranks. */
  parts: readonly Slice[];
  halves: boolean;
  /** Whether the sum may replace the values of this rank. */
  inPlace: boolean;
}

/** The slices of each window, one for each rank. */
function* windows(
  length: number,
  size: number,
  window: number,
  slices: readonly Slice[] | undefined,
): Generator<Slice[]> {
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  if (slices === undefined) {
    for (let first = 0; first < length; first += window) {
      const width = Math.min(window, length - first);
      yield ranks.map((rank) => {
        const [begin, end] = shareOf(width, rank, size);
        return [first + begin, first + end];
      });
    }
    return;
  }
  const most = Math.max(...slices.map(([begin, end]) => end - begin));
  const step = Math.ceil(window / size);
  for (let at = 0; at < most; at += step) {
    yield slices.map(([begin, end]) => [
      Math.min(end, begin + at),
      Math.min(end, begin + at + step),
    ]);
  }
}

/** An array of the kind of `like`. */
function arrayOf(like: FloatArray, length: number, bytes?: ArrayBufferLike, at = 0): FloatArray {
  const buffer = bytes ?? new ArrayBuffer(length * like.BYTES_PER_ELEMENT);
  return like instanceof Float32Array
    ? new Float32Array(buffer, at, length)
    : new Float64Array(buffer, at, length);
}

function bytesOf({ buffer, byteOffset, byteLength }: FloatArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
