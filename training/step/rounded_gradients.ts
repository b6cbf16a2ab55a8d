/** Rounds gradients on their device to bfloat16, to the nearest; they stay floats. */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";

/** Elements that are rounded at once. */
const CHUNK = 2 ** 22;

/** Bytes that rounding takes on the device, for so many bytes of gradients. */
export function roundingBytes(gradientBytes: number): number {
  return Math.min(gradientBytes, 4 * CHUNK);
}

export class GradientRounding {
  /** bfloat16 values, and what they leave. */
  readonly #scratch: { weight: Tensor; rest: Tensor };

  /** @param most elements of the longest gradients */
  constructor(private readonly device: Device, most: number) {
    const words = Math.min(most, CHUNK) / 2;
    this.#scratch = {
      weight: device.create("u32", words, "rounded gradients"),
      rest: device.create("u32", words, "rest of rounded gradients"),
    };
  }

  /** @param n even */
  round(values: Tensor, n: number): void {
    const { device } = this;
    for (let begin = 0; begin < n; begin += CHUNK) {
      const count = Math.min(CHUNK, n - begin), x = values.view(begin, count);
      const weight = this.#scratch.weight.view(0, count / 2);
      // With a rest, the rounding is to the nearest.
      const rest = this.#scratch.rest.view(0, count / 2);
      const unused = { first: 0, c1: 0, c2: 0, c3: 0, seedLow: 0, seedHigh: 0 };
      device.run("round_bf16", { x, weight, rest, n: count, ...unused });
      device.run("widen_bf16", { weight, out: x, n: count });
    }
  }

  dispose(): void {
    for (const tensor of Object.values(this.#scratch)) this.device.free(tensor);
  }
}
