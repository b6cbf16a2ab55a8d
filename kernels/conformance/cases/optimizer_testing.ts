/** Cases of the optimizer: AdamW and sums of squares. */
import { SUM_CHUNK } from "../../ops/optimizer/spec.ts";
import { junk, normals, stream, zeros } from "../../testing.ts";
import { type Case, relative, testCase } from "../runner_testing.ts";

export function optimizerCases(): Case[] {
  return [0, 1, 3, 4, 17, 64, 1009, SUM_CHUNK - 1, SUM_CHUNK, SUM_CHUNK + 1, 100_003].flatMap(
    (n) => {
      const random = stream(`optimizer ${n}`);
      const x = normals(random, n);
      const chunks = Math.ceil(n / SUM_CHUNK);
      return [
        testCase("sum_squares", `${n}`, { x, partial: junk(chunks), n }, {
          partial: relative(2e-6),
        }),
        ...[1, 2, 1000].map((step) =>
          testCase("adamw", `${n}, step ${step}`, {
            param: normals(random, n),
            grad: normals(random, n, 0.1),
            m: step === 1 ? zeros(n) : normals(random, n, 0.05),
            v: step === 1 ? zeros(n) : normals(random, n, 0.1).map((y) => y * y),
            n,
            lr: 3e-3,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weightDecay: step === 2 ? 0 : 0.1,
            correction1: 1 - 0.9 ** step,
            correction2: 1 - 0.999 ** step,
            gradScale: step === 1 ? 1 : 0.37,
          }, { param: relative(1e-6, 1e-7), m: relative(), v: relative(1e-6, 1e-9) })
        ),
      ];
    },
  );
}
