/** Cases of RMSNorm, forward and backward. */
import { junk, normals, stream, zeros } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";

export function rmsnormCases(): Case[] {
  const cases: Case[] = [];
  for (const d of [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 288, 577]) {
    for (const rows of [0, 1, 2, 7, 33]) cases.push(...rmsnormShape(rows, d));
  }
  // Many rows: enough for several threads, and a long sum over rows in dweight.
  cases.push(...rmsnormShape(1031, 100));
  return cases;
}

function rmsnormShape(rows: number, d: number): Case[] {
  const random = stream(`rmsnorm ${rows} ${d}`);
  const size = rows * d, shape = `[${rows}×${d}]`;
  const x = normals(random, size, 3), add = normals(random, size), weight = normals(random, d);
  const residual = normals(random, size), dout = normals(random, size);
  const rho = Float32Array.from({ length: rows }, (_, r) => {
    let squares = 0;
    for (let j = 0; j < d; j++) squares += x[r * d + j]! ** 2;
    return 1 / Math.sqrt(squares / d + 1e-5);
  });
  const sizes = { rows, d, eps: 1e-5 };
  const fresh = () => ({ out: junk(size), rho: junk(rows) });
  const outputs = { out: relative(), rho: relative() };
  const withSum = { ...outputs, sum: relative() };
  const backward = { dout, x, weight, rho, rows, d };
  return [
    testCase("rmsnorm", shape, { x, weight, ...fresh(), ...sizes }, outputs),
    testCase(
      "rmsnorm",
      `${shape} with residual`,
      { x, add, sum: junk(size), weight, ...fresh(), ...sizes },
      withSum,
    ),
    testCase(
      "rmsnorm",
      `${shape} with residual in place`,
      { x: residual, add, sum: residual, weight, ...fresh(), ...sizes },
      withSum,
    ),
    testCase(
      "rmsnorm",
      `${shape} of zeros`,
      { x: zeros(size), weight, ...fresh(), ...sizes },
      outputs,
    ),
    testCase(
      "rmsnorm",
      `${shape} with an offset`,
      { x, weight, ...fresh(), ...sizes, offset: 1 },
      outputs,
    ),
    // In rows of one element the two parts of the sum cancel, with more of their errors left.
    ...(d === 1 ? [] : [testCase(
      "rmsnorm_backward",
      `${shape} with an offset`,
      { ...backward, dx: junk(size), offset: 1 },
      { dx: ofLargest() },
    )]),
    testCase(
      "rmsnorm_backward",
      `${shape} frozen weight`,
      { ...backward, dx: junk(size) },
      { dx: ofLargest() },
    ),
    testCase(
      "rmsnorm_backward",
      `${shape} accumulate`,
      { ...backward, dx: normals(random, size), accumulate: true, dweight: normals(random, d) },
      { dx: ofLargest(), dweight: ofLargest() },
    ),
  ];
}
