/** Random weights in every storage type, for the tuner and for tests. */
import { narrowF16 } from "../../core/half_floats.ts";
import type { RandomStream } from "../../core/philox.ts";
import { BLOCK_CODES } from "./blocks.ts";
import { packStored } from "./layout.ts";
import { quantize } from "./quantize.ts";
import { BLOCK_SHAPES, type WeightType } from "./types.ts";

/** Max magnitude of the f16 values (scales and minimums) in a GGUF block here. */
const MAX_HALF = {
  q8_0: 2 ** -6,
  q4_0: 2 ** -2,
  q4_1: 2 ** -2,
  q5_0: 2 ** -3,
  q4_k: 2 ** -8,
  q6_k: 2 ** -10,
} as const;

/** The words of a random weight [n, k] with arbitrary codes; magnitudes are about 1 or smaller. */
export function randomStored(
  random: RandomStream,
  type: WeightType,
  n: number,
  k: number,
): Uint32Array {
  if (type === "f16" || type === "bf16") return halves(random, n * k, type);
  if (type === "int8" || type === "nf4") {
    return quantize(type, n, k, Float32Array.from({ length: n * k }, () => random.normal()));
  }
  const { weights } = BLOCK_SHAPES[type], { bytes: size, scales } = BLOCK_CODES[type];
  const bytes = Uint8Array.from({ length: n * k / weights * size }, () => random.int(0, 255));
  for (let block = 0; block < bytes.length; block += size) {
    for (const place of scales) {
      if (type === "mxfp4") {
        bytes[block + place] = random.int(123, 125);
        continue;
      }
      const max = MAX_HALF[type];
      const [bits] = narrowF16([random.uniform(-max, max)]);
      bytes[block + place] = bits! & 255;
      bytes[block + place + 1] = bits! >> 8;
    }
  }
  return packStored(type, n, k, bytes);
}

/**
 * Words of `count` halves with magnitudes from 1/8 to 2, some zeros, and for f16 some denormals.
 */
function halves(random: RandomStream, count: number, type: "f16" | "bf16"): Uint32Array {
  const half = () => {
    const sign = random.int(0, 1) << 15, power = random.int(-3, 0);
    const tiny = random.chance(0.05);
    if (type === "bf16") return sign | (tiny ? 0 : (127 + power) << 7 | random.int(0, 127));
    return sign | (tiny ? 0 : (15 + power) << 10) | random.int(0, 1023);
  };
  return Uint32Array.from({ length: Math.ceil(count / 2) }, () => (half() | half() << 16) >>> 0);
}
