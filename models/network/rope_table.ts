/**
 * Tables of cos and sin for rotary position embedding, [positions, headDim/2]: angle = position·θ_j
 * (architectures/rope_frequencies.ts). Angles are computed in float64 on the host; in float32 they
 * would be wrong by 1e−3 rad at position 32 767.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { ropeFrequencies } from "../architectures/rope_frequencies.ts";
import { toDevicePrecision } from "./workspace.ts";

const FIRST_CAPACITY = 256;

export class RopeTable {
  readonly #frequencies: Float64Array;
  #tables: { cos: Tensor; sin: Tensor; positions: number } | null = null;

  constructor(readonly device: Device, readonly config: ModelConfig) {
    this.#frequencies = ropeFrequencies(config);
  }

  /**
   * Tables for positions 0 … maxPosition. They grow by doubling up to the model's number of
   * positions.
   */
  upTo(maxPosition: number): { cos: Tensor; sin: Tensor } {
    if (this.#tables === null || this.#tables.positions <= maxPosition) {
      let positions = FIRST_CAPACITY;
      while (positions <= maxPosition) positions *= 2;
      positions = Math.max(maxPosition + 1, Math.min(positions, this.config.maxPositions));
      this.dispose();
      this.#tables = this.#build(positions);
    }
    return this.#tables;
  }

  #build(positions: number): { cos: Tensor; sin: Tensor; positions: number } {
    const half = this.#frequencies.length;
    const cos = new Float64Array(positions * half), sin = new Float64Array(positions * half);
    for (let p = 0; p < positions; p++) {
      for (let j = 0; j < half; j++) {
        const angle = p * this.#frequencies[j]!;
        cos[p * half + j] = Math.cos(angle);
        sin[p * half + j] = Math.sin(angle);
      }
    }
    const upload = (data: Float64Array, label: string) => {
      const tensor = this.device.create("float", data.length, label);
      this.device.write(tensor, toDevicePrecision(this.device, data));
      return tensor;
    };
    return { cos: upload(cos, "rope.cos"), sin: upload(sin, "rope.sin"), positions };
  }

  dispose(): void {
    if (this.#tables === null) return;
    this.device.free(this.#tables.cos);
    this.device.free(this.#tables.sin);
    this.#tables = null;
  }
}
