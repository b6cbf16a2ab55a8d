/**
 * The functions of MPI that the ranks of a run need. `mpi/` has them with an MPI library, and
 * `local_testing.ts` within one process, for tests. All ranks call the same functions in the same
 * order; every function is waited for before the next one is called.
 */

/** Parts of an array of bytes, one for each rank. They may overlap where they are only read. */
export interface Blocks {
  bytes: Uint8Array;
  /** First byte of each part. */
  starts: readonly number[];
  lengths: readonly number[];
}

/** Called while a rank waits for the others. It throws if they cannot come any more. */
export type Alarm = () => void;

export interface Transport {
  /** Number of this rank, from 0. */
  readonly rank: number;
  readonly size: number;
  /** For people: the library and its version. */
  readonly label: string;
  /** The bytes of every rank, in their order. Lengths may differ. */
  allGather(bytes: Uint8Array, alarm: Alarm): Promise<Uint8Array<ArrayBuffer>[]>;
  /**
   * Fills the parts of all other ranks with the bytes that those ranks have. All ranks give the
   * same lengths.
   * @param alarm null: the ranks have just met, so no rank waits long
   */
  gatherParts(parts: Blocks, alarm: Alarm | null): Promise<void>;
  /**
   * Sends part i of `send` to rank i, and fills part i of `receive` with what rank i sends.
   * @param alarm as of `gatherParts`
   */
  exchange(send: Blocks, receive: Blocks, alarm: Alarm | null): Promise<void>;
  /** Replaces the values by their sums over the ranks, in an order that MPI chooses. */
  allReduce(values: Float32Array | Float64Array, alarm: Alarm): Promise<void>;
  /** Ends all ranks at once. Does not return where MPI can do it. */
  abort(exitCode: number): void;
  /** The orderly end: waits for all ranks. Nothing may be called afterwards. */
  close(): Promise<void>;
}

/** Part `index` itself. */
export function partOf({ bytes, starts, lengths }: Blocks, index: number): Uint8Array {
  return bytes.subarray(starts[index]!, starts[index]! + lengths[index]!);
}

/** Parts that follow one another. @param bytes where they are; default: in new memory */
export function consecutive(lengths: readonly number[], bytes?: Uint8Array): Blocks {
  const starts: number[] = [];
  let total = 0;
  for (const length of lengths) {
    starts.push(total);
    total += length;
  }
  return { bytes: bytes ?? new Uint8Array(total), starts, lengths };
}
