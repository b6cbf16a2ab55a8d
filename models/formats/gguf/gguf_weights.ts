/**
 * The weights of a language model in a GGUF file, under their Hugging Face names, widened to
 * float32 or as they are stored. llama.cpp's converter interleaves the rows of Llama's query and
 * key projections pair by pair, and transposes the matrices of GPT-2; both are undone here. The
 * names are in gguf_names.ts, the tokenizer in gguf_tokenizer.ts, the frequency divisors in
 * rope_scaling.ts.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { architectureOf, modelTensors } from "../../architectures/mod.ts";
import { alternates } from "../../architectures/mixtures.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { transposeEach } from "../expert_files.ts";
import type { GgufFile } from "./gguf.ts";
import {
  addedInGguf,
  ggufName,
  ggufShape,
  type HeadOrder,
  headOrder,
  interleavedHeads,
  isTransposed,
  orderHeads,
  splitInGguf,
} from "./gguf_names.ts";
import { ROPE_TENSORS } from "./rope_scaling.ts";
import { readPieces } from "../byte_source.ts";
import { elementCount } from "../element_count.ts";
import { storedType } from "../stored_weight.ts";
import type { WeightReader } from "../weight_reader.ts";

/** Where a tensor is in the file, and how its values differ from Hugging Face's. */
interface Place {
  stored: string;
  /** A tensor whose pieces follow those of this one: up after gate. */
  second: string | null;
  /** The number of such pieces: one for each expert, or each row of gate. */
  pieces: number;
  /** The dimensions in the file, from those of Hugging Face. */
  shapeOf: (given: readonly number[]) => readonly number[];
  transposed: boolean;
  heads: number | null;
  /** What the file's values have more. */
  added: number;
  /** Where its heads are in another order. */
  order: HeadOrder | null;
  /** Whether the file has −e^x in place of x. */
  isRate: boolean;
}

/**
 * The weights by Hugging Face name; each call reads its tensor.
 * @throws UsageError for a tensor that is not understood; the reader throws RgxError for a wrong
 *   shape
 */
export function ggufWeights(file: GgufFile, config: ModelConfig): WeightReader {
  const places = new Map<string, Place>(), unknown = new Set(file.tensors.keys());
  for (const name of ROPE_TENSORS) unknown.delete(name);
  for (const tensor of modelTensors(config)) {
    const parts = splitInGguf(config, tensor) ?? [tensor.part];
    const [stored, second = null] = parts.map((part) => ggufName(config, { ...tensor, part }));
    if (!unknown.delete(stored!) || second !== null && !unknown.delete(second)) continue;
    places.set(tensor.name, {
      stored: stored!,
      second,
      pieces: alternates(architectureOf(config))
        ? tensor.shape[0]! * tensor.shape[1]! / 2
        : tensor.shape[0]!,
      shapeOf: (shape) => {
        const [count, rows, ...width] = shape;
        return second === null
          ? ggufShape(config, { ...tensor, shape })
          : [count!, rows! / 2, ...width];
      },
      transposed: isTransposed(config, tensor),
      heads: interleavedHeads(config, tensor),
      added: addedInGguf(config, tensor),
      order: headOrder(config, tensor),
      isRate: tensor.part === "aLog",
    });
  }
  for (const name of unknown) {
    // The layers of a further head, which is left aside.
    const { gguf } = architectureOf(config), layer = Number(name.match(/^blk\.(\d+)\./)?.[1]);
    if (gguf === "qwen35" && layer >= config.numLayers) continue;
    throw new UsageError(`${file.label}: the tensor "${name}" is not understood`, {
      advice: "The model computes something that rgx does not: use another model.",
    });
  }
  const checkShape = ({ stored: first, second, shapeOf }: Place, given: readonly number[]) => {
    const shape = shapeOf(given);
    for (const stored of second === null ? [first] : [first, second]) {
      const found = file.info(stored).shape;
      if (String(found) === String(shape)) continue;
      throw new RgxError(
        `${file.label}: tensor "${stored}" has shape [${found.join(", ")}], expected ` +
          `[${shape.join(", ")}] (${elementCount(shape)} values) by the file's metadata`,
        { advice: "The file is damaged or its metadata belong to another model." },
      );
    }
  };
  /** The type's name of a tensor whose bytes can be read; null for others. */
  const dtype = (name: string): string | null => {
    const place = places.get(name);
    if (place === undefined || place.transposed) return null;
    if (place.order?.columns || place.isRate) return null;
    const type = file.info(place.stored).type.name;
    return place.second !== null && file.info(place.second).type.name !== type ? null : type;
  };
  /** Bytes of two tensors, alternately a piece of each. */
  const alternate = async (
    { stored: first, second, pieces }: Place,
    from: number,
    out: Uint8Array<ArrayBuffer>,
  ) => {
    const { begin, end } = file.info(first), size = (end - begin) / pieces;
    await readPieces(
      size,
      from,
      out,
      (piece, at, part) =>
        file.bytesInto(piece % 2 === 0 ? first : second!, Math.floor(piece / 2) * size + at, part),
    );
  };
  return {
    label: file.label,
    holds(name, shape) {
      const place = places.get(name);
      if (place !== undefined) checkShape(place, shape);
      return place !== undefined;
    },
    async values(name, shape) {
      const place = places.get(name);
      if (place === undefined) return null;
      checkShape(place, shape);
      const { stored, transposed, heads, added, order, isRate } = place;
      const read = await file.float32(stored);
      const values = order === null ? read : orderHeads(read, shape[0]!, order, false);
      if (isRate) return values.map((x) => Math.log(-x));
      if (place.second !== null) {
        const size = values.length / place.pieces, out = new Float32Array(2 * values.length);
        const second = await file.float32(place.second);
        for (let e = 0; e < place.pieces; e++) {
          out.set(values.subarray(e * size, (e + 1) * size), 2 * e * size);
          out.set(second.subarray(e * size, (e + 1) * size), (2 * e + 1) * size);
        }
        return out;
      }
      if (added !== 0) return values.map((x) => x - added);
      if (transposed) return transposeEach(values, 1, shape[1]!);
      return heads === null ? values : splitHalves(values, shape[0]!, heads);
    },
    typeOf(name) {
      const type = dtype(name);
      return type === null ? null : storedType(type);
    },
    dtype,
    async bytes(name, shape) {
      const place = places.get(name)!, { stored, second, heads, order } = place;
      checkShape(place, shape);
      if (second !== null) {
        const { begin, end } = file.info(stored), out = new Uint8Array(2 * (end - begin));
        await alternate(place, 0, out);
        return out;
      }
      const bytes = await file.bytes(stored);
      if (order !== null) return orderHeads(bytes, shape[0]!, order, false);
      return heads === null ? bytes : splitHalves(bytes, shape[0]!, heads);
    },
    async bytesInto(name, shape, from, out) {
      const place = places.get(name)!, { stored, second } = place;
      if (place.heads !== null || place.order !== null) return false;
      checkShape(place, shape);
      if (second === null) await file.bytesInto(stored, from, out);
      else await alternate(place, from, out);
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
