/**
 * GGUF files (versions 2 and 3): metadata, tensor table, data. The header is read and all rules are
 * checked before anything is returned. Tensors are read one at a time, in pieces, when they are
 * needed. Format: ggml's docs/gguf.md. gguf_config.ts and gguf_tokenizer.ts interpret the metadata
 * of a model. Left out: version 1, big-endian files, files in several parts, arrays of arrays.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { type ByteSource, fileSource, memorySource, tensorIn } from "../byte_source.ts";
import { GGML_TYPES, type GgmlType, ggmlTypeName } from "./ggml_types.ts";
import { type Bad, type GgufValue, NeedMoreBytes, readGgufHeader } from "./gguf_header.ts";
import { elementCount } from "../element_count.ts";

export interface GgufTensor {
  readonly name: string;
  readonly type: GgmlType;
  /** Row-major, as in Hugging Face's files: the reverse of the order in the file. */
  readonly shape: readonly number[];
  /** Byte range in the file. */
  readonly begin: number;
  readonly end: number;
}

/** Limit on the header, far beyond any model's vocabulary; it prevents absurd allocations. */
const MAX_HEADER_BYTES = 2 ** 28;
const FIRST_WINDOW = 2 ** 20;
const PIECE_BYTES = 2 ** 22;

export class GgufFile {
  constructor(
    readonly label: string,
    readonly metadata: ReadonlyMap<string, GgufValue>,
    readonly tensors: ReadonlyMap<string, GgufTensor>,
    private readonly source: ByteSource,
  ) {}

  /**
   * Values as float32. Besides them, only one piece of the file is in memory.
   * @throws RgxError when there is no such tensor, or the file has become shorter
   */
  async float32(name: string): Promise<Float32Array<ArrayBuffer>> {
    const { type, shape, begin, end } = this.info(name);
    const out = new Float32Array(elementCount(shape));
    const blocks = Math.max(1, Math.floor(PIECE_BYTES / type.bytes));
    for (let at = begin, to = 0; at < end; at += blocks * type.bytes, to += blocks * type.weights) {
      const piece = await this.source.read(at, Math.min(end, at + blocks * type.bytes));
      const count = piece.length / type.bytes * type.weights;
      type.widen(piece, out.subarray(to, to + count));
    }
    return out;
  }

  /** The stored blocks, row by row. @throws RgxError when there is no such tensor */
  bytes(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const { begin, end } = this.info(name);
    return this.source.read(begin, end);
  }

  /** Fills `out` with the stored bytes from byte `from` of the tensor on. */
  async bytesInto(name: string, from: number, out: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.source.readInto(this.info(name).begin + from, out);
  }

  /** @throws RgxError when there is no such tensor */
  info(name: string): GgufTensor {
    return tensorIn(this.label, this.tensors, name);
  }
}

/**
 * Opens a file.
 * @throws RgxError when it is missing or damaged, UsageError for what is not supported
 */
export async function readGguf(path: string): Promise<GgufFile> {
  return await open(path, await fileSource(path, "a GGUF model"));
}

export function parseGguf(bytes: Uint8Array, label = "GGUF data"): Promise<GgufFile> {
  return open(label, memorySource(bytes));
}

async function open(label: string, source: ByteSource): Promise<GgufFile> {
  const bad: Bad = (message, advice = "Fetch or write the file again.") =>
    new RgxError(`${label}: not a valid GGUF file: ${message}`, { advice });
  for (let window = FIRST_WINDOW;; window *= 4) {
    const bytes = await source.read(0, Math.min(window, source.size));
    try {
      const header = readGgufHeader(bytes, source.size, bad);
      checkParts(label, header.metadata);
      const tensors = placeTensors(label, header, source.size, bad);
      return new GgufFile(label, header.metadata, tensors, source);
    } catch (error) {
      if (!(error instanceof NeedMoreBytes)) throw error;
      if (bytes.length === source.size) {
        throw bad(`it ends after ${source.size} bytes, within ${error.what}: it is incomplete`);
      }
      if (window >= MAX_HEADER_BYTES) {
        throw bad(`its header goes on beyond ${MAX_HEADER_BYTES} bytes, in ${error.what}`);
      }
    }
  }
}

function checkParts(label: string, metadata: ReadonlyMap<string, GgufValue>): void {
  const parts = metadata.get("split.count");
  if (typeof parts === "number" && parts > 1) {
    throw new UsageError(`${label}: it is one of ${parts} parts of a model, which are not read`, {
      advice: "Put them together with llama.cpp: llama-gguf-split --merge FIRST-PART OUTPUT.",
    });
  }
}

/** Checks the entries of the tensor table and computes their byte ranges. */
function placeTensors(
  label: string,
  { metadata, entries, end }: ReturnType<typeof readGgufHeader>,
  fileBytes: number,
  bad: Bad,
): Map<string, GgufTensor> {
  const alignment = metadata.get("general.alignment") ?? 32;
  if (
    typeof alignment !== "number" || alignment < 1 || alignment > 2 ** 20 ||
    !Number.isInteger(Math.log2(alignment))
  ) {
    throw bad(`general.alignment is ${alignment}, expected a power of two`);
  }
  const dataStart = Math.ceil(end / alignment) * alignment;
  const tensors = new Map<string, GgufTensor>();
  for (const { name, dims, typeId, offset } of entries) {
    const type = GGML_TYPES.get(typeId);
    if (type === undefined) throw unsupportedType(label, name, typeId);
    if (tensors.has(name)) throw bad(`two tensors are called "${name}"`);
    const shape = dims.toReversed();
    const count = elementCount(shape);
    const row = shape.at(-1) ?? 1;
    if (!Number.isSafeInteger(count)) {
      throw bad(`tensor "${name}" has shape [${shape}], which no file can hold`);
    }
    if (row % type.weights !== 0) {
      throw bad(
        `tensor "${name}" has rows of ${row} weights, ${type.name} needs multiples of ` +
          `${type.weights}`,
      );
    }
    if (offset % alignment !== 0) {
      throw bad(`tensor "${name}" is at offset ${offset}, expected a multiple of ${alignment}`);
    }
    const begin = dataStart + offset, finish = begin + count / type.weights * type.bytes;
    if (!(finish <= fileBytes)) {
      throw bad(
        `it is incomplete: tensor "${name}" (${type.name}, shape [${shape}]) ends at byte ` +
          `${finish}, the file has ${fileBytes}`,
      );
    }
    tensors.set(name, { name, type, shape, begin, end: finish });
  }
  const sorted = [...tensors.values()].sort((a, b) => a.begin - b.begin || a.end - b.end);
  sorted.forEach((tensor, i) => {
    const before = sorted[i - 1];
    if (before !== undefined && before.end > tensor.begin) {
      throw bad(
        `tensor "${tensor.name}" begins at byte ${tensor.begin} and overlaps "${before.name}", ` +
          `which ends at ${before.end}`,
      );
    }
  });
  return tensors;
}

function unsupportedType(label: string, name: string, typeId: number): UsageError {
  const known = [...GGML_TYPES.values()].map((type) => type.name).join(", ");
  return new UsageError(
    `${label}: tensor "${name}" is of type ${ggmlTypeName(typeId)}, which is not read ` +
      `(only ${known})`,
    {
      advice: "Take the model in one of these types (Q8_0 is the closest to the original), " +
        "or its safetensors.",
    },
  );
}
