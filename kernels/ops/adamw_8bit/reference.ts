/** Reference of AdamW with 8-bit moments. */
import { floats, words } from "../common/reference_tensor.ts";
import { SIGNED_MAP, signedCode, UNSIGNED_MAP, unsignedCode } from "./dynamic_map.ts";
import { type Adamw8bitArgs, BLOCK } from "./spec.ts";

export function adamw8bit(args: Adamw8bitArgs): void {
  const { n, lr, beta1, beta2, eps, weightDecay, correction1, correction2, gradScale } = args;
  const param = floats(args.param), grad = floats(args.grad);
  const mMax = floats(args.mMax), vMax = floats(args.vMax);
  const mCodes = words(args.m), vCodes = words(args.v);
  const mean = new Float64Array(BLOCK), square = new Float64Array(BLOCK);
  const rootCorrection = Math.sqrt(correction2);
  for (let block = 0; block * BLOCK < n; block++) {
    const begin = block * BLOCK, count = Math.min(BLOCK, n - begin);
    let largestMean = 0, largestSquare = 0;
    for (let j = 0; j < count; j++) {
      const i = begin + j, g = grad[i]! * gradScale;
      const m = beta1 * mMax[block]! * SIGNED_MAP.values[code(mCodes, i)]! + (1 - beta1) * g;
      const v = beta2 * vMax[block]! * UNSIGNED_MAP.values[code(vCodes, i)]! + (1 - beta2) * g * g;
      const kept = param[i]! * (1 - lr * weightDecay);
      param[i] = kept - (lr / correction1) * m / (Math.sqrt(v) / rootCorrection + eps);
      mean[j] = m;
      square[j] = v;
      largestMean = Math.max(largestMean, Math.abs(m));
      largestSquare = Math.max(largestSquare, v);
    }
    mMax[block] = largestMean;
    vMax[block] = largestSquare;
    const part = (x: number, largest: number) => largest > 0 ? x / largest : 0;
    for (let j = 0; j < count; j += 4) {
      let m = 0, v = 0;
      for (let k = 0; k < 4; k++) {
        const inside = j + k < count;
        const mk = signedCode(inside ? part(mean[j + k]!, largestMean) : 0);
        const vk = unsignedCode(inside ? part(square[j + k]!, largestSquare) : 0);
        m |= mk << 8 * k;
        v |= vk << 8 * k;
      }
      mCodes[(begin + j) / 4] = m >>> 0;
      vCodes[(begin + j) / 4] = v >>> 0;
    }
  }
}

function code(codes: Uint32Array, i: number): number {
  return codes[Math.floor(i / 4)]! >>> 8 * (i % 4) & 0xff;
}
