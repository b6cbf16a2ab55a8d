/**
 * Safetensors files: `u64 n | JSON header of n bytes | data`. The header is read first and all
 * rules of the format are checked (https://huggingface.co/docs/safetensors, "Format"), so that a
 * truncated download is recognised at once. A tensor's bytes are read when they are needed.
 * weight_files.ts joins the shards of a model. Left out: values of 8-bit floats (their bytes can be
 * read), big-endian hosts (Deno runs on none).
 */
import { RgxError } from "../../../core/errors.ts";
import { elementCount } from "../element_count.ts";
import { DTYPE_BYTES, floatsOf, type SafetensorsDType } from "./dtypes.ts";
import { type ByteSource, fileSource, memorySource, tensorIn } from "../byte_source.ts";

/** The format's limit on the header; it prevents absurd allocations. */
const MAX_HEADER_BYTES = 100_000_000;

export interface TensorInfo {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  /** Row-major; [] is a scalar. */
  readonly shape: readonly number[];
  /** Byte range, counted from the start of the data. */
  readonly begin: number;
  readonly end: number;
}

/** An open safetensors file. It holds no file handle: each read opens the file again. */
export class SafetensorsFile {
  constructor(
    readonly label: string,
    readonly metadata: Readonly<Record<string, string>>,
    readonly tensors: ReadonlyMap<string, TensorInfo>,
    private readonly source: ByteSource,
    private readonly dataStart: number,
  ) {}

  /** @throws RgxError when there is no such tensor */
  info(name: string): TensorInfo {
    return tensorIn(this.label, this.tensors, name);
  }

  /**
   * The stored bytes, as a copy in their own buffer.
   * @param from first element
   * @param count number of elements; default: all others
   */
  bytes(name: string, from = 0, count?: number): Promise<Uint8Array<ArrayBuffer>> {
    const { begin, end, dtype } = this.info(name), size = DTYPE_BYTES[dtype];
    const at = begin + from * size, last = count === undefined ? end : at + count * size;
    if (last > end) throw new RangeError(`tensor "${name}": elements beyond its end`);
    return this.source.read(this.dataStart + at, this.dataStart + last);
  }

  /** Fills `out` with the stored bytes from byte `from` of the tensor on. */
  async bytesInto(name: string, from: number, out: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.source.readInto(this.dataStart + this.info(name).begin + from, out);
  }

  /**
   * Values, exact: F64 as float64, all other float types as float32.
   * @throws RgxError for integers
   */
  async floats(
    name: string,
    from = 0,
    count?: number,
  ): Promise<Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>> {
    return floatsOf(this.label, this.info(name), (await this.bytes(name, from, count)).buffer);
  }

  /** The same as float32: F64 is rounded. */
  async float32(name: string, from = 0, count?: number): Promise<Float32Array<ArrayBuffer>> {
    const values = await this.floats(name, from, count);
    return values instanceof Float32Array ? values : Float32Array.from(values);
  }

  async float64(name: string, from = 0, count?: number): Promise<Float64Array<ArrayBuffer>> {
    const values = await this.floats(name, from, count);
    return values instanceof Float64Array ? values : Float64Array.from(values);
  }

  /**
   * Values of an integer or boolean tensor. I64 and U64 beyond 2^53 lose digits.
   * @throws RgxError for floats
   */
  async integers(name: string): Promise<Float64Array> {
    const { dtype } = this.info(name);
    const read = INTEGER_VIEWS[dtype];
    if (read === undefined) {
      throw new RgxError(`${this.label}: tensor "${name}" is ${dtype}, expected an integer type`);
    }
    return read((await this.bytes(name)).buffer);
  }
}

const INTEGER_VIEWS: Partial<Record<SafetensorsDType, (buffer: ArrayBuffer) => Float64Array>> = {
  I64: (b) => Float64Array.from(new BigInt64Array(b), Number),
  U64: (b) => Float64Array.from(new BigUint64Array(b), Number),
  I32: (b) => Float64Array.from(new Int32Array(b)),
  U32: (b) => Float64Array.from(new Uint32Array(b)),
  I16: (b) => Float64Array.from(new Int16Array(b)),
  U16: (b) => Float64Array.from(new Uint16Array(b)),
  I8: (b) => Float64Array.from(new Int8Array(b)),
  U8: (b) => Float64Array.from(new Uint8Array(b)),
  BOOL: (b) => Float64Array.from(new Uint8Array(b)),
};

/**
 * Opens a file: reads and checks its header.
 * @throws RgxError when it is missing or not valid
 */
export async function readSafetensors(path: string): Promise<SafetensorsFile> {
  return await open(path, await fileSource(path, "safetensors weights"));
}

/**
 * Opens a file in memory.
 * @throws RgxError when it is not valid
 */
export function parseSafetensors(
  bytes: Uint8Array,
  label = "safetensors data",
): Promise<SafetensorsFile> {
  return open(label, memorySource(bytes));
}

const DOWNLOAD_AGAIN = "Fetch or write the file again.";

async function open(label: string, source: ByteSource): Promise<SafetensorsFile> {
  const bad = (message: string, advice = DOWNLOAD_AGAIN) =>
    new RgxError(`${label}: not a valid safetensors file: ${message}`, { advice });
  if (source.size < 8) {
    throw bad(`it has ${source.size} bytes, expected at least 8`);
  }
  const lead = await source.read(0, Math.min(source.size, 9));
  const declared = new DataView(lead.buffer).getBigUint64(0, true);
  const looksLikePointer = new TextDecoder().decode(lead).startsWith("version ");
  if (declared > BigInt(MAX_HEADER_BYTES)) {
    if (looksLikePointer) {
      throw bad(
        "it is a Git LFS pointer, not the weights themselves",
        "Run `git lfs pull` in the model's folder.",
      );
    }
    throw bad(
      `the first 8 bytes announce a header of ${declared} bytes, the format allows ` +
        `${MAX_HEADER_BYTES}`,
      "The file is damaged or of another format (a .bin or .gguf file renamed?).",
    );
  }
  const headerBytes = Number(declared);
  const dataStart = 8 + headerBytes;
  if (dataStart > source.size) {
    throw bad(
      `the header should end at byte ${dataStart}, the file has ${source.size}: ` +
        "the download is incomplete",
    );
  }
  if (headerBytes < 2 || lead[8] !== 0x7b) {
    throw bad(
      headerBytes < 2
        ? `the header has ${headerBytes} bytes, expected at least 2`
        : `the header begins with byte 0x${lead[8]!.toString(16)}, expected "{"`,
    );
  }
  let header: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true })
      .decode(await source.read(8, dataStart));
    header = JSON.parse(text);
  } catch (error) {
    if (error instanceof RgxError) throw error;
    throw bad(`the header is not JSON: ${(error as Error).message}`);
  }
  const { metadata, infos } = readHeader(header as Record<string, unknown>, bad);
  checkLayout(infos, source.size - dataStart, bad);
  return new SafetensorsFile(
    label,
    metadata,
    new Map(infos.map((info) => [info.name, info])),
    source,
    dataStart,
  );
}

type Bad = (message: string, advice?: string) => RgxError;

function readHeader(
  header: Record<string, unknown>,
  bad: Bad,
): { metadata: Record<string, string>; infos: TensorInfo[] } {
  const metadata: Record<string, string> = {};
  const infos: TensorInfo[] = [];
  for (const [name, entry] of Object.entries(header)) {
    if (entry === null || typeof entry !== "object") {
      throw bad(`the header's entry "${name}" is ${JSON.stringify(entry)}, expected an object`);
    }
    if (name === "__metadata__") {
      for (const [key, value] of Object.entries(entry)) {
        if (typeof value !== "string") {
          throw bad(`metadata "${key}" is ${JSON.stringify(value)}, expected a string`);
        }
        metadata[key] = value;
      }
      continue;
    }
    infos.push(readEntry(name, entry as Record<string, unknown>, bad));
  }
  infos.sort((a, b) => a.begin - b.begin || a.end - b.end);
  return { metadata, infos };
}

function readEntry(name: string, entry: Record<string, unknown>, bad: Bad): TensorInfo {
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== "string" || !Object.hasOwn(DTYPE_BYTES, dtype)) {
    throw bad(
      `tensor "${name}" has dtype ${JSON.stringify(dtype)}, ` +
        `expected one of ${Object.keys(DTYPE_BYTES).join(" ")}`,
      "The file was written by a newer tool or is damaged: convert the model to bf16 or f32.",
    );
  }
  const isCount = (value: unknown): value is number =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  if (!Array.isArray(shape) || !shape.every(isCount)) {
    throw bad(
      `tensor "${name}" has shape ${JSON.stringify(shape)}, expected a list of whole numbers`,
    );
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    throw bad(
      `tensor "${name}" has data_offsets ${JSON.stringify(offsets)}, expected [begin, end]`,
    );
  }
  const [begin, end] = offsets as [number, number];
  const need = elementCount(shape) * DTYPE_BYTES[dtype as SafetensorsDType];
  if (end - begin !== need) {
    throw bad(
      `tensor "${name}" (${dtype}, shape [${shape}]) needs ${need} bytes, ` +
        `its data_offsets [${begin}, ${end}] hold ${end - begin}`,
    );
  }
  return { name, dtype: dtype as SafetensorsDType, shape, begin, end };
}

/**
 * Tensors must cover the data exactly: no overlaps, no gaps, nothing missing and nothing left over.
 */
function checkLayout(infos: readonly TensorInfo[], dataBytes: number, bad: Bad): void {
  let at = 0;
  let previous = "";
  for (const { name, begin, end } of infos) {
    if (begin < at) {
      throw bad(
        `tensor "${name}" begins at byte ${begin} and overlaps "${previous}", which ends at ${at}`,
      );
    }
    if (begin > at) {
      throw bad(
        `bytes ${at} to ${begin} of the data, before tensor "${name}", belong to no tensor`,
      );
    }
    at = end;
    previous = name;
  }
  if (at > dataBytes) {
    const first = infos.find((info) => info.end > dataBytes)!;
    throw bad(
      `the download is incomplete: ${dataBytes} of ${at} bytes of data are there ` +
        `(tensor "${first.name}" is the first that is cut off)`,
    );
  }
  if (at < dataBytes) {
    throw bad(`${dataBytes - at} bytes after the last tensor belong to no tensor`);
  }
}
