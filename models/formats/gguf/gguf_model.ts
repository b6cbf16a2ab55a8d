/**
 * A language model in a GGUF file: its configuration, and its weights under their Hugging Face names, widened to
 * float32 or as they are stored. What llama.cpp's converter does to a Llama model is undone: the rows of the query
 * and key projections are interleaved there, pair by pair, and its frequency scaling is a list of divisors; the
 * matrices of GPT-2 are transposed. The tokenizer is gguf_tokenizer.ts's matter, names are gguf_names.ts's.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import type { GgufFile } from "./gguf.ts";
import { ggufArchitecture } from "./gguf_config.ts";
import { hfName, isTransposed, transpose } from "./gguf_names.ts";
import { parseJsonObject } from "../../../core/json_file.ts";
import { ropeFrequencies } from "../../architectures/rope_frequencies.ts";
import { elementCount } from "../safetensors/safetensors.ts";
import { storedType } from "../stored_weight.ts";
import type { WeightReader } from "../weight_reader.ts";

export const ROPE_DIVISORS = "rope_freqs.weight";
/** Written by rgx beside the divisors: the `rope_scaling` itself, as JSON. Others do not know it. */
export const ROPE_SCALING_KEY = "rgx.rope_scaling";

/**
 * Weights by Hugging Face name; each call reads that tensor.
 * @throws UsageError for a tensor that is not understood; the source throws RgxError for a wrong shape
 */
export function ggufWeights(
  file: GgufFile,
  heads: { numHeads: number; numKvHeads: number },
): WeightReader {
  const storedNames = new Map<string, string>(), architecture = ggufArchitecture(file);
  for (const name of file.tensors.keys()) {
    if (name === ROPE_DIVISORS) continue;
    const known = hfName(architecture, name);
    if (known === null) {
      throw new UsageError(`${file.label}: the tensor "${name}" is not understood`, {
        advice: "The model computes something that rgx does not: use another model.",
      });
    }
    storedNames.set(known, name);
  }
  const interleaved = architecture === "llama";
  const checked = (stored: string, shape: readonly number[]) => {
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
      checked(stored, isTransposed(architecture, stored) ? [shape[1]!, shape[0]!] : shape);
      return true;
    },
    async values(name, shape) {
      const stored = storedNames.get(name);
      if (stored === undefined) return null;
      if (isTransposed(architecture, stored)) {
        const [inDim, outDim] = [shape[0]!, shape[1]!];
        checked(stored, [outDim, inDim]);
        return transpose(await file.float32(stored), outDim, inDim);
      }
      checked(stored, shape);
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
      checked(stored, shape);
      return inOrder(stored, shape[0]!, await file.bytes(stored));
    },
    async bytesInto(name, shape, from, out) {
      const stored = storedNames.get(name)!;
      if (isInterleaved(stored)) return false;
      checked(stored, shape);
      await file.bytesInto(stored, from, out);
      return true;
    },
  };
}

/**
 * Rows of each head from (pair 0 first, pair 0 second, pair 1 first, …) to (all first, all second), which
 * is how Hugging Face's rotation pairs them. Rows are values, or the bytes that they are stored in; in place.
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

/** The reverse of {@link splitHalves}, into an array of its own. */
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

/** What a model's frequencies are divided by, pair by pair: float64 [headDim/2]. */
export function ropeDivisors(
  model: Parameters<typeof ropeFrequencies>[0],
): Float64Array<ArrayBuffer> {
  const plain = ropeFrequencies({ ...model, ropeScaling: null }), scaled = ropeFrequencies(model);
  return Float64Array.from(plain, (frequency, i) => frequency / scaled[i]!);
}

/** The numbers that Llama 3.x models share; their factors differ. */
const LLAMA3 = { lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositions: 8192 };

/**
 * The `rope_scaling` that a file's frequency divisors came from, or null when it has none.
 * @throws UsageError when they are not those of Llama 3.x
 */
export async function ggufRopeScaling(file: GgufFile): Promise<Record<string, unknown> | null> {
  if (!file.tensors.has(ROPE_DIVISORS)) return null;
  const divisors = await file.float32(ROPE_DIVISORS);
  const base = file.metadata.get(`${ggufArchitecture(file)}.rope.freq_base`) ?? 10000;
  const noted = file.metadata.get(ROPE_SCALING_KEY);
  const note = typeof noted === "string"
    ? parseJsonObject(noted, `${file.label}: ${ROPE_SCALING_KEY}`)
    : null;
  const scaling = {
    type: "llama3",
    factor: Number(note?.["factor"] ?? divisors.reduce((a, b) => Math.max(a, b), 0)),
    lowFreqFactor: Number(note?.["low_freq_factor"] ?? LLAMA3.lowFreqFactor),
    highFreqFactor: Number(note?.["high_freq_factor"] ?? LLAMA3.highFreqFactor),
    originalMaxPositions: Number(
      note?.["original_max_position_embeddings"] ?? LLAMA3.originalMaxPositions,
    ),
  } as const;
  const expected = ropeDivisors({
    headDim: divisors.length * 2,
    ropeTheta: Number(base),
    ropeScaling: scaling,
  });
  const same = divisors.every((divisor, i) => Math.abs(expected[i]! - divisor) <= 1e-4 * divisor);
  if (!same) {
    throw new UsageError(
      `${file.label}: ${ROPE_DIVISORS} are not the frequency divisors of a Llama 3 model`,
      { advice: "Use the model's safetensors, whose config.json says how they are made." },
    );
  }
  return {
    rope_type: scaling.type,
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalMaxPositions,
  };
}
