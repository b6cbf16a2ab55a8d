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
  const outputs = { out: relative(), rho: relative() };
  const forward = (
    name: string,
    more: { x?: Float32Array; add?: Float32Array; offset?: number },
  ) => {
    const { add = undefined, ...others } = more, sum = others.x ?? junk(size);
    const fresh = { out: junk(size), rho: junk(rows), rows, d, eps: 1e-5 };
    const args = { x, weight, ...fresh, ...others, ...(add && { add, sum }) };
    return testCase("rmsnorm", shape + name, args, add ? { ...outputs, sum: relative() } : outputs);
  };
  const dx = { dx: ofLargest() }, backward = { dout, x, weight, rho, rows, d, dx: junk(size) };
  const adds = { dx: normals(random, size), accumulate: true, dweight: normals(random, d) };
  return [
    forward("", {}),
    forward(" with residual", { add }),
    forward(" with residual in place", { x: residual, add }),
    forward(" of zeros", { x: zeros(size) }),
    forward(" with an offset", { offset: 1 }),
    // In rows of one element the two parts of the sum cancel, with more of their errors left.
    ...(d === 1
      ? []
      : [testCase("rmsnorm_backward", `${shape} with an offset`, { ...backward, offset: 1 }, dx)]),
    testCase("rmsnorm_backward", `${shape} frozen weight`, backward, dx),
    testCase("rmsnorm_backward", `${shape} accumulate`, { ...backward, ...adds }, {
      ...dx,
      dweight: ofLargest(),
    }),
  ];
}
