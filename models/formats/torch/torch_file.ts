/**
 * Weights that PyTorch has saved (`pytorch_model.bin`): tensors by name, read one at a time. The
 * file is a zip archive, which torch.save writes since torch 1.6. Its pickle is read by
 * unpickle.ts, which runs no code. The file may hold a dictionary of tensors and nothing else.
 * Left out: the layout of older versions of torch, sparse and quantised tensors, big-endian files,
 * archives whose storages are compressed.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { type ByteSource, fileSource, memorySource, tensorIn } from "../byte_source.ts";
import { floatsOf } from "../safetensors/dtypes.ts";
import { elementCount } from "../element_count.ts";
import { type StoredTensor, tensorsOf, torchRules } from "./torch_rules.ts";
import { dividedTensors, type Division, rankRules } from "./distributed_rules.ts";
import { unpickle } from "./unpickle.ts";
import {
  checkStored,
  readZipDirectory,
  readZipEntry,
  storedStart,
  type ZipEntry,
} from "./zip_directory.ts";

export interface RankFile {
  readonly file: TorchFile;
  /** The tensors that are divided; others are whole in each process. */
  readonly divisions: ReadonlyMap<string, Division>;
}

/** Where a storage is in the file. */
export interface StoragePlace {
  readonly begin: number;
  readonly elements: number;
  /** Compares its bytes with the archive's checksum, once. @throws RgxError when they differ */
  readonly check: () => Promise<void>;
}

export class TorchFile {
  constructor(
    readonly label: string,
    readonly tensors: ReadonlyMap<string, StoredTensor>,
    private readonly places: ReadonlyMap<string, StoragePlace>,
    private readonly source: ByteSource,
  ) {}

  /** @throws RgxError when there is no such tensor */
  info(name: string): StoredTensor {
    return tensorIn(this.label, this.tensors, name);
  }

  /**
   * Values, exact: F64 as float64, all other float types as float32.
   * @throws RgxError for integers
   */
  async floats(name: string): Promise<Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>> {
    return floatsOf(this.label, this.info(name), (await this.bytes(name)).buffer);
  }

  /** The stored elements of a tensor, row by row. */
  async bytes(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const { bytes, shape, stride } = this.info(name), stored = await this.#read(name);
    return new Uint8Array(inOrder(elementsOf(stored, bytes), shape, stride).buffer);
  }

  /** The bytes from a tensor's first element to its last one in its storage. */
  async #read(name: string): Promise<ArrayBuffer> {
    const { bytes, storage, offset, shape, stride } = this.info(name);
    const place = this.places.get(storage)!;
    const span = spanOf(shape, stride), begin = place.begin + offset * bytes;
    await place.check();
    return (await this.source.read(begin, begin + span * bytes)).buffer;
  }
}

/** Number of elements from a tensor's first to its last one in its storage. */
function spanOf(shape: readonly number[], stride: readonly number[]): number {
  if (shape.includes(0)) return 0;
  return 1 + shape.reduce((sum, n, i) => sum + (n - 1) * stride[i]!, 0);
}

type Elements =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>;

/** Elements of this many bytes, as bits. */
function elementsOf(buffer: ArrayBuffer, bytes: number): Elements {
  if (bytes === 1) return new Uint8Array(buffer);
  if (bytes === 2) return new Uint16Array(buffer);
  return bytes === 4 ? new Uint32Array(buffer) : new BigUint64Array(buffer);
}

/** Values row by row; the same array when they are in that order already. */
function inOrder<T extends Elements>(
  values: T,
  shape: readonly number[],
  stride: readonly number[],
): T {
  let packed = 1, isPacked = true;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i]! > 1 && stride[i] !== packed) isPacked = false;
    packed *= shape[i]!;
  }
  if (isPacked || shape.includes(0)) return values;
  const out = new (values.constructor as new (length: number) => T)(packed);
  const index = shape.map(() => 0);
  for (let to = 0, from = 0; to < packed; to++) {
    out[to] = values[from]!;
    for (let i = shape.length - 1; i >= 0; i--) {
      from += stride[i]!;
      if (++index[i]! < shape[i]!) break;
      from -= stride[i]! * shape[i]!;
      index[i] = 0;
    }
  }
  return out;
}

/**
 * Opens a file.
 * @throws RgxError when it is missing, damaged, or holds anything but tensors; UsageError when it
 *   has the layout from before torch 1.6
 */
export async function readTorchFile(path: string): Promise<TorchFile> {
  return await open(path, await fileSource(path, "PyTorch weights"));
}

/**
 * Opens the part of a model that one process of FSDP has saved.
 * @throws RgxError also where a tensor is divided in a way that is not supported
 */
export async function readRankFile(path: string): Promise<RankFile> {
  const divisions = new Map<string, Division>();
  const file = await open(path, await fileSource(path, "a part of a model"), divisions);
  return { file, divisions };
}

export function parseTorchFile(bytes: Uint8Array, label = "PyTorch data"): Promise<TorchFile> {
  return open(label, memorySource(bytes));
}

/** First byte of a pickle. Files of torch before 1.6 are pickles followed by the storages. */
const PICKLE_START = 0x80;

/** @param divisions filled with how tensors are divided among processes; null: none may be */
async function open(
  label: string,
  source: ByteSource,
  divisions: Map<string, Division> | null = null,
): Promise<TorchFile> {
  const lead = await source.read(0, Math.min(source.size, 8));
  const start = new TextDecoder().decode(lead);
  if (start.startsWith("version ")) {
    throw new RgxError(`${label}: it is a Git LFS pointer, not the weights themselves`, {
      advice: "Run `git lfs pull` in the model's folder.",
    });
  }
  if (lead[0] === PICKLE_START) {
    throw new UsageError(
      `${label}: torch saved it in the layout from before 1.6, which is not read`,
      {
        advice: "Load it with a newer torch and torch.save it again, or convert it to safetensors.",
      },
    );
  }
  const bad = (message: string) =>
    new RgxError(`${label}: not valid PyTorch weights: ${message}`, {
      advice: "The file is damaged, incomplete or of another format: fetch it again.",
    });
  if (!start.startsWith("PK")) {
    throw bad(lead.length === 0 ? "it is empty" : `it begins with byte 0x${lead[0]!.toString(16)}`);
  }
  const { tensors, places } = await readArchive(label, source, divisions, bad);
  for (const { name, storage, bytes, offset, shape, stride } of tensors.values()) {
    const place = places.get(storage), last = offset + spanOf(shape, stride);
    if (place === undefined || !(last <= place.elements)) {
      throw new RgxError(
        `${label}: tensor "${name}" [${shape}] needs ${last} elements of storage ` +
          `"${storage}", which has ${place?.elements ?? 0}`,
        { advice: "The file is damaged: fetch it again." },
      );
    }
    // Expanded tensors repeat stored elements. A weight of that kind would only waste memory.
    if (elementCount(shape) * bytes > source.size) {
      throw new RgxError(`${label}: tensor "${name}" [${shape}] is larger than the file`);
    }
  }
  return new TorchFile(label, tensors, places, source);
}

async function readArchive(
  label: string,
  source: ByteSource,
  divisions: Map<string, Division> | null,
  bad: (message: string) => RgxError,
) {
  const entries = await readZipDirectory(source, bad);
  const pickle = [...entries.keys()].find((name) => /^[^/]*\/data\.pkl$/.test(name));
  if (pickle === undefined) throw bad("there is no data.pkl in the archive");
  const root = pickle.slice(0, -"data.pkl".length);
  const order = entries.get(`${root}byteorder`);
  if (order !== undefined) {
    const text = new TextDecoder().decode(await readZipEntry(source, order, bad));
    if (text !== "little") throw bad(`its byte order is ${JSON.stringify(text.slice(0, 20))}`);
  }
  const bytes = await readZipEntry(source, entries.get(pickle)!, bad);
  const tensors = divisions === null
    ? tensorsOf(unpickle(bytes, torchRules(label), label), label)
    : dividedTensors(unpickle(bytes, rankRules(label), label), label, divisions);
  const places = new Map<string, StoragePlace>();
  for (const { storage, bytes: width } of tensors.values()) {
    if (places.has(storage)) continue;
    const entry: ZipEntry | undefined = entries.get(`${root}data/${storage}`);
    if (entry === undefined) throw bad(`there is no storage "${storage}" in the archive`);
    const begin = await storedStart(source, entry, bad);
    let checked: Promise<void> | null = null;
    places.set(storage, {
      begin,
      elements: Math.floor(entry.size / width),
      check: () => checked ??= checkStored(source, entry, begin, bad),
    });
  }
  return { tensors, places };
}
