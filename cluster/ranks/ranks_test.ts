/** Work that is dealt to ranks, sums in a fixed order, and errors that all ranks learn of. */
import assert from "node:assert/strict";
import { Interrupted, RgxError, UsageError } from "../../core/errors.ts";
import { localTransports } from "./local_testing.ts";
import { ALONE, RankFailed, Ranks } from "./ranks.ts";
import { sumArrays } from "./vectors_testing.ts";

/** Runs `work` on `size` ranks within this process. */
function onRanks<T>(size: number, work: (ranks: Ranks) => Promise<T>): Promise<T[]> {
  return Promise.all(localTransports(size).map((transport) => work(new Ranks(transport))));
}

function settled<T>(size: number, work: (ranks: Ranks) => Promise<T>) {
  return Promise.allSettled(localTransports(size).map((transport) => work(new Ranks(transport))));
}

Deno.test("shared work comes back to all ranks in its order", async () => {
  for (const size of [1, 2, 3, 5]) {
    const all = await onRanks(size, (ranks) =>
      ranks.share(4, (begin, end) =>
        Promise.resolve(
          Array.from({ length: end - begin }, (_, i) => ({ piece: begin + i, nan: NaN })),
        )));
    for (const results of all) {
      assert.deepEqual(results, [0, 1, 2, 3].map((piece) => ({ piece, nan: NaN })));
    }
  }
  assert.deepEqual(await ALONE.share(2, (begin, end) => Promise.resolve([begin, end])), [0, 2]);
});

Deno.test("the first rank's result reaches all", async () => {
  const all = await onRanks(3, (ranks) => ranks.first(() => `of rank ${ranks.rank}`));
  assert.deepEqual(all, ["of rank 0", "of rank 0", "of rank 0"]);
});

Deno.test("an error of one rank ends all at the same place", async () => {
  const ends = await settled(3, (ranks) =>
    ranks.share(3, (begin) => {
      if (begin === 1) throw new RgxError("no memory", { advice: "buy some", exitCode: 75 });
      return Promise.resolve([begin]);
    }));
  const errors = ends.map((end) => (end as PromiseRejectedResult).reason);
  assert.equal(errors[1].message, "no memory");
  for (const other of [errors[0], errors[2]]) {
    assert.ok(other instanceof RankFailed);
    assert.equal(other.message, "rank 1: no memory");
    assert.equal(other.exitCode, 75);
    assert.equal(other.advice, "buy some");
  }
});

Deno.test("a stop of one rank stops all, and an error counts more than a stop", async () => {
  const stopped = await settled(3, (ranks) => ranks.meet(ranks.rank === 2));
  for (const end of stopped) {
    assert.ok((end as PromiseRejectedResult).reason instanceof Interrupted);
  }
  const failed = await settled(2, (ranks) =>
    ranks.each(() => {
      throw ranks.rank === 0 ? new Interrupted() : new RgxError("broken");
    }));
  assert.match((failed[0] as PromiseRejectedResult).reason.message, /rank 1: broken/);
});

Deno.test("all ranks know an error of shared work, and no other", async () => {
  await onRanks(2, async (ranks) => {
    const error = await ranks.each(() => {
      throw new RgxError("seen by all");
    }).catch((thrown) => thrown);
    assert.ok(ranks.knows(error));
    assert.ok(!ranks.knows(new RgxError("of one rank")));
  });
});

Deno.test("a rank with another configuration is named", async () => {
  const ends = await settled(
    3,
    (ranks) =>
      ranks.compare({ version: "1", configuration: ranks.rank === 2 ? "b" : "a" }, "Use one file."),
  );
  for (const [rank, end] of ends.entries()) {
    const { reason } = end as PromiseRejectedResult;
    assert.ok(reason instanceof (rank === 0 ? UsageError : RankFailed), "one of them prints it");
    assert.equal(reason.exitCode, 2);
    assert.match(reason.message, /same configuration: rank 0 has a, rank 2 has b/);
  }
});

Deno.test("a rank that waits for one that is gone ends with the alarm", async () => {
  const [first] = localTransports(2);
  const ranks = new Ranks(first!, () => {
    throw new RgxError("rank 1 is silent");
  });
  await assert.rejects(() => ranks.meet(), /rank 1 is silent/);
});

Deno.test("an abort ends the ranks that wait", async () => {
  const [first, second] = localTransports(2);
  const waiting = assert.rejects(() => new Ranks(first!).meet(), { exitCode: 75 });
  new Ranks(second!).abort(75);
  await waiting;
});

Deno.test("values that MPI sums in its own order, and sums in a fixed one, reach all ranks", async () => {
  const all = await onRanks(3, async (ranks) => {
    const values = Float32Array.of(1, ranks.rank);
    await ranks.sumFast(values);
    const own = [{
      node: { level: 0, index: ranks.rank },
      value: Float32Array.of(0.5, ranks.rank),
    }];
    return [...values, ...await sumArrays(ranks, 3, own, 2)];
  });
  for (const values of all) assert.deepEqual(values, [3, 3, 1.5, 3]);
});
