/**
 * llama.cpp's importance matrix: the mean square of what each column of a matrix was multiplied
 * with, by the matrix' name in GGUF files. Files are GGUF, or in the older binary form. Matrices of
 * experts have the columns of one after the other.
 */
import { RgxError } from "../../../core/errors.ts";
import { fileSource } from "../byte_source.ts";
import { parseGguf } from "./gguf.ts";

export type Importance = ReadonlyMap<string, Float32Array>;

const SUMS = ".in_sum2", COUNTS = ".counts";

/** @throws RgxError for a missing or damaged file */
export async function readImportance(path: string): Promise<Importance> {
  const source = await fileSource(path, "an importance matrix of llama.cpp");
  const bytes = await source.read(0, source.size);
  if (new TextDecoder().decode(bytes.subarray(0, 4)) !== "GGUF") return readBinary(bytes, path);
  const file = await parseGguf(bytes, path), found = new Map<string, Float32Array>();
  for (const name of file.tensors.keys()) {
    if (!name.endsWith(SUMS)) continue;
    const of = name.slice(0, -SUMS.length), sums = await file.float32(name);
    if (!file.tensors.has(`${of}${COUNTS}`)) {
      throw new RgxError(`${path}: tensor "${of}${COUNTS}" is missing, expected beside "${name}"`);
    }
    const counts = await file.float32(`${of}${COUNTS}`), width = sums.length / counts.length;
    found.set(of, sums.map((sum, i) => sum / Math.max(1, counts[Math.floor(i / width)]!)));
  }
  return checked(found, path);
}

function readBinary(bytes: Uint8Array, path: string): Importance {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = new Map<string, Float32Array>();
  let at = 0;
  const int = (most: number) => {
    const value = at + 4 <= bytes.length ? view.getInt32(at, true) : -1;
    at += 4;
    if (value >= 0 && value <= most) return value;
    throw new RgxError(`${path}: no importance matrix of llama.cpp, or a damaged one`);
  };
  for (let left = int(100_000); left > 0; left--) {
    const length = int(bytes.length - at), name = bytes.subarray(at, at += length);
    const calls = Math.max(1, int(2 ** 31 - 1)), count = int((bytes.length - at - 4) / 4);
    const values = Float32Array.from(
      { length: count },
      (_, i) => view.getFloat32(at + 4 * i, true) / calls,
    );
    at += 4 * count;
    found.set(new TextDecoder().decode(name), values);
  }
  return checked(found, path);
}

function checked(found: Importance, path: string): Importance {
  for (const [name, values] of found) {
    if (values.every((x) => Number.isFinite(x) && x >= 0)) continue;
    throw new RgxError(`${path}: the importance of "${name}" has a value that is no number ≥ 0`);
  }
  if (found.size > 0) return found;
  throw new RgxError(`${path}: no importance matrix of llama.cpp: it names no tensor`);
}

/** That of the columns of matrix `index`, of width `width`; undefined = unknown or all 0. */
export function importanceOf(
  all: Importance,
  name: string,
  width: number,
  index = 0,
): Float32Array | undefined {
  const values = all.get(name);
  if (values === undefined) return undefined;
  if (values.length % width !== 0) {
    throw new RgxError(
      `the importance of "${name}" has ${values.length} values, expected a multiple of ${width}`,
      { advice: "It belongs to another model." },
    );
  }
  const from = values.length === width ? 0 : index * width;
  const part = values.subarray(from, from + width);
  return part.some((x) => x > 0) ? part : undefined;
}
