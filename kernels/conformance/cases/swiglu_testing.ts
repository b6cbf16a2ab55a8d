/** Cases of SwiGLU, forward and backward. */
import type { GateOptions } from "../../ops/swiglu/spec.ts";
import { junk, normals, stream } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";
import { LENGTHS } from "./elementwise_testing.ts";

/** The gate's function is SiLU, and GELU or σ or a limited one for some lengths. */
export function swigluCases(): Case[] {
  const some = [0, 1, 17, 64, 1009, 100_003];
  return [
    ...LENGTHS.flatMap((n) => casesOf(n, {})),
    ...some.flatMap((n) => [...casesOf(n, { gelu: true }), ...casesOf(n, { sigmoid: true })]),
    ...some.flatMap((n) => casesOf(n, { limit: 0.9 })),
  ];
}

function casesOf(length: number, option: GateOptions): Case[] {
  const n = { n: length, ...option };
  const random = stream(`swiglu ${length}`),
    name = Object.keys(option).map((key) => ` ${key}`).join();
  const gate = normals(random, length),
    up = normals(random, length),
    dout = normals(random, length);
  // Large values of both signs, where e^−a or e^a overflows in f32.
  const steep = Float32Array.from(
    { length },
    (_, i) => [-120, -88.5, -30, 0, 30, 89, 120][i % 7]!,
  );
  const inGate = normals(random, length), inUp = normals(random, length);
  const bound = relative();
  const both = { dgate: ofLargest(), dup: ofLargest() };
  return [
    testCase("swiglu", `${length}${name}`, { gate, up, out: junk(length), ...n }, { out: bound }),
    testCase("swiglu", `${length}${name} steep`, { gate: steep, up, out: junk(length), ...n }, {
      out: bound,
    }),
    testCase("swiglu", `${length}${name} into gate`, { gate: inGate, up, out: inGate, ...n }, {
      out: bound,
    }),
    testCase("swiglu", `${length}${name} into up`, { gate, up: inUp, out: inUp, ...n }, {
      out: bound,
    }),
    testCase(
      "swiglu_backward",
      `${length}${name}`,
      { dout, gate, up, dgate: junk(length), dup: junk(length), ...n },
      both,
    ),
    testCase(
      "swiglu_backward",
      `${length}${name} steep`,
      { dout, gate: steep, up, dgate: junk(length), dup: junk(length), ...n },
      both,
    ),
    testCase(
      "swiglu_backward",
      `${length}${name} and forward`,
      { dout, gate, up, dgate: junk(length), dup: junk(length), activated: junk(length), ...n },
      { ...both, activated: relative() },
    ),
    testCase(
      "swiglu_backward",
      `${length}${name} in place`,
      { dout, gate: inGate, up: inUp, dgate: inGate, dup: inUp, ...n },
      both,
    ),
  ];
}
