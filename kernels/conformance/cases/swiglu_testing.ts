/** Cases of SwiGLU, forward and backward. */
import { junk, normals, stream } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";
import { LENGTHS } from "./elementwise_testing.ts";

export function swigluCases(): Case[] {
  return LENGTHS.flatMap((n) => {
    const random = stream(`swiglu ${n}`);
    const gate = normals(random, n), up = normals(random, n), dout = normals(random, n);
    // Large values of both signs, where e^−a or e^a overflows in f32.
    const steep = Float32Array.from(
      { length: n },
      (_, i) => [-120, -88.5, -30, 0, 30, 89, 120][i % 7]!,
    );
    const inGate = normals(random, n), inUp = normals(random, n);
    const bound = relative();
    const both = { dgate: ofLargest(), dup: ofLargest() };
    return [
      testCase("swiglu", `${n}`, { gate, up, out: junk(n), n }, { out: bound }),
      testCase("swiglu", `${n} steep`, { gate: steep, up, out: junk(n), n }, { out: bound }),
      testCase("swiglu", `${n} into gate`, { gate: inGate, up, out: inGate, n }, { out: bound }),
      testCase("swiglu", `${n} into up`, { gate, up: inUp, out: inUp, n }, { out: bound }),
      testCase(
        "swiglu_backward",
        `${n}`,
        { dout, gate, up, dgate: junk(n), dup: junk(n), n },
        both,
      ),
      testCase(
        "swiglu_backward",
        `${n} steep`,
        { dout, gate: steep, up, dgate: junk(n), dup: junk(n), n },
        both,
      ),
      testCase(
        "swiglu_backward",
        `${n} and forward`,
        { dout, gate, up, dgate: junk(n), dup: junk(n), activated: junk(n), n },
        { ...both, activated: relative() },
      ),
      testCase(
        "swiglu_backward",
        `${n} in place`,
        { dout, gate: inGate, up: inUp, dgate: inGate, dup: inUp, n },
        both,
      ),
    ];
  });
}
