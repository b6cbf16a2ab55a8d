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

function casesOf(n: number, option: GateOptions): Case[] {
  const random = stream(`swiglu ${n}`), label = Object.keys(option).map((key) => ` ${key}`).join();
  const gate = normals(random, n), up = normals(random, n), dout = normals(random, n);
  // Large values of both signs, where e^−a or e^a overflows in f32.
  const steep = Float32Array.from(
    { length: n },
    (_, i) => [-120, -88.5, -30, 0, 30, 89, 120][i % 7]!,
  );
  const inGate = normals(random, n), inUp = normals(random, n);
  const both = { dgate: ofLargest(), dup: ofLargest() };
  const forward = (name: string, more: object) => {
    const args = { gate, up, out: junk(n), n, ...option, ...more };
    return testCase("swiglu", `${n}${label}${name}`, args, { out: relative() });
  };
  const backward = (name: string, more: object) => {
    const args = { dout, gate, up, dgate: junk(n), dup: junk(n), n, ...option, ...more };
    const activated = "activated" in more ? { activated: relative() } : {};
    return testCase("swiglu_backward", `${n}${label}${name}`, args, { ...both, ...activated });
  };
  return [
    forward("", {}),
    forward(" steep", { gate: steep }),
    forward(" into gate", { gate: inGate, out: inGate }),
    forward(" into up", { up: inUp, out: inUp }),
    backward("", {}),
    backward(" steep", { gate: steep }),
    backward(" and forward", { activated: junk(n) }),
    backward(" in place", { gate: inGate, up: inUp, dgate: inGate, dup: inUp }),
  ];
}
