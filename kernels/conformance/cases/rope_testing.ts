/** Cases of rotary position embeddings. */
import { normals, stream } from "../../testing.ts";
import { type Case, relative, testCase } from "../runner_testing.ts";

export function ropeCases(): Case[] {
  const cases: Case[] = [];
  const maxPositions = 41;
  const sizes = [[2], [8], [12], [16], [64], [80], [128], [16, 8], [16, 6], [10, 4], [
    96,
    72,
  ]] as const;
  for (const [headDim, rotaryDim = headDim] of sizes) {
    for (const [rows, heads] of [[0, 1], [1, 1], [2, 3], [17, 2], [301, 4]] as const) {
      const random = stream(`rope ${headDim} ${rotaryDim} ${rows} ${heads}`);
      const half = rotaryDim / 2;
      const angles = Array.from(
        { length: maxPositions * half },
        (_, i) => Math.floor(i / half) * 10_000 ** (-(i % half) / half),
      );
      const cos = Float32Array.from(angles, Math.cos), sin = Float32Array.from(angles, Math.sin);
      const positions = Uint32Array.from({ length: rows }, () => random.below(maxPositions));
      for (const inverse of [false, true]) {
        const x = normals(random, rows * heads * headDim);
        const part = rotaryDim === headDim ? {} : { rotaryDim };
        const name = `[${rows}×${heads}×${headDim}]${JSON.stringify(part)}${
          inverse ? " inverse" : ""
        }`;
        const args = { x, cos, sin, positions, rows, heads, headDim, ...part };
        cases.push(
          testCase("rope", name, inverse ? { ...args, inverse } : args, {
            x: relative(1e-6, 3e-7),
          }),
        );
      }
    }
  }
  return cases;
}
