/** Reads bytes by range, from a file or from memory. All readers of weight files use it. */
import { RgxError } from "../../core/errors.ts";

export interface ByteSource {
  readonly size: number;
  /** A copy in its own buffer. Both ends must be within `size`. */
  read(begin: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Fills `out` with the bytes from `begin` on. For large data this is faster than `read`, which
   * allocates new memory each time.
   */
  readInto(begin: number, out: Uint8Array<ArrayBuffer>): Promise<void>;
}

/**
 * A source for a file. Every read opens the file, so nothing has to be closed.
 * @param expected what the file should be, for messages
 * @throws RgxError when there is no such file, or later when it has become shorter
 */
export async function fileSource(path: string, expected: string): Promise<ByteSource> {
  let size: number;
  try {
    const stat = await Deno.stat(path);
    if (!stat.isFile) throw new RgxError(`${path}: not a file, expected ${expected}`);
    size = stat.size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new RgxError(`${path}: no such file, expected ${expected}`, { cause: error });
    }
    throw error;
  }
  const readInto: ByteSource["readInto"] = (begin, out) => readRange(path, begin, out);
  const read: ByteSource["read"] = async (begin, end) => {
    const out = new Uint8Array(end - begin);
    await readInto(begin, out);
    return out;
  };
  return { size, read, readInto };
}

export function memorySource(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    read: (begin, end) => Promise.resolve(Uint8Array.from(bytes.subarray(begin, end))),
    readInto: (begin, out) => Promise.resolve(out.set(bytes.subarray(begin, begin + out.length))),
  };
}

/** The read begins before this function returns, so that the caller can work meanwhile. */
async function readRange(
  path: string,
  begin: number,
  out: Uint8Array<ArrayBuffer>,
): Promise<void> {
  using file = Deno.openSync(path, { read: true });
  file.seekSync(begin, Deno.SeekMode.Start);
  for (let at = 0; at < out.length;) {
    const n = await file.read(out.subarray(at));
    if (n === null) {
      throw new RgxError(
        `${path}: nothing left to read at byte ${begin + at}, expected data up to ${
          begin + out.length
        }`,
        { advice: "It was shortened while rgx was reading it." },
      );
    }
    at += n;
  }
}

/**
 * The entry of a tensor in a file's table.
 * @throws RgxError when there is no such tensor
 */
export function tensorIn<T>(label: string, tensors: ReadonlyMap<string, T>, name: string): T {
  const found = tensors.get(name);
  if (found !== undefined) return found;
  throw new RgxError(`${label}: no tensor "${name}" among the ${tensors.size} in the file`);
}

/**
 * Fills `out` from byte `from` on of pieces of `size` bytes that follow one another.
 * @param read fills `part` from byte `at` of a piece on
 */
export async function readPieces(
  size: number,
  from: number,
  out: Uint8Array<ArrayBuffer>,
  read: (piece: number, at: number, part: Uint8Array<ArrayBuffer>) => Promise<void>,
): Promise<void> {
  for (let done = 0; done < out.length;) {
    const piece = Math.floor((from + done) / size), at = (from + done) % size;
    const part = out.subarray(done, done + size - at);
    await read(piece, at, part);
    done += part.length;
  }
}
