/**
 * What the ranks of a run need of MPI, and no more. `mpi/` does it with an MPI library, and
 * `local_ranks.ts` within one process, for tests. All ranks call the same functions in the same
 * order; every function is waited for before the next one is called.
 */

export interface Transport {
  /** Number of this rank, from 0. */
  readonly rank: number;
  /** Number of ranks. */
  readonly size: number;
  /** For people: the library and its version. */
  readonly label: string;
  /**
   * The bytes of every rank, in their order. Lengths may differ.
   * @param alarm throws when the others cannot come any more; asked while this rank waits for them
   */
  allGather(bytes: Uint8Array, alarm: () => void): Promise<Uint8Array<ArrayBuffer>[]>;
  /**
   * Sends part i to rank i, and returns what each rank has sent here. `lengths[i]` is the number
   * of bytes that come from rank i.
   */
  exchange(
    parts: readonly Uint8Array[],
    lengths: readonly number[],
    alarm: () => void,
  ): Promise<Uint8Array<ArrayBuffer>[]>;
  /** Replaces the values by their sums over the ranks, in an order that MPI chooses. */
  allReduce(values: Float32Array | Float64Array, alarm: () => void): Promise<void>;
  /** Ends all ranks at once. Does not return where MPI can do it. */
  abort(exitCode: number): void;
  /** The orderly end: waits for all ranks. Nothing may be called afterwards. */
  close(): Promise<void>;
}
