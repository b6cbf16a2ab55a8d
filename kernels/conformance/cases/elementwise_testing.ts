/** Cases of the elementwise operations. */
import { junk, normals, stream } from "../../testing.ts";
import { type Case, exact, ofLargest, relative, testCase } from "../runner_testing.ts";

/** Lengths around vector widths, and one that is large enough for several threads. */
export const LENGTHS = [
  0,
  1,
  2,
  3,
  4,
  5,
  7,
  8,
  15,
  16,
  17,
  31,
  33,
  63,
  64,
  65,
  1009,
  100_003,
] as const;

export function elementwiseCases(): Case[] {
  return LENGTHS.flatMap((n) => {
    const random = stream(`elementwise ${n}`);
    const a = normals(random, n), b = normals(random, n), same = normals(random, n);
    const wide = normals(random, n, 100);
    const ids = Uint32Array.from({ length: n }, () => random.u32());
    const bound = relative();
    const copyExactly = { out: exact };
    return [
      testCase("add", `${n}`, { a, b, out: junk(n), n }, { out: bound }),
      testCase("add", `${n} scaled`, { a, b, out: junk(n), n, scale: -0.3 }, { out: bound }),
      testCase("add", `${n} into a`, { a: same, b, out: same, n, scale: 2 }, { out: bound }),
      testCase("add", `${n} into b`, { a, b: same, out: same, n, scale: 2 }, { out: bound }),
      testCase("add", `${n} to itself`, { a: same, b: same, out: same, n }, { out: bound }),
      testCase("add", `${n} without a`, { b, out: junk(n), n, scale: -0.3 }, { out: bound }),
      testCase("multiply", `${n}`, { a, b, out: junk(n), n }, { out: bound }),
      testCase("multiply", `${n} into b`, { a, b: same, out: same, n }, { out: bound }),
      ...[0.5, 1, 30].flatMap((cap) => [
        testCase("soft_cap", `${n} cap ${cap}`, { x: a, out: junk(n), n, cap }, {
          out: relative(5e-7, 1e-7),
        }),
        testCase(
          "soft_cap_backward",
          `${n} cap ${cap}`,
          { dout: a, y: b.map((x) => cap * Math.tanh(x)), dx: junk(n), n, cap },
          { dx: ofLargest() },
        ),
      ]),
      testCase("soft_cap", `${n} in place, far`, { x: wide, out: wide, n, cap: 3 }, {
        out: relative(5e-7, 0),
      }),
      testCase("copy", `${n}`, { src: a, out: junk(n), n }, copyExactly),
      testCase("copy", `${n} u32`, { src: ids, out: new Uint32Array(n), n }, copyExactly),
      testCase("fill", `${n}`, { out: junk(n), n, value: 0.1 }, { out: relative(6e-8, 0) }),
      testCase("fill", `${n} zero`, { out: junk(n), n, value: 0 }, { out: exact }),
    ];
  });
}
