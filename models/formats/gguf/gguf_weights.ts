/**
 * The weights of a language model in a GGUF file, under their Hugging Face names, widened to
 * float32 or as they are stored. llama.cpp's converter interleaves the rows of Llama's query and
 * key projections pair by pair, and transposes the matrices of GPT-2; both are undone here. The
 * names are in gguf_names.ts, the tokenizer in gguf_tokenizer.ts, the frequency divisors in
 * rope_scaling.ts.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import type { GgufFile } from "./gguf.ts";
import { ggufArchitecture } from "./gguf_config.ts";
import { hfName, isTransposed, transpose } from "./gguf_names.ts";
import { ROPE_TENSORS } from "./rope_scaling.ts";
import { elementCount } from "../element_count.ts";
import { storedType } from "../stored_weight.ts";
import type { WeightReader } from "../weight_reader.ts";

/**
 * The weights by Hugging Face name; each call reads its tensor.
 * @throws UsageError for a tensor that is not understood; the reader throws RgxError for a wrong
 *   shape
 */
export function ggufWeights(
  file: GgufFile,
  heads: { numHeads: number; numKvHeads: number },
): WeightReader {
  const storedNames = new Map<string, string>(), architecture = ggufArchitecture(file);
  for (const name of file.tensors.keys()) {
    if (ROPE_TENSORS.includes(name)) continue;
    const known = hfName(architecture, name);
    if (known === null) {
      throw new UsageError(`${file.label}: the tensor "${name}" is not understood`, {
        advice: "The model computes something that rgx does not: use another model.",
      });
    }
    storedNames.set(known, name);
  }
  const interleaved = architecture === "llama";
  const checkShape = (stored: string, shape: readonly number[]) => {
    const found = file.info(stored).shape;
    if (found.length !== shape.length || found.some((n, i) => n !== shape[i])) {
      throw new RgxError(
        `${file.label}: tensor "${stored}" has shape [${found.join(", ")}], expected ` +
          `[${shape.join(", ")}] (${elementCount(shape)} values) by the file's metadata`,
        { advice: "The file is damaged or its metadata belong to another model." },
      );
    }
  };
  const isInterleaved = (stored: string) => interleaved && /\.attn_[qk]\./.test(stored);
  const inOrder = <T extends Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(
    stored: string,
    rows: number,
    data: T,
  ): T => {
    if (!isInterleaved(stored)) return data;
    return splitHalves(data, rows, stored.includes(".attn_q.") ? heads.numHeads : heads.numKvHeads);
  };
  return {
    label: file.label,
    holds(name, shape) {
      const stored = storedNames.get(name);
      if (stored === undefined) return false;
      checkShape(stored, isTransposed(architecture, stored) ? [shape[1]!, shape[0]!] : shape);
      return true;
    },
    async values(name, shape) {
      const stored = storedNames.get(name);
      if (stored === undefined) return null;
      if (isTransposed(architecture, stored)) {
        const [inDim, outDim] = [shape[0]!, shape[1]!];
        checkShape(stored, [outDim, inDim]);
        return transpose(await file.float32(stored), outDim, inDim);
      }
      checkShape(stored, shape);
      return inOrder(stored, shape[0]!, await file.float32(stored));
    },
    typeOf(name) {
      const stored = storedNames.get(name);
      if (stored === undefined || isTransposed(architecture, stored)) return null;
      return storedType(file.info(stored).type.name);
    },
    isFloat32(name) {
      const stored = storedNames.get(name);
      return stored !== undefined && !isTransposed(architecture, stored) &&
        file.info(stored).type.name === "F32";
    },
    async bytes(name, shape) {
      const stored = storedNames.get(name)!;
      checkShape(stored, shape);
      return inOrder(stored, shape[0]!, await file.bytes(stored));
    },
    async bytesInto(name, shape, from, out) {
      const stored = storedNames.get(name)!;
      if (isInterleaved(stored)) return false;
      checkShape(stored, shape);
      await file.bytesInto(stored, from, out);
      return true;
    },
  };
}

/**
 * Reorders the rows of each head, in place: from (pair 0 first, pair 0 second, pair 1 first, …) to
 * (all first, all second), the order of Hugging Face's rotation. Rows are values, or the bytes in
 * which they are stored.
 */
export function splitHalves<T extends Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(
  values: T,
  rows: number,
  heads: number,
): T {
  const width = values.length / rows, headDim = rows / heads, half = headDim / 2;
  const head = values.slice(0, headDim * width);
  for (let at = 0; at < values.length; at += head.length) {
    for (let row = 0; row < headDim; row++) {
      const from = at + row * width, to = (row % 2) * half + (row >> 1);
      head.set(values.subarray(from, from + width), to * width);
    }
    values.set(head, at);
  }
  return values;
}

/** The reverse of {@link splitHalves}, in a new array. */
export function interleaveHalves<T extends Float32Array | Float64Array>(
  values: T,
  rows: number,
  heads: number,
): T {
  const out = values.slice() as T;
  const width = values.length / rows, headDim = rows / heads, half = headDim / 2;
  for (let head = 0; head < heads; head++) {
    for (let row = 0; row < headDim; row++) {
      const from = (head * headDim + (row % 2) * half + (row >> 1)) * width;
      out.set(values.subarray(from, from + width), (head * headDim + row) * width);
    }
  }
  return out;
}
