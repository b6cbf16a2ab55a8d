/**
 * Tensors of experts in the files of a model: transformers 4 has three matrices for each expert,
 * transformers 5 keeps all of them in two tensors (architectures/mixtures.ts). The second form is
 * made of the first when it is read. Those of gpt-oss are [experts, in, out], or codes of MXFP4 and
 * their scales ([experts, out, in/32]), which are put together as GGUF files have them.
 */
import { RgxError } from "../../core/errors.ts";
import { packStored, unpackStored } from "../../kernels/weights/layout.ts";
import { ARCHITECTURES, type FileTensor } from "../architectures/mod.ts";
import { readPieces } from "./byte_source.ts";
import { elementCount } from "./element_count.ts";
import { DTYPE_BYTES, floatsOf, type SafetensorsDType } from "./safetensors/dtypes.ts";

export interface TensorFile {
  readonly label: string;
  readonly tensors: ReadonlyMap<string, unknown>;
  info(
    name: string,
  ): { readonly name: string; readonly dtype: string; readonly shape: readonly number[] };
  floats(name: string): Promise<Float32Array | Float64Array>;
  bytes(name: string): Promise<Uint8Array<ArrayBuffer>>;
  bytesInto?(name: string, from: number, out: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** A tensor under another name: one tensor, or several that follow one another. */
class Joined implements TensorFile {
  readonly tensors: ReadonlyMap<string, unknown>;
  readonly #dtype: string;
  readonly #pieceBytes: number;

  /** @throws RgxError when they are not alike */
  constructor(
    readonly label: string,
    name: string,
    private readonly pieces: readonly (readonly [file: TensorFile, name: string])[],
    private readonly shape: readonly number[],
  ) {
    const [first, ...others] = pieces.map(([file, name]) => file.info(name));
    const { dtype, shape: expected } = first!;
    for (const { name, dtype: type, shape } of others) {
      if (type === dtype && String(shape) === String(expected)) continue;
      throw new RgxError(
        `${label}: tensor "${name}" is ${type} [${shape.join(", ")}], expected ` +
          `${dtype} [${expected.join(", ")}] as those of other experts`,
        { advice: "The shards belong to different models." },
      );
    }
    this.#dtype = dtype;
    this.#pieceBytes = elementCount(expected) * DTYPE_BYTES[dtype as SafetensorsDType];
    this.tensors = new Map([[name, null]]);
  }

  info(name: string) {
    return { name, dtype: this.#dtype, shape: this.shape };
  }

  async floats(): Promise<Float32Array | Float64Array> {
    const length = elementCount(this.shape), size = length / this.pieces.length;
    const out = this.#dtype === "F64" ? new Float64Array(length) : new Float32Array(length);
    for (const [i, [file, name]] of this.pieces.entries()) {
      out.set(await file.floats(name), i * size);
    }
    return out;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const out = new Uint8Array(this.#pieceBytes * this.pieces.length);
    await this.bytesInto("", 0, out);
    return out;
  }

  async bytesInto(_: string, from: number, out: Uint8Array<ArrayBuffer>): Promise<void> {
    await readPieces(this.#pieceBytes, from, out, async (piece, at, part) => {
      const [file, name] = this.pieces[piece]!;
      await readInto(file, name, at, part);
    });
  }
}

/** Fills `out` with the bytes of a tensor from `from` on. */
async function readInto(
  file: TensorFile,
  name: string,
  from: number,
  out: Uint8Array<ArrayBuffer>,
): Promise<void> {
  if (file.bytesInto !== undefined) await file.bytesInto(name, from, out);
  else out.set((await file.bytes(name)).subarray(from, from + out.length));
}

/** The bits of elements, of any type. */
type Bits = Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | BigUint64Array<ArrayBuffer>;
const BITS = { 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array } as const;

/** Experts of gpt-oss in floats, as [experts, out, in]. */
function transposed(file: TensorFile, from: string, name: string): TensorFile {
  const { label } = file,
    { dtype, shape } = file.info(from),
    [count, rows, width] = shape as [number, number, number];
  const size = DTYPE_BYTES[dtype as SafetensorsDType] as keyof typeof BITS;
  const info = { name, dtype, shape: [count, width, rows] };
  const read = async () => {
    const bits = new BITS[size]((await file.bytes(from)).buffer);
    return transposeEach<Bits>(bits, count, rows).buffer;
  };
  return {
    label,
    tensors: new Map([[name, null]]),
    info: () => info,
    floats: async () => floatsOf(label, info, await read()),
    bytes: async () => new Uint8Array(await read()),
  };
}

/** `count` matrices of so many rows, transposed. */
export function transposeEach<T extends Bits | Float32Array | Float64Array>(
  values: T,
  count: number,
  rows: number,
): T {
  const out = values.slice() as T, size = values.length / count, width = size / rows;
  for (let at = 0, begin = 0; begin < values.length; begin += size) {
    for (let column = 0; column < width; column++) {
      for (let row = 0; row < rows; row++) out[at++] = values[begin + row * width + column]!;
    }
  }
  return out;
}

/** Bytes of a block in a GGUF file: a scale, and 16 of codes. */
const BLOCK_BYTES = 17;

/** @throws RgxError when the scales are missing, or not those of the blocks */
function fromMxfp4(
  files: ReadonlyMap<string, TensorFile>,
  blocks: string,
  to: string,
): TensorFile {
  const scales = blocks.replace(/_blocks$/, "_scales"), file = files.get(blocks)!;
  const ofScales = files.get(scales), { dtype, shape } = file.info(blocks);
  const wanted = String(shape.slice(0, -1)), found = ofScales?.info(scales);
  const isRight = dtype === "U8" && found?.dtype === "U8" && shape.length === 4 && shape[3] === 16;
  if (!isRight || String(found.shape) !== wanted) {
    throw new RgxError(
      `${file.label}: tensor "${blocks}" is ${dtype} [${shape.join(", ")}], expected U8 blocks ` +
        `of 16 with "${scales}" U8 [${wanted.replaceAll(",", ", ")}]` +
        (found === undefined ? ", which is missing" : ` and not [${found.shape.join(", ")}]`),
      { advice: "A shard is missing, or the shards belong to different models." },
    );
  }
  const [count, rows, perRow] = shape as [number, number, number];
  const info = { name: to, dtype: "MXFP4", shape: [count, rows, 32 * perRow] };
  const bytesInto = async (_: string, from: number, out: Uint8Array<ArrayBuffer>) => {
    const first = from / BLOCK_BYTES, length = out.length / BLOCK_BYTES;
    const exponents = new Uint8Array(length), codes = new Uint8Array(16 * length);
    await readInto(ofScales!, scales, first, exponents);
    await readInto(file, blocks, 16 * first, codes);
    for (let block = 0, at = 0; block < length; block++) {
      out[at++] = exponents[block]!;
      // The codes of neighbours share a byte here; in GGUF files those of j and j + 16 do.
      for (let i = 16 * block; i < 16 * block + 8; i++) {
        const a = codes[i]!, b = codes[i + 8]!;
        out[at++] = a & 15 | b << 4;
        out[at++] = a >> 4 | b & 0xf0;
      }
    }
  };
  const bytes = async () => {
    const out = new Uint8Array(elementCount(shape.slice(0, -1)) * BLOCK_BYTES);
    await bytesInto(to, 0, out);
    return out;
  };
  const floats = async () => {
    const n = count * rows, k = 32 * perRow;
    return unpackStored("mxfp4", n, k, packStored("mxfp4", n, k, await bytes()));
  };
  return {
    label: file.label,
    tensors: new Map([[to, null]]),
    info: () => info,
    floats,
    bytes,
    bytesInto,
  };
}

/** The values of a tensor that a file holds, of those of the model's tensor. */
export function fileValues(
  values: Float32Array | Float64Array,
  { shape, from, transposed = false }: FileTensor,
): Float32Array | Float64Array {
  const [count, width] = shape as [number, number];
  const part = values.subarray(from, from + elementCount(shape));
  return transposed ? transposeEach(part, count, part.length / count / width) : part;
}

/** Block, gate, up and down of each architecture with experts. */
const STORED = Object.values(ARCHITECTURES).flatMap(({ experts }) =>
  experts?.stored == null ? [] : [experts.stored]
);

/**
 * The tensors of files by name, with those of experts under the names that rgx has for them.
 * @throws RgxError when an expert is missing, or they are not alike
 */
export function joinExperts(
  files: ReadonlyMap<string, TensorFile>,
  folder: string,
): ReadonlyMap<string, TensorFile> {
  const joined = new Map(files);
  const rename = (from: string, to: string) => {
    const file = joined.get(from);
    if (file === undefined || from === to) return;
    joined.set(to, new Joined(file.label, to, [[file, from]], file.info(from).shape));
    joined.delete(from);
  };
  const blocks = new Map<string, { stored: typeof STORED[number]; count: number }>();
  for (const name of files.keys()) {
    const fused = /^(.*\.mlp\.experts\.(?:gate_up|down)_proj)(_bias|_blocks|_scales)?$/.exec(name);
    if (fused !== null) {
      const [, path, ending] = fused as unknown as [string, string, string | undefined];
      const file = files.get(name)!, weight = `${path}.weight`;
      if (ending === "_bias") rename(name, `${path}.bias`);
      else if (ending === "_blocks") joined.set(weight, fromMxfp4(files, name, weight));
      else if (ending === undefined && files.has(`${path}_bias`)) {
        joined.set(weight, transposed(file, name, weight));
      } else if (ending === undefined) rename(name, weight);
      if (ending !== "_bias") joined.delete(name);
      continue;
    }
    const match = /^(.*\.)([a-z_]+)\.experts\.(\d+)\./.exec(name);
    const stored = STORED.find(([block]) => block === match?.[2]);
    if (match === null || stored === undefined) continue;
    const count = Math.max(blocks.get(match[1]!)?.count ?? 0, Number(match[3]) + 1);
    blocks.set(match[1]!, { stored, count });
  }
  for (const [prefix, { stored: [block, gate, up, down], count }] of blocks) {
    const join = (to: string, ...parts: string[]) => {
      const pieces = Array.from({ length: count * parts.length }, (_, i) => {
        const expert = Math.floor(i / parts.length), part = parts[i % parts.length];
        const name = `${prefix}${block}.experts.${expert}.${part}.weight`, file = files.get(name);
        if (file !== undefined) return [file, name] as const;
        throw new RgxError(`${folder}: tensor "${name}" is missing: there are ${count} experts`, {
          advice: "A shard is missing, or the download is incomplete.",
        });
      });
      const name = `${prefix}mlp.experts.${to}.weight`;
      const [[file, first]] = pieces as [typeof pieces[number]],
        [rows, ...rest] = file.info(first).shape;
      const shape = [count, parts.length * rows!, ...rest];
      joined.set(name, new Joined(folder, name, pieces, shape));
      for (const [, piece] of pieces) joined.delete(piece);
    };
    join("gate_up_proj", gate, up);
    join("down_proj", down);
    rename(`${prefix}${block}.gate.weight`, `${prefix}mlp.gate.weight`);
  }
  return joined;
}
