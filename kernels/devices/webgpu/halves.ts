/**
 * Whether WGSL's conversions between halves and floats keep every half on a device: its language
 * allows that small ones become zero and that infinity is anything. Kernels then hold float16 in
 * two bytes (ops/matmul/webgpu/elements.wgsl.ts).
 */
import { f16Value } from "../../../core/half_floats.ts";
import { perElement } from "../../ops/common/wgsl/entry.ts";
import { kernel } from "../../ops/common/wgsl/kernel.ts";
import { GROUP } from "../../ops/common/wgsl/reduce.ts";
import type { WebgpuDevice } from "./device.ts";

const WORDS = 2 ** 15;

/** All halves in order, two in each word: as floats, and packed again. */
const probe = kernel({
  name: "halves",
  buffers: { floats: "write f32", words: "write u32" },
  params: { n: "u32" },
  code: perElement(`let word = (2u * i) | ((2u * i + 1u) << 16u);
  let both = unpack2x16float(word);
  floats[2u * i] = both.x;
  floats[2u * i + 1u] = both.y;
  words[i] = pack2x16float(both);`),
});

export async function keepsHalves(device: WebgpuDevice): Promise<boolean> {
  const floats = device.create("float", 2 * WORDS, "halves as floats");
  const words = device.create("u32", WORDS, "halves");
  try {
    device.dispatch({
      kernel: probe,
      buffers: { floats, words },
      params: { n: WORDS },
      groups: [WORDS / GROUP],
    });
    return areKept(
      await device.read(floats) as Float32Array,
      new Uint16Array((await device.read(words)).buffer as ArrayBuffer),
    );
  } finally {
    device.free(floats);
    device.free(words);
  }
}

/** @param floats,halves what half number i became, as a float and as a half again */
export function areKept(floats: Float32Array, halves: Uint16Array): boolean {
  return halves.every((found, half) => {
    const value = f16Value(half);
    if (Number.isNaN(value)) return Number.isNaN(floats[half]) && Number.isNaN(f16Value(found));
    return Object.is(floats[half], value) && found === half;
  });
}
