/**
 * Tensors of experts in the files of a model: transformers 4 has three matrices for each expert,
 * transformers 5 keeps all of them in two tensors (architectures/mixtures.ts). The second form is
 * made of the first when it is read.
 */
import { RgxError } from "../../core/errors.ts";
import { ARCHITECTURES } from "../architectures/mod.ts";
import { readPieces } from "./byte_source.ts";
import { elementCount } from "./element_count.ts";
import { DTYPE_BYTES, type SafetensorsDType } from "./safetensors/dtypes.ts";

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
      if (file.bytesInto !== undefined) await file.bytesInto(name, at, part);
      else part.set((await file.bytes(name)).subarray(at, at + part.length));
    });
  }
}

/** Block, gate, up and down of each architecture with experts. */
const STORED = Object.values(ARCHITECTURES).flatMap(({ experts }) =>
  experts === undefined ? [] : [experts.stored]
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
    if (/\.mlp\.experts\.(gate_up|down)_proj$/.test(name)) rename(name, `${name}.weight`);
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
