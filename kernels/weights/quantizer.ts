/**
 * Quantises weights at load on the threads of a CPU device (quantize.as.ts): the bits of quantize.ts, which stays the
 * definition, many times as fast. Rows go through in parts, so that a weight of any size needs little of the device's
 * memory, and may come as the halves that a file holds. A model on another device has a CPU device beside it meanwhile.
 */
import { widenBF16, widenF16 } from "../../core/half_floats.ts";
import type { Device, Tensor } from "../device.ts";
import { createWasmDevice, WasmDevice } from "../wasm/device.ts";
import { PANEL } from "./panel.ts";
import { quantize } from "./quantize.ts";
import { panelWords, storedWords, WEIGHT_TYPES, type WeightType } from "./types.ts";

/** Types that a weight gets at load. */
export type LoadType = "int8" | "nf4";

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

/** Bytes of a row of k values. */
export function rowBytes(type: FloatRows["type"], k: number): number {
  return k * (type === "f32" ? 4 : 2);
}

/** QUANTIZE_BYTES of the kernels. */
const SCRATCH = 16 * 64 * 64 + 16 * 64 + 15 * 64 + 64;
/** Bytes of rows that go through at once. */
export const PART_BYTES = 2 ** 22;
/** Weights that are quantised in the time that is worth handing to a thread. */
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

export class Quantizer {
  readonly #tensors = new Map<string, Tensor>();
  #words = new Uint32Array(0);

  private constructor(private readonly cpu: WasmDevice, private readonly own: boolean) {}

  /** For weights of a device. To be disposed when they are loaded. */
  static async for(device: Device): Promise<Quantizer> {
    if (device instanceof WasmDevice) return new Quantizer(device, false);
    return new Quantizer(await createWasmDevice(), true);
  }

  /**
   * Makes the words of a weight [n, k], part by part; `put` gets each with its place among them, for as long as the
   * call lasts.
   * @throws RgxError when k is no multiple of the type's block, or a value is not finite
   */
  quantize(
    type: LoadType,
    n: number,
    k: number,
    rows: FloatRows,
    put: (words: Uint32Array<ArrayBuffer>, at: number) => void,
  ): void {
    const width = rowBytes(rows.type, k), { bytes } = rows;
    if (bytes.length !== n * width) {
      throw new RangeError(
        `a weight [${n}, ${k}] as ${rows.type} has ${n * width} bytes, found ${bytes.length}`,
      );
    }
    if (storedWords(type, n, k) === 0) return;
    const size = panelWords(type, k), panels = Math.ceil(n / PANEL);
    const most = Math.min(panels, Math.max(1, Math.floor(PART_BYTES / (PANEL * width))));
    const source = new Uint32Array(bytes.buffer, bytes.byteOffset, n * width / 4);
    const from = this.#tensor("weights to quantise", most * PANEL * width / 4);
    const to = this.#tensor("quantised weights", most * size);
    const unusual = this.#tensor("unusual weights", 1), { cpu } = this;
    if (this.#words.length < most * size) this.#words = new Uint32Array(most * size);
    for (let panel = 0; panel < panels; panel += most) {
      const count = Math.min(most, panels - panel), first = panel * PANEL;
      const end = Math.min(n, first + count * PANEL);
      cpu.write(from, source.subarray(first * width / 4, end * width / 4));
      cpu.parallel({
        kernel: "quantize_panels",
        units: count,
        grain: Math.max(1, Math.round(GRAIN_WEIGHTS / (PANEL * k))),
        args: [
          WEIGHT_TYPES.indexOf(type),
          rows.type === "f32" ? -1 : WEIGHT_TYPES.indexOf(rows.type),
          ...[cpu.pointer(from), end - first, k, cpu.pointer(to), LIMIT[rows.type]],
          cpu.pointer(unusual),
        ],
        scratchBytes: SCRATCH,
      });
      if (cpu.u32(unusual)[0] !== 0) {
        cpu.write(unusual, new Uint32Array(1));
        put(quantize(type, n, k, widen(rows), rows.first), 0);
        return;
      }
      const words = this.#words.subarray(0, count * size);
      words.set(cpu.u32(to).subarray(0, words.length));
      put(words, panel * size);
    }
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
