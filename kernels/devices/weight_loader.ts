/**
 * Converts weights to their storage types while a model is loaded, on the threads of a CPU device:
 * it packs the blocks of a file, or quantizes rows (native/c/weights.c). The results have the same
 * bits as those of weights/layout.ts and weights/quantize.ts, which are the definitions, but take
 * much less time. Rows are converted in parts, so a large weight needs little
 * memory of the device. For a model on another device, a CPU device is created for the loading.
 */
import { widenBF16, widenF16 } from "../../core/half_floats.ts";
import { fileBytes } from "../weights/blocks.ts";
import type { Device } from "../device.ts";
import type { Tensor } from "../tensor.ts";
import { createWasmDevice, WasmDevice } from "./wasm/device.ts";
import { PANEL } from "../weights/panel.ts";
import { quantize } from "../weights/quantize.ts";
import { type BlockType, panelWords, storedWords, type WeightType } from "../weights/types.ts";
import { QUANTIZE_BYTES, typeCode } from "../weights/wasm.ts";

/** Types to which weights are quantized at load. */
export type LoadType = "int8" | "nf4";

/** Types of blocks in files. */
export type FileType = Exclude<BlockType, LoadType>;

/** A kernel that converts panels. */
interface PanelJob {
  kernel: string;
  /** The arguments that are the same for all rows. */
  args: object;
  scratchBytes?: number;
}

export function isLoadType(type: WeightType | null): type is LoadType {
  return type === "int8" || type === "nf4";
}

/** Rows of values in the row-major order of a file. */
export interface FloatRows {
  readonly type: "f32" | "f16" | "bf16";
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Index of the first row in the weight, a multiple of 16; default 0. */
  readonly first?: number;
}

/** Bytes of rows that are converted together. */
export const PART_BYTES = 2 ** 22;
/** Number of weights whose conversion takes long enough to be given to a thread. */
const WEIGHTS_PER_GRAIN = 10_000;
/**
 * Weights of at least these magnitudes (as bits of an f32) are quantized by weights/quantize.ts and
 * not by the kernels. For 2^120 their arithmetic would exceed the range of f32. For f16 the limit
 * is 65536, the value to which the kernels widen infinity.
 */
const MAGNITUDE_LIMIT = { f32: 0x7b800000, bf16: 0x7b800000, f16: 0x47800000 };

/** `values` as rows; float64 values are rounded to f32. */
export function floatRows(values: Float32Array | Float64Array): FloatRows {
  const floats = values instanceof Float32Array ? values : Float32Array.from(values);
  const { buffer, byteOffset, byteLength } = floats as Float32Array<ArrayBuffer>;
  return { type: "f32", bytes: new Uint8Array(buffer, byteOffset, byteLength) };
}

/** Receives words of a weight and their offset. `words` is only valid during the call. */
type Put = (words: Uint32Array<ArrayBuffer>, at: number) => void;

export class WeightLoader {
  readonly #tensors = new Map<string, Tensor>();
  #words = new Uint32Array(0);

  private constructor(private readonly cpu: WasmDevice, private readonly ownsCpu: boolean) {}

  /** A loader for the weights of a device. Call `dispose` after loading. */
  static async for(device: Device): Promise<WeightLoader> {
    if (device instanceof WasmDevice) return new WeightLoader(device, false);
    return new WeightLoader(await createWasmDevice(), true);
  }

  /**
   * Quantizes n rows of k values and passes the words to `put`.
   * @throws RgxError when k is no multiple of the type's block, or a value is not finite
   */
  quantize(type: LoadType, n: number, k: number, rows: FloatRows, put: Put): void {
    const unusual = this.#tensor("unusual weights", 1), { cpu } = this;
    cpu.write(unusual, new Uint32Array(1));
    const source = rows.type === "f32" ? -1 : typeCode(rows.type);
    const job: PanelJob = {
      kernel: "quantize_panels",
      scratchBytes: QUANTIZE_BYTES,
      args: { type: typeCode(type), source, k, limit: MAGNITUDE_LIMIT[rows.type], unusual },
    };
    const isUsual = () => cpu.u32(unusual)[0] === 0;
    const width = fileBytes(rows.type, k);
    if (this.#inParts(type, n, k, rows.bytes, width, job, put, isUsual)) return;
    put(quantize(type, n, k, widen(rows), rows.first), 0);
  }

  /**
   * Packs n rows of k values from a file's blocks and passes the words to `put`.
   * @throws RgxError when k is no multiple of the type's block
   */
  pack(type: FileType, n: number, k: number, bytes: Uint8Array<ArrayBuffer>, put: Put): void {
    const job: PanelJob = { kernel: "pack_panels", args: { type: typeCode(type), k } };
    this.#inParts(type, n, k, bytes, fileBytes(type, k), job, put, () => true);
  }

  /**
   * Runs a kernel over parts of the panels.
   * @returns false when `isUsable` was false after a part, so the result must not be used
   */
  #inParts(
    type: BlockType,
    n: number,
    k: number,
    bytes: Uint8Array<ArrayBuffer>,
    width: number,
    { kernel, args, scratchBytes = 0 }: PanelJob,
    put: Put,
    isUsable: () => boolean,
  ): boolean {
    if (bytes.length !== n * width) {
      throw new RangeError(
        `${n} rows of ${k} values have ${n * width} bytes, found ${bytes.length}`,
      );
    }
    if (storedWords(type, n, k) === 0) return true;
    const size = panelWords(type, k), panels = Math.ceil(n / PANEL), { cpu } = this;
    const partPanels = Math.min(panels, Math.max(1, Math.floor(PART_BYTES / (PANEL * width))));
    const from = this.#tensor("rows of a file", Math.ceil(partPanels * PANEL * width / 4));
    const to = this.#tensor("stored weights", partPanels * size);
    if (this.#words.length < partPanels * size) this.#words = new Uint32Array(partPanels * size);
    for (let panel = 0; panel < panels; panel += partPanels) {
      const count = Math.min(partPanels, panels - panel), first = panel * PANEL;
      const rows = Math.min(n - first, count * PANEL);
      const source = cpu.u32(from);
      new Uint8Array(source.buffer, source.byteOffset, rows * width)
        .set(bytes.subarray(first * width, (first + rows) * width));
      cpu.parallel({
        kernel,
        units: count,
        grain: Math.max(1, Math.round(WEIGHTS_PER_GRAIN / (PANEL * k))),
        args: { ...args, x: from, rows, to },
        scratchBytes,
      });
      if (!isUsable()) return false;
      const words = this.#words.subarray(0, count * size);
      words.set(cpu.u32(to).subarray(0, words.length));
      put(words, panel * size);
    }
    return true;
  }

  /** A tensor of the CPU device, which is kept and used again for the next weight. */
  #tensor(label: string, length: number): Tensor {
    const kept = this.#tensors.get(label);
    if (kept !== undefined && kept.length >= length) return kept;
    if (kept !== undefined) this.cpu.free(kept);
    this.#tensors.delete(label);
    const tensor = this.cpu.create("u32", length, label);
    this.#tensors.set(label, tensor);
    return tensor;
  }

  dispose(): void {
    for (const tensor of this.#tensors.values()) this.cpu.free(tensor);
    this.#tensors.clear();
    if (this.ownsCpu) this.cpu.close();
  }
}

function widen({ type, bytes }: FloatRows): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (type === "f32") return new Float32Array(buffer, byteOffset, byteLength / 4);
  const halves = new Uint16Array(buffer, byteOffset, byteLength / 2);
  return type === "f16" ? widenF16(halves) : widenBF16(halves);
}
