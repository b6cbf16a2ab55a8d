/**
 * One rank of mpi_transport_test.ts. It prints a line of JSON: what it found, or the error. Not
 * part of the program.
 */
import { messageOf, RgxError } from "../../../core/errors.ts";
import { Ranks } from "../ranks.ts";
import { sumArrays } from "../vectors_testing.ts";
import { MpiTransport } from "./mpi_transport.ts";

const [scene = "sums"] = Deno.args;

async function sums(ranks: Ranks): Promise<unknown> {
  const length = 5_000_001; // more than one bucket, and no multiple of the ranks
  const own = new Float32Array(length).fill(1 + ranks.rank);
  const node = { level: 0, index: ranks.rank };
  const total = await sumArrays(ranks, ranks.size, [{ node, value: own }], length);
  const fast = Float64Array.of(ranks.rank, 0.5);
  await ranks.sumFast(fast);
  const failure = await ranks.each(() => {
    if (ranks.rank === 1) throw new RgxError("the reward has failed");
  }).catch((error) => error);
  return {
    dealt: await ranks.share(
      5,
      (begin, end) => Promise.resolve(Array.from({ length: end - begin }, (_, i) => begin + i)),
    ),
    first: await ranks.first(() => `from ${ranks.rank}`),
    equal: total.every((value) => value === total[0]),
    total: total[0],
    fast: [...fast],
    failure: [messageOf(failure), ranks.knows(failure)],
  };
}

try {
  const transport = MpiTransport.open();
  if (transport === null) throw new RgxError("this process was started alone");
  const ranks = new Ranks(transport);
  // Rank 1 leaves at once: the others must not wait forever.
  if (scene === "abort" && ranks.rank === 1) ranks.abort(75);
  const found = await sums(ranks);
  console.log(JSON.stringify({ rank: ranks.rank, size: ranks.size, found }));
  await ranks.close();
} catch (error) {
  console.log(JSON.stringify({ error: messageOf(error) }));
  Deno.exit(2);
}
