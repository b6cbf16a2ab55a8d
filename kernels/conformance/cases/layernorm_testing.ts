/** Cases of LayerNorm, forward and backward. */
import { junk, normals, stream } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";

/** Sizes around vector widths, and one that is large enough for several threads. */
export const ROW_SHAPES: readonly (readonly [rows: number, d: number])[] = [
  ...[1, 2, 3, 4, 5, 16, 17, 48, 65, 288, 577].flatMap((d) =>
    [0, 1, 2, 33].map((rows) => [rows, d] as const)
  ),
  [1031, 100],
];

export function layernormCases(): Case[] {
  return ROW_SHAPES.flatMap(([rows, d]) => {
    const random = stream(`layernorm ${rows} ${d}`), shape = `[${rows}×${d}]`, size = rows * d;
    // With a mean far from 0, the variance as E[x²] − μ² would lose digits.
    const x = normals(random, size, 3).map((value) => Math.fround(value + 5));
    const add = normals(random, size), weight = normals(random, d), bias = normals(random, d);
    const inPlace = normals(random, size), dout = normals(random, size);
    const mean = new Float32Array(rows), rho = new Float32Array(rows);
    for (let r = 0; r < rows; r++) {
      const row = x.subarray(r * d, (r + 1) * d);
      const mu = row.reduce((sum, value) => sum + value, 0) / d;
      mean[r] = mu;
      rho[r] = 1 / Math.sqrt(row.reduce((sum, value) => sum + (value - mu) ** 2, 0) / d + 1e-5);
    }
    // A row of one column equals its mean: the rest is rounding, times 1/√eps.
    const outputs = {
      out: ofLargest(d === 1 ? 2e-4 : 4e-6),
      mean: relative(),
      rho: relative(4e-6),
    };
    const forward = (name: string, x: Float32Array, residual: object = {}) => {
      const fresh = { out: junk(size), mean: junk(rows), rho: junk(rows) };
      const args = { x, weight, bias, ...fresh, rows, d, eps: 1e-5, ...residual };
      const sum = "sum" in residual ? { sum: relative() } : {};
      return testCase("layernorm", shape + name, args, { ...outputs, ...sum });
    };
    const dx = { dx: ofLargest() };
    const backward = { dout, x, weight, mean, rho, rows, d, dx: junk(size) };
    const adds = { dx: normals(random, size), accumulate: true, dweight: normals(random, d) };
    return [
      forward("", x),
      forward(" with residual", x, { add, sum: junk(size) }),
      forward(" with residual in place", inPlace, { add, sum: inPlace }),
      ...(d === 1 ? [] : [
        testCase("layernorm_backward", `${shape} frozen weight`, backward, dx),
        testCase("layernorm_backward", `${shape} accumulate`, { ...backward, ...adds }, {
          ...dx,
          dweight: ofLargest(),
        }),
      ]),
    ];
  });
}
