/**
 * Safetensors files that are too large for memory: the bytes of a tensor are made when they are
 * written, one piece after the other.
 */
import { type BytePieces, writeFlushed } from "../../core/atomic_file.ts";
import { elementCount } from "./element_count.ts";
import {
  layOutSafetensors,
  storedBytes,
  storedLength,
  type TensorEntry,
  type TensorToWrite,
} from "./safetensors/safetensors_writer.ts";

/** Elements of a tensor that are made at once, at most; 4 MiB as floats. */
export const PART_ELEMENTS = 2 ** 20;

/** Bytes of one tensor, in order and in pieces of any size. */
export type TensorBytes = () => BytePieces;

export interface StreamedTensor extends TensorEntry {
  readonly bytes: TensorBytes;
}

/**
 * The content of a safetensors file, for `core/atomic_file.ts`. The order in which tensors are
 * given does not matter.
 * @throws RangeError when two tensors have the same name, or later when a tensor's bytes do not
 *   match its shape
 */
export function safetensorsContent(
  tensors: Iterable<StreamedTensor>,
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): () => AsyncGenerator<Uint8Array> {
  const { sorted, head } = layOutSafetensors(tensors, metadata);
  return async function* () {
    yield head;
    for (const tensor of sorted) {
      yield* checkedPieces(tensor.bytes, storedLength(tensor), tensor.name);
    }
  };
}

/**
 * Writes a safetensors file, one tensor after the other, and waits until it is on the disk.
 * @throws RangeError when a tensor's bytes do not match its shape
 */
export async function writeSafetensors(
  path: string,
  tensors: Iterable<StreamedTensor>,
  metadata?: Readonly<Record<string, string>>,
): Promise<void> {
  await writeFlushed(path, safetensorsContent(tensors, metadata)());
}

/**
 * A tensor that is read in parts of `PART_ELEMENTS`. Floats are converted to its dtype.
 * @param read returns `count` elements from element `from` on
 */
export function tensorInParts(
  entry: TensorEntry,
  read: (from: number, count: number) => Promise<TensorToWrite["data"]>,
): StreamedTensor {
  const { name, dtype, shape } = entry, total = elementCount(shape);
  return {
    name,
    dtype,
    shape,
    bytes: async function* () {
      for (let from = 0; from < total; from += PART_ELEMENTS) {
        const count = Math.min(PART_ELEMENTS, total - from);
        yield storedBytes({ name, dtype, shape: [count], data: await read(from, count) });
      }
    },
  };
}

/** @throws RangeError when there are not exactly `expected` bytes */
export async function* checkedPieces(
  bytes: TensorBytes,
  expected: number,
  name: string,
): AsyncGenerator<Uint8Array> {
  let made = 0;
  for await (const piece of bytes()) {
    yield piece;
    made += piece.length;
  }
  if (made !== expected) {
    throw new RangeError(`tensor ${name}: ${made} bytes were made, expected ${expected}`);
  }
}
