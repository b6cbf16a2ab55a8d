/**
 * The ranks of a run, as the code that trains sees them: work is dealt to them, results come back
 * to all, and sums have one fixed order. All ranks make the same calls in the same order.
 *
 * A rank that fails or is asked to stop while it works reports this in the call for its results. So
 * all ranks learn of it at the same place of the program and end there together: the others throw
 * {@link RankFailed}, or Interrupted. One rank alone needs no MPI, and has no cost.
 */
import { deserialize, serialize } from "node:v8";
import { EXIT, Interrupted, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import {
  type FloatArray,
  PLAIN_ARITHMETIC,
  type VectorArithmetic,
} from "../../core/vector_arithmetic.ts";
import { shareOf } from "./sum_tree.ts";
import type { Blocks, Transport } from "./transport.ts";
import { type PartialSum, type SummedVector, type SumOptions, VectorSums } from "./vector_sum.ts";

/** Another rank has failed, and has said why. */
export class RankFailed extends RgxError {
  override name = "RankFailed";
}

/** The message of a rank to the others: its results, or why there are none. */
type Message =
  | { kind: "results"; results: unknown }
  | { kind: "stop" }
  | { kind: "failed"; message: string; advice: string | undefined; exitCode: number };

/** Runs work that may be ended early. */
export type Guard = <T>(work: () => Promise<T>) => Promise<T>;

export class Ranks {
  /** Errors that all ranks know of. */
  #known = new WeakSet<object>();
  #guard: Guard = (work) => work();
  /** Whether only some ranks had the last error, as when a machine fails. */
  #ofSome = { last: false };
  #sums: VectorSums | null;

  /**
   * @param transport null = one rank alone
   * @param watch throws when another rank is gone; called while this rank waits
   */
  constructor(
    private readonly transport: Transport | null,
    private readonly watch: () => void = () => {},
    /** The watch over the ranks, which learns of progress, and of a checkpoint to resume from. */
    readonly progress: { beat(): void; keeps(): void } = { beat() {}, keeps() {} },
    /** The arithmetic of sums of gradients. */
    arithmetic: VectorArithmetic = PLAIN_ARITHMETIC,
  ) {
    this.#sums = transport === null ? null : new VectorSums(transport, watch, { arithmetic });
  }

  /**
   * The same ranks, but their dealt work runs within `guard`. If the guard ends the work with an
   * error, all ranks learn of it. One rank alone gets no guard.
   */
  guardedBy(guard: Guard): Ranks {
    if (this.transport === null) return this;
    const guarded = new Ranks(this.transport, this.watch, this.progress);
    guarded.#known = this.#known;
    guarded.#guard = guard;
    guarded.#ofSome = this.#ofSome;
    guarded.#sums = this.#sums;
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

  /** Whether all ranks know of the error, so that each ends by itself. */
  knows(error: unknown): boolean {
    return this.transport === null || (typeof error === "object" && error !== null &&
      this.#known.has(error));
  }

  /**
   * Whether other ranks do not have the error that ended the run. Then a machine may have failed,
   * and not the program or its configuration.
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

  /** As {@link share}; each rank does its pieces one after the other. */
  map<T>(count: number, work: (piece: number) => Promise<T>): Promise<T[]> {
    return this.share(count, async (begin, end) => {
      const own: T[] = [];
      for (let piece = begin; piece < end; piece++) own.push(await work(piece));
      return own;
    });
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
   * Sums `count` vectors over several ranks, in the order of `sum_tree.ts` (`vector_sum.ts`). Each
   * rank has added the vectors of its share before.
   * @param own the partial sums of this rank, from left to right
   */
  async sum(
    count: number,
    own: readonly PartialSum[],
    vector: SummedVector,
    options: SumOptions = {},
  ): Promise<void> {
    await this.#sums?.sum(count, own, vector, options);
  }

  /** Fills the parts of the other ranks with the bytes that those ranks have. */
  async gather(parts: Blocks): Promise<void> {
    await this.transport?.gatherParts(parts, this.watch);
  }

  /** Sends part i of `send` to rank i, and fills part i of `receive` with what rank i sends. */
  async exchange(send: Blocks, receive: Blocks): Promise<void> {
    await this.transport?.exchange(send, receive, this.watch);
  }

  /** Replaces the values by their sums over the ranks, in the order that MPI finds fastest. */
  async sumFast(values: FloatArray): Promise<void> {
    await this.transport?.allReduce(values, this.watch);
  }

  /**
   * Compares a text of every rank, which should be equal.
   * @throws UsageError that names the rank that differs and both texts; RankFailed on the others
   */
  async compare(texts: Readonly<Record<string, string>>, advice: string): Promise<void> {
    const all = await this.each(() => texts);
    for (const [name, expected] of Object.entries(all[0]!)) {
      const other = all.findIndex((each) => each[name] !== expected);
      if (other < 0) continue;
      const message = `the ranks do not have the same ${name}: rank 0 has ${expected}, rank ` +
        `${other} has ${all[other]![name]}`;
      // One of these ranks prints the error.
      throw this.#remember(
        this.isFirst
          ? new UsageError(message, { advice })
          : new RankFailed(message, { advice, exitCode: EXIT.usage }),
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
