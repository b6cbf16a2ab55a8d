/** Reads single rows of a large table when they are needed. */
import { GGML_TYPES } from "./gguf/ggml_types.ts";
import type { WeightReader } from "./weight_reader.ts";

/** Gives the rows of these numbers as floats, one after the other. */
export type RowReader = (rows: Uint32Array) => Promise<Float32Array>;

/**
 * The rows of a matrix in a file, or null when its bytes cannot be read in parts.
 * @param shape [rows, width]
 */
export async function rowReader(
  file: WeightReader,
  name: string,
  shape: readonly [number, number],
): Promise<RowReader | null> {
  const stored = file.dtype?.(name), width = shape[1];
  const type = [...GGML_TYPES.values()].find(({ name }) => name === stored);
  if (type === undefined || width % type.weights !== 0) return null;
  const bytes = width / type.weights * type.bytes;
  if (!await file.bytesInto?.(name, shape, 0, new Uint8Array(bytes))) return null;
  return async (rows) => {
    const out = new Float32Array(rows.length * width), first = new Map<number, number>();
    for (const [i, row] of rows.entries()) {
      const known = first.get(row);
      if (known !== undefined) {
        out.copyWithin(i * width, known * width, (known + 1) * width);
        continue;
      }
      first.set(row, i);
      const part = new Uint8Array(bytes);
      await file.bytesInto!(name, shape, row * bytes, part);
      type.widen(part, out.subarray(i * width, (i + 1) * width));
    }
    return out;
  };
}
