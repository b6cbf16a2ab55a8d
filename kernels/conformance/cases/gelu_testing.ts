/** Cases of GELU, forward and backward. */
import { junk, normals, stream } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";

export function geluCases(): Case[] {
  return [0, 1, 3, 4, 5, 16, 31, 65, 1009, 100_003].flatMap((n) => {
    const random = stream(`gelu ${n}`);
    const x = normals(random, n, 2), dout = normals(random, n), same = normals(random, n, 2);
    // Large values of both signs, where the cube exceeds the range of the exponential.
    const steep = Float32Array.from({ length: n }, (_, i) => [-60, -9, -5, 0, 5, 9, 1e4][i % 7]!);
    const bound = relative(1e-6, 4e-7), outputs = { dx: ofLargest(1e-6) };
    const back = { dout, x, dx: junk(n), n };
    return [
      testCase("gelu", `${n}`, { x, out: junk(n), n }, { out: bound }),
      testCase("gelu", `${n} steep`, { x: steep, out: junk(n), n }, { out: bound }),
      testCase("gelu", `${n} in place`, { x: same, out: same, n }, { out: bound }),
      testCase("gelu_backward", `${n}`, back, outputs),
      testCase("gelu_backward", `${n} steep`, { ...back, x: steep }, outputs),
      testCase("gelu_backward", `${n} in place and forward`, {
        ...back,
        x: same,
        dx: same,
        activated: junk(n),
      }, { ...outputs, activated: bound }),
    ];
  });
}
