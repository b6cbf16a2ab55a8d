/** Cases of the operations that GPT-2's layers and biased projections add: bias, LayerNorm, GELU. */
import { junk, normals, stream } from "../testing.ts";
import { type Case, ofLargest, relative, testCase } from "./runner.ts";

const SHAPES: readonly (readonly [rows: number, d: number])[] = [
  ...[1, 2, 3, 4, 5, 16, 17, 48, 65, 288, 577].flatMap((d) =>
    [0, 1, 2, 33].map((rows) => [rows, d] as const)
  ),
  [1031, 100],
];

export function biasCases(): Case[] {
  return SHAPES.flatMap(([rows, d]) => {
    const random = stream(`bias ${rows} ${d}`), shape = `[${rows}×${d}]`;
    const bias = normals(random, d), dout = normals(random, rows * d);
    const x = normals(random, rows * d), dbias = normals(random, d);
    return [
      testCase("add_bias", shape, { x, bias, rows, d }, { x: relative() }),
      testCase("add_bias_backward", shape, { dout, dbias, rows, d }, { dbias: ofLargest() }),
    ];
  });
}

export function layernormCases(): Case[] {
  return SHAPES.flatMap(([rows, d]) => {
    const random = stream(`layernorm ${rows} ${d}`), shape = `[${rows}×${d}]`, size = rows * d;
    // A mean far from 0: E[x²] − μ² would lose digits.
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
    const fresh = () => ({ out: junk(size), mean: junk(rows), rho: junk(rows) });
    const sizes = { rows, d, eps: 1e-5 };
    // One column is its own mean: what is left of it is rounding, times 1/√eps.
    const outputs = {
      out: ofLargest(d === 1 ? 2e-4 : 4e-6),
      mean: relative(),
      rho: relative(4e-6),
    };
    const withSum = { ...outputs, sum: relative() };
    const backward = { dout, x, weight, mean, rho, rows, d };
    return [
      testCase("layernorm", shape, { x, weight, bias, ...fresh(), ...sizes }, outputs),
      testCase(
        "layernorm",
        `${shape} with residual`,
        { x, add, sum: junk(size), weight, bias, ...fresh(), ...sizes },
        withSum,
      ),
      testCase(
        "layernorm",
        `${shape} with residual in place`,
        { x: inPlace, add, sum: inPlace, weight, bias, ...fresh(), ...sizes },
        withSum,
      ),
      ...(d === 1 ? [] : [
        testCase("layernorm_backward", `${shape} frozen weight`, { ...backward, dx: junk(size) }, {
          dx: ofLargest(),
        }),
        testCase(
          "layernorm_backward",
          `${shape} accumulate`,
          { ...backward, dx: normals(random, size), accumulate: true, dweight: normals(random, d) },
          { dx: ofLargest(), dweight: ofLargest() },
        ),
      ]),
    ];
  });
}

export function geluCases(): Case[] {
  return [0, 1, 3, 4, 5, 16, 31, 65, 1009, 100_003].flatMap((n) => {
    const random = stream(`gelu ${n}`);
    const x = normals(random, n, 2), dout = normals(random, n), same = normals(random, n, 2);
    // Far out on both sides, where the cube overflows what an exponential takes.
    const steep = Float32Array.from({ length: n }, (_, i) => [-60, -9, -5, 0, 5, 9, 1e4][i % 7]!);
    const bound = relative(1e-6, 4e-7);
    return [
      testCase("gelu", `${n}`, { x, out: junk(n), n }, { out: bound }),
      testCase("gelu", `${n} steep`, { x: steep, out: junk(n), n }, { out: bound }),
      testCase("gelu", `${n} in place`, { x: same, out: same, n }, { out: bound }),
      testCase("gelu_backward", `${n}`, { dout, x, dx: junk(n), n }, { dx: ofLargest(1e-6) }),
      testCase("gelu_backward", `${n} steep`, { dout, x: steep, dx: junk(n), n }, {
        dx: ofLargest(1e-6),
      }),
      testCase(
        "gelu_backward",
        `${n} in place and forward`,
        { dout, x: same, dx: same, activated: junk(n), n },
        { dx: ofLargest(1e-6), activated: bound },
      ),
    ];
  });
}
