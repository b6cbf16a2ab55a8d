/**
 * The ranks of a run, as the code that trains sees them: work is dealt to them, results come back
 * to all, and sums have one fixed order. All ranks make the same calls in the same order.
 *
 * A rank that fails or is asked to stop while it works says so in the call that its results belong
 * to. So all ranks learn of it at the same place of the program, and end there together: the others
 * throw {@link RankFailed}, or Interrupted. One rank alone needs no MPI and pays nothing.
 */
import { deserialize, serialize } from "node:v8";
import { EXIT, Interrupted, messageOf, RgxError, UsageError } from "../core/errors.ts";
import { addInto, nodesOf, PartialSums, shareOf, type TreeNode } from "./sum_tree.ts";
import type { Transport } from "./transport.ts";

/** Another rank has failed, and has said why. */
export class RankFailed extends RgxError {
  override name = "RankFailed";
}

/** What a rank tells the others: results, or why there are none. */
type Message =
  | { kind: "results"; results: unknown }
  | { kind: "stop" }
  | { kind: "failed"; message: string; advice: string | undefined; exitCode: number };

/** Runs work that may be ended early. */
export type Guard = <T>(work: () => Promise<T>) => Promise<T>;

/** Partial sums of one tensor: the nodes of the tree that this rank has, from left to right. */
export type Partials<T extends FloatArray> = readonly { node: TreeNode; value: T }[];

export type FloatArray = Float32Array | Float64Array;

/** Elements that are summed at a time: 16 MB of floats. Bounds the memory of a sum. */
const BUCKET = 2 ** 22;

export class Ranks {
  /** Errors that all ranks know of. */
  #known = new WeakSet<object>();
  #guard: Guard = (work) => work();
  /** Whether the last error was one of some ranks only, as of a machine that fails. */
  #ofSome = { last: false };

  /**
   * @param transport null = one rank alone
   * @param watch throws when another rank is gone; asked while this one waits
   */
  constructor(
    private readonly transport: Transport | null,
    private readonly watch: () => void = () => {},
    /** Told of work that goes on, and of a checkpoint that a resume can begin at. */
    readonly progress: { beat(): void; keeps(): void } = { beat() {}, keeps() {} },
  ) {}

  /**
   * The same ranks, whose dealt work runs within `guard`, which may end it with an error: there all
   * ranks learn of it. One rank alone needs no guard and gets none.
   */
  guardedBy(guard: Guard): Ranks {
    if (this.transport === null) return this;
    const guarded = new Ranks(this.transport, this.watch, this.progress);
    guarded.#known = this.#known;
    guarded.#guard = guard;
    guarded.#ofSome = this.#ofSome;
    return guarded;
  }

  get rank(): number {
    return this.transport?.rank ?? 0;
  }

  get size(): number {
    return this.transport?.size ?? 1;
  }

  /** Whether this is the rank that writes files and prints. */
  get isFirst(): boolean {
    return this.rank === 0;
  }

  /** Whether all ranks know of the error, and end by themselves. */
  knows(error: unknown): boolean {
    return this.transport === null || (typeof error === "object" && error !== null &&
      this.#known.has(error));
  }

  /**
   * Whether the error that ended the run is one that other ranks do not have: a machine may have
   * failed, and not the program or its configuration.
   */
  get failedAlone(): boolean {
    return this.#ofSome.last;
  }

  /**
   * Deals `count` pieces of work to the ranks, consecutive ones to each, and returns the results of
   * all pieces in their order, on all ranks.
   * @param work does the pieces [begin, end), and returns a result for each of them; it is called
   *   also for no pieces
   * @throws what `work` throws; RankFailed or Interrupted if another rank has thrown
   */
  async share<T>(
    count: number,
    work: (begin: number, end: number) => Promise<readonly T[]>,
  ): Promise<T[]> {
    if (this.transport === null) return [...await work(0, count)];
    const [begin, end] = shareOf(count, this.rank, this.size);
    return (await this.each(() => this.#guard(async () => await work(begin, end)))).flat();
  }

  /** Every rank works; the results of all of them, in their order, on all ranks. */
  async each<T>(work: () => Promise<T> | T): Promise<T[]> {
    const { transport } = this;
    if (transport === null) return [await work()];
    let error: unknown = null, message: Message;
    try {
      message = { kind: "results", results: await work() };
    } catch (thrown) {
      error = thrown;
      message = messageFor(thrown);
    }
    const all = (await transport.allGather(serialize(message), this.watch))
      .map((bytes) => deserialize(bytes) as Message);
    const failed = all.findIndex(({ kind }) => kind === "failed");
    this.#ofSome.last = all.some(({ kind }) => kind !== "failed");
    if (failed >= 0) throw this.#remember(failed === this.rank ? error : otherError(all, failed));
    if (all.some(({ kind }) => kind === "stop")) throw this.#remember(new Interrupted());
    return all.map((each) => (each as { results: T }).results);
  }

  /** The first rank works; its result on all ranks. */
  async first<T>(work: () => Promise<T> | T): Promise<T> {
    return (await this.each(() => this.isFirst ? work() : null))[0] as T;
  }

  /** Waits for all ranks. `isStopping`: this one is asked to stop; then all throw Interrupted. */
  async meet(isStopping = false): Promise<void> {
    await this.each(() => {
      if (isStopping) throw new Interrupted();
    });
  }

  /**
   * The sum of `count` vectors in the order of `sum_tree.ts`, on all ranks; of many ranks, each has
   * added those of its share. Each rank sends and receives about twice the vector, as in a ring.
   * @param own the partial sums of this rank, which are used up
   * @param empty creates a vector, for a rank that had nothing to add
   */
  async sum<T extends FloatArray>(
    count: number,
    own: Partials<T>,
    empty: () => T,
  ): Promise<T> {
    const { transport } = this;
    if (transport === null) return own[0]?.value ?? empty();
    const { size, rank } = this;
    const nodes = Array.from(
      { length: size },
      (_, other) => nodesOf(...shareOf(count, other, size), count),
    );
    const out = own[0]?.value ?? empty(), { BYTES_PER_ELEMENT } = out;
    const make = (bytes: ArrayBuffer): T =>
      (out instanceof Float32Array ? new Float32Array(bytes) : new Float64Array(bytes)) as T;
    for (let first = 0; first < out.length; first += BUCKET) {
      const length = Math.min(BUCKET, out.length - first);
      const slice = (of: number) => {
        const [begin, end] = shareOf(length, of, size);
        return [first + begin, first + end] as const;
      };
      // Every rank adds up a slice of the bucket. It gets that slice of all partial sums.
      const parts = nodes.map((_, to) => {
        const [begin, end] = slice(to), width = end - begin;
        const part = make(new ArrayBuffer(own.length * width * BYTES_PER_ELEMENT));
        own.forEach(({ value }, i) => part.set(value.subarray(begin, end), i * width));
        return bytesOf(part);
      });
      const [begin, end] = slice(rank), width = end - begin;
      const lengths = nodes.map((list) => list.length * width * BYTES_PER_ELEMENT);
      const received = await transport.exchange(parts, lengths, this.watch);
      const sums = new PartialSums<T>(count, (left, right) => {
        addInto(left, right);
        return left;
      });
      received.forEach((bytes, from) => {
        const values = make(bytes.buffer);
        nodes[from]!.forEach((node, i) =>
          sums.push(node, values.subarray(i * width, (i + 1) * width) as T)
        );
      });
      const total = sums.values[0]?.value ?? make(new ArrayBuffer(width * BYTES_PER_ELEMENT));
      const slices = await transport.allGather(bytesOf(total), this.watch);
      slices.forEach((bytes, from) => out.set(make(bytes.buffer), slice(from)[0]));
    }
    return out;
  }

  /** Replaces the values by their sums over the ranks, in the order that MPI finds fastest. */
  async sumFast(values: FloatArray): Promise<void> {
    await this.transport?.allReduce(values, this.watch);
  }

  /**
   * Compares a text of every rank, which should be equal.
   * @throws UsageError that names the rank that differs and both texts
   */
  async compare(texts: Readonly<Record<string, string>>, advice: string): Promise<void> {
    const all = await this.each(() => texts);
    for (const [name, expected] of Object.entries(all[0]!)) {
      const other = all.findIndex((each) => each[name] !== expected);
      if (other < 0) continue;
      throw this.#remember(
        new UsageError(
          `the ranks do not have the same ${name}: rank 0 has ${expected}, rank ${other} has ` +
            all[other]![name],
          { advice },
        ),
      );
    }
  }

  /** Ends all ranks at once, because of an error that the others do not know of. */
  abort(exitCode: number): void {
    this.transport?.abort(exitCode);
  }

  /** The orderly end; waits for all ranks. */
  async close(): Promise<void> {
    await this.transport?.close();
  }

  #remember(error: unknown): unknown {
    if (typeof error === "object" && error !== null) this.#known.add(error);
    return error;
  }
}

/** One rank alone. */
export const ALONE = new Ranks(null);

function bytesOf({ buffer, byteOffset, byteLength }: FloatArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function messageFor(error: unknown): Message {
  if (error instanceof Interrupted) return { kind: "stop" };
  const known = error instanceof RgxError;
  return {
    kind: "failed",
    message: messageOf(error),
    advice: known ? error.advice : undefined,
    exitCode: known ? error.exitCode : EXIT.failure,
  };
}

function otherError(all: readonly Message[], failed: number): RankFailed {
  const { message, advice, exitCode } = all[failed] as Extract<Message, { kind: "failed" }>;
  return new RankFailed(`rank ${failed}: ${message}`, {
    exitCode,
    ...(advice === undefined ? {} : { advice }),
  });
}
