/**
 * Writes tensors to a file one after the other; the bytes of a tensor are made when it is written.
 */
import { writeAll } from "../../core/atomic_file.ts";
import {
  layOutSafetensors,
  storedLength,
  type TensorEntry,
} from "./safetensors/safetensors_writer.ts";

/** Bytes of one tensor, in order and in pieces of any size. */
export type TensorBytes = () => AsyncIterable<Uint8Array>;

export interface StreamedTensor extends TensorEntry {
  readonly bytes: TensorBytes;
}

/**
 * Writes a safetensors file, one tensor after the other, and waits until it is on the disk.
 * @throws RangeError when a tensor's bytes do not match its shape
 */
export async function writeSafetensors(
  path: string,
  tensors: Iterable<StreamedTensor>,
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): Promise<void> {
  const { sorted, head } = layOutSafetensors(tensors, metadata);
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  await writeAll(file, head);
  for (const tensor of sorted) {
    await copyBytes(file, tensor.bytes, storedLength(tensor), tensor.name);
  }
  await file.sync();
}

/** @throws RangeError when there are not exactly `expected` bytes */
export async function copyBytes(
  file: Deno.FsFile,
  bytes: TensorBytes,
  expected: number,
  name: string,
): Promise<void> {
  let written = 0;
  for await (const piece of bytes()) {
    await writeAll(file, piece);
    written += piece.length;
  }
  if (written !== expected) {
    throw new RangeError(`tensor ${name}: ${written} bytes were made, expected ${expected}`);
  }
}
