/**
 * One rank of `deno task bench:ranks` (tools/bench_ranks.ts), started by a launcher of MPI.
 * Arguments: the number of rounds, then numbers of values. The first rank prints JSON: the seconds
 * of the rounds for a meeting, and for sums of so many values.
 */
import { vectorArithmetic } from "../../kernels/native/vector_arithmetic.ts";
import { MpiTransport } from "./mpi/mpi_transport.ts";
import { Ranks } from "./ranks.ts";
import type { SumOptions } from "./vector_sum.ts";

const [rounds, ...sizes] = Deno.args.map(Number) as [number, ...number[]];
const MEETINGS = 20;

const ranks = new Ranks(
  MpiTransport.open(),
  undefined,
  undefined,
  vectorArithmetic(),
);
const times: Record<string, number[]> = {};
const time = async (name: string, work: () => Promise<unknown>, count = 1) => {
  await ranks.meet();
  const begin = performance.now();
  for (let i = 0; i < count; i++) await work();
  (times[name] ??= []).push((performance.now() - begin) / 1e3 / count);
};
const vectors = sizes.map((length) => new Float32Array(length).fill(1));
/** The ways to sum, as training does it (training/step/gradient_sum.ts). */
const sum = (value: Float32Array, options: SumOptions) => {
  const own = {
    node: { level: 0, index: ranks.rank },
    read: (begin: number, end: number) => value.subarray(begin, end),
  };
  return ranks.sum(ranks.size, [own], {
    length: value.length,
    create: (length) => new Float32Array(length),
    write: (values, at) => value.set(values, at),
  }, options);
};
// The first round is not counted.
for (let round = -1; round < rounds; round++) {
  await time("meeting", () => ranks.meet(), MEETINGS);
  for (const value of vectors) {
    await time(`exact ${value.length}`, () => sum(value, {}));
    await time(`halves ${value.length}`, () => sum(value, { halves: true, rounded: true }));
    await time(`fast ${value.length}`, () => ranks.sumFast(value));
  }
}
if (ranks.isFirst) {
  console.log(
    JSON.stringify(Object.fromEntries(
      Object.entries(times).map(([name, seconds]) => [name, seconds.slice(1)]),
    )),
  );
}
await ranks.close();
