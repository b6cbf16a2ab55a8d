/**
 * Makes the words of stored weights at load, on the threads of a CPU device: from a file's blocks (pack.as.ts), or
 * quantised (quantize.as.ts). The bits are those of layout.ts and quantize.ts, which stay the definitions, in a small
 * part of the time. Rows go through in parts, so that a weight of any size needs little of the device's memory. A model
 * on another device has a CPU device beside it meanwhile.
 */
import { widenBF16, widenF16 } from "../../core/half_floats.ts";
import { fileBytes } from "../weights/blocks.ts";
import type { Device } from "../device.ts";
import type { Tensor } from "../tensor.ts";
import { createWasmDevice, WasmDevice } from "./wasm/device.ts";
import { PANEL } from "../weights/panel.ts";
import { quantize } from "../weights/quantize.ts";
import {
  type BlockType,
  panelWords,
  storedWords,
  WEIGHT_TYPES,
  type WeightType,
} from "../weights/types.ts";

/** Types that a weight gets at load. */
export type LoadType = "int8" | "nf4";

/** Types that a file holds in blocks. */
export type FileType = Exclude<BlockType, LoadType>;

/** A kernel over panels. */
interface PanelJob {
  kernel: string;
  /** Its arguments for some rows at an address. */
  args(from: number, rows: number, to: number): number[];
  scratchBytes?: number;
}

export function isLoadType(type: WeightType | null): type is LoadType {
  return type === "int8" || type === "nf4";
}

/** Rows of values, one after the other, as they lie in a file. */
export interface FloatRows {
  readonly type: "f32" | "f16" | "bf16";
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of the first of them in the weight, a multiple of 16; default 0. */
  readonly first?: number;
}

/** QUANTIZE_BYTES of the kernels. */
const SCRATCH = 16 * 64 * 64 + 16 * 64 + 15 * 64 + 64;
/** Bytes of rows that go through at once. */
export const PART_BYTES = 2 ** 22;
/** Weights that are made in the time that is worth handing to a thread. */
const GRAIN_WEIGHTS = 10_000;
/**
 * Magnitudes from which on the kernels leave a weight to quantize.ts, as bits of an f32: 2^120, where its arithmetic
 * would need more than f32 reaches; of f16 65536, which is what an infinite one is widened to.
 */
const LIMIT = { f32: 0x7b800000, bf16: 0x7b800000, f16: 0x47800000 };

/** `values` as rows; float64 is rounded. */
export function floatRows(values: Float32Array | Float64Array): FloatRows {
  const floats = values instanceof Float32Array ? values : Float32Array.from(values);
  const { buffer, byteOffset, byteLength } = floats as Float32Array<ArrayBuffer>;
  return { type: "f32", bytes: new Uint8Array(buffer, byteOffset, byteLength) };
}

/** Gets words of a weight with their place among them; they last as long as the call. */
type Put = (words: Uint32Array<ArrayBuffer>, at: number) => void;

export class WeightLoader {
  readonly #tensors = new Map<string, Tensor>();
  #words = new Uint32Array(0);

  private constructor(private readonly cpu: WasmDevice, private readonly own: boolean) {}

  /** For weights of a device. To be disposed when they are loaded. */
  static async for(device: Device): Promise<WeightLoader> {
    if (device instanceof WasmDevice) return new WeightLoader(device, false);
    return new WeightLoader(await createWasmDevice(), true);
  }

  /**
   * Makes the words of n rows of k values.
   * @throws RgxError when k is no multiple of the type's block, or a value is not finite
   */
  quantize(type: LoadType, n: number, k: number, rows: FloatRows, put: Put): void {
    const unusual = this.#tensor("unusual weights", 1), { cpu } = this;
    cpu.write(unusual, new Uint32Array(1));
    const source = rows.type === "f32" ? -1 : WEIGHT_TYPES.indexOf(rows.type);
    const job = {
      kernel: "quantize_panels",
      scratchBytes: SCRATCH,
      args: (from: number, count: number, to: number) => [
        ...[WEIGHT_TYPES.indexOf(type), source, from, count, k, to],
        ...[LIMIT[rows.type], cpu.pointer(unusual)],
      ],
    };
    const isUsual = () => cpu.u32(unusual)[0] === 0;
    const width = fileBytes(rows.type, k);
    if (this.#inParts(type, n, k, rows.bytes, width, job, put, isUsual)) return;
    put(quantize(type, n, k, widen(rows), rows.first), 0);
  }

  /**
   * Makes the words of n rows of k values from a file's blocks.
   * @throws RgxError when k is no multiple of the type's block
   */
  pack(type: FileType, n: number, k: number, bytes: Uint8Array<ArrayBuffer>, put: Put): void {
    const code = WEIGHT_TYPES.indexOf(type);
    const job = {
      kernel: "pack_panels",
      args: (from: number, count: number, to: number) => [code, from, count, k, to],
    };
    this.#inParts(type, n, k, bytes, fileBytes(type, k), job, put, () => true);
  }

  /** Runs a kernel over some panels at a time; false = given up since `goesOn` said so. */
  #inParts(
    type: BlockType,
    n: number,
    k: number,
    bytes: Uint8Array<ArrayBuffer>,
    width: number,
    { kernel, args, scratchBytes = 0 }: PanelJob,
    put: Put,
    goesOn: () => boolean,
  ): boolean {
    if (bytes.length !== n * width) {
      throw new RangeError(
        `${n} rows of ${k} values have ${n * width} bytes, found ${bytes.length}`,
      );
    }
    if (storedWords(type, n, k) === 0) return true;
    const size = panelWords(type, k), panels = Math.ceil(n / PANEL), { cpu } = this;
    const most = Math.min(panels, Math.max(1, Math.floor(PART_BYTES / (PANEL * width))));
    const from = this.#tensor("rows of a file", Math.ceil(most * PANEL * width / 4));
    const to = this.#tensor("stored weights", most * size);
    if (this.#words.length < most * size) this.#words = new Uint32Array(most * size);
    for (let panel = 0; panel < panels; panel += most) {
      const count = Math.min(most, panels - panel), first = panel * PANEL;
      const rows = Math.min(n - first, count * PANEL);
      const source = cpu.u32(from);
      new Uint8Array(source.buffer, source.byteOffset, rows * width)
        .set(bytes.subarray(first * width, (first + rows) * width));
      cpu.parallel({
        kernel,
        units: count,
        grain: Math.max(1, Math.round(GRAIN_WEIGHTS / (PANEL * k))),
        args: args(cpu.pointer(from), rows, cpu.pointer(to)),
        scratchBytes,
      });
      if (!goesOn()) return false;
      const words = this.#words.subarray(0, count * size);
      words.set(cpu.u32(to).subarray(0, words.length));
      put(words, panel * size);
    }
    return true;
  }

  /** A tensor of the CPU device that is kept for the next weight. */
  #tensor(label: string, length: number): Tensor {
    const there = this.#tensors.get(label);
    if (there !== undefined && there.length >= length) return there;
    if (there !== undefined) this.cpu.free(there);
    this.#tensors.delete(label);
    const tensor = this.cpu.create("u32", length, label);
    this.#tensors.set(label, tensor);
    return tensor;
  }

  dispose(): void {
    for (const tensor of this.#tensors.values()) this.cpu.free(tensor);
    this.#tensors.clear();
    if (this.own) this.cpu.close();
  }
}

function widen({ type, bytes }: FloatRows): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (type === "f32") return new Float32Array(buffer, byteOffset, byteLength / 4);
  const halves = new Uint16Array(buffer, byteOffset, byteLength / 2);
  return type === "f16" ? widenF16(halves) : widenBF16(halves);
}
