/** Reference of dropout. */
import { philox4x32 } from "../../../core/philox.ts";
import { floats, words } from "../common/reference_tensor.ts";
import { type DropoutArgs, dropoutThreshold } from "./spec.ts";

export function dropout(args: DropoutArgs): void {
  const { rows, d, p, site, seedLow, seedHigh, accumulate = false } = args;
  const x = floats(args.x), keys = words(args.keys), out = floats(args.out);
  const threshold = dropoutThreshold(p), scale = 1 / (1 - p);
  const random = new Uint32Array(4);
  for (let r = 0; r < rows; r++) {
    const c1 = keys[r * 3]!, c2 = keys[r * 3 + 1]!, c3 = keys[r * 3 + 2]!;
    for (let j = 0; j < d; j++) {
      if (j % 4 === 0) {
        const c0 = (site << 18 | j >> 2) >>> 0;
        philox4x32(random, c0, c1, c2, c3, seedLow, seedHigh);
      }
      const i = r * d + j, value = random[j % 4]! >= threshold ? x[i]! * scale : 0;
      out[i] = accumulate ? out[i]! + value : value;
    }
  }
}
