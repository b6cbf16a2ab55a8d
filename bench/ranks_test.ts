/** Benchmarks on several ranks, which here take turns within this process. */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { localTransports } from "../cluster/ranks/local_testing.ts";
import { Ranks } from "../cluster/ranks/ranks.ts";
import { assistBenchmark, type Benchmark, type BenchmarkOptions } from "./benchmark.ts";
import { fileSizesOf } from "./plan/model_request.ts";
import { runOnRanks } from "./workers/rank_jobs.ts";
import type { Job } from "./workers/run_jobs.ts";
import { collected, modelTest } from "./testing.ts";

interface RankOptions {
  shouldStop?: () => boolean;
  /** Called before each operation of the device. */
  beforeRun?: () => void;
}

/** Runs a benchmark on `size` ranks; the end of each. */
function onRanks(
  size: number,
  options: BenchmarkOptions,
  of: (rank: number) => RankOptions = () => ({}),
): Promise<PromiseSettledResult<Benchmark | void>[]> {
  return Promise.allSettled(
    localTransports(size).map(async (transport) => {
      const ranks = new Ranks(transport), { beforeRun, ...more } = of(transport.rank);
      using device = createReferenceDevice({ float: "f32" });
      if (beforeRun !== undefined) device.beforeRun = beforeRun;
      return ranks.isFirst
        ? await collected({ ...options, ...more, device, ranks })
        : await assistBenchmark({ ...more, device, ranks });
    }),
  );
}

/** A result without the values that depend on the clock. */
const untimed = ({ result }: Benchmark) =>
  JSON.parse(JSON.stringify(
    { tasks: result.tasks, average: result.average, failures: result.failures },
    (key, value) => key === "seconds" ? undefined : value,
  ));

const common = (folder: string, model: string) => ({
  models: [model],
  tasks: ["chain_sum", "spell_backward", "basic_arithmetic"],
  sampling: { temperature: 1, max_new_tokens: 6 },
  outputDir: folder,
});

const names = (folder: string) =>
  Array.from(Deno.readDirSync(folder), ({ name }) => name.replace(/\d{8}_\d{6}/, "STAMP")).sort();

modelTest(
  "2 and 7 ranks give the results and the files of one process",
  async (folder, model, device) => {
    const alone = await collected({ ...common(`${folder}/1`, model), device });
    for (const size of [2, 7]) {
      const ends = await onRanks(size, common(`${folder}/${size}`, model));
      const failed = ends.find(({ status }) => status === "rejected");
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
      const done = (ends[0] as PromiseFulfilledResult<Benchmark>).value;
      assert.equal(done.evaluated, 15);
      assert.deepEqual(untimed(done), untimed(alone));
      assert.deepEqual(names(`${folder}/${size}`), names(`${folder}/1`));
    }
  },
);

modelTest(
  "a stop of one rank stops all; another number of ranks asks for the rest",
  async (folder, model, device) => {
    const alone = await collected({ ...common(`${folder}/1`, model), device });
    let asked = 0;
    const ends = await onRanks(
      3,
      common(`${folder}/3`, model),
      (rank) => rank === 1 ? { shouldStop: () => ++asked > 5 } : {},
    );
    for (const end of ends) {
      assert.equal((end as PromiseRejectedResult).reason?.name, "Interrupted");
    }
    const [end] = await onRanks(2, { ...common(`${folder}/3`, model), resume: true });
    const done = (end as PromiseFulfilledResult<Benchmark>).value;
    assert.ok(done.evaluated > 0);
    assert.equal(done.resumed + done.evaluated, 15);
    assert.deepEqual(untimed(done), untimed(alone));
  },
);

modelTest("ranks with other files of a model are found before they work", async (folder, model) => {
  const copy = { kind: "local", path: `${folder}/copy`, weights: `${folder}/copy` } as const;
  const jobs = [{ model: { name: "m", where: copy }, set: {}, missing: [] }] as unknown as Job[];
  const ends = await Promise.allSettled(
    localTransports(2).map(async (transport) => {
      const ranks = new Ranks(transport);
      const plan = { jobs, isKept: false, listener: () => assert.fail("they work") };
      const models = { open: () => assert.fail("a model is opened"), close: () => {} };
      await runOnRanks(ranks, ranks.isFirst ? plan : null, models, () => false);
    }),
  );
  const [first, second] = ends.map((end) => (end as PromiseRejectedResult).reason);
  assert.match(first.message, /\/copy: .* has no such model$/);
  assert.equal(second.exitCode, 2);
  await Deno.mkdir(copy.path);
  const { size } = await Deno.stat(`${model}/config.json`);
  const write = (bytes: number) =>
    Deno.writeFile(`${copy.path}/config.json`, new Uint8Array(bytes));
  await write(size);
  const known = fileSizesOf(copy);
  await Deno.utime(`${copy.path}/config.json`, 1e9, 1e9);
  assert.equal(fileSizesOf(copy), known, "a copy has other times");
  await write(size + 1);
  assert.notEqual(fileSizesOf(copy), known);
});

modelTest(
  "what the first rank refuses ends all; a device that fails is a failure of its part",
  async (folder, model) => {
    const ends = await onRanks(2, { ...common(`${folder}/none`, model), tasks: ["no_task"] });
    const [first, second] = ends.map((end) => (end as PromiseRejectedResult).reason);
    assert.match(first.message, /no_task/);
    assert.equal(second.name, "RankFailed");
    assert.equal(second.exitCode, 2);
    const [end, other] = await onRanks(
      2,
      common(`${folder}/part`, model),
      (rank) =>
        rank === 0 ? {} : {
          beforeRun: () => {
            throw new RgxError("the device is lost");
          },
        },
    );
    assert.equal(other!.status, "fulfilled");
    const done = (end as PromiseFulfilledResult<Benchmark>).value;
    assert.equal(done.exitCode, 1);
    assert.ok(done.evaluated > 0 && done.evaluated < 15);
    assert.ok(done.result.failures.every(({ error }) => error === "the device is lost"));
  },
);
