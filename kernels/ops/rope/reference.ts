/** Reference of the rotary position embedding and its inverse. */
import { floats, words } from "../common/reference_tensor.ts";
import type { RopeArgs } from "./spec.ts";

export function rope(args: RopeArgs): void {
  const { rows, heads, headDim, rotaryDim = headDim, inverse = false } = args;
  const x = floats(args.x), cos = floats(args.cos), sin = floats(args.sin);
  const positions = words(args.positions);
  const half = rotaryDim / 2;
  for (let r = 0; r < rows; r++) {
    const angles = positions[r]! * half; // where the position's row of the tables begins
    for (let h = 0; h < heads; h++) {
      const first = (r * heads + h) * headDim;
      for (let j = 0; j < half; j++) {
        const a = x[first + j]!, b = x[first + half + j]!;
        const c = cos[angles + j]!, s = inverse ? -sin[angles + j]! : sin[angles + j]!;
        x[first + j] = a * c - b * s;
        x[first + half + j] = b * c + a * s;
      }
    }
  }
}
