/** Training on several ranks, as processes that Open MPI and MPICH start. */
import assert from "node:assert/strict";
import {
  hasBothMpis,
  launch,
  launchers,
  type TestLauncher,
} from "../../ranks/mpi/launchers_testing.ts";
import { NEEDED, needs } from "../skipped.ts";
import { type Ended, lineCount, signalled } from "./ranks_testing.ts";
import { assertSameRun, rgx, rgxProgram, tinyConfig, withFolder } from "../support.ts";

/** Four micro-batches of one prompt each. */
const FOUR = [
  "training.per_device_train_batch_size=4",
  "training.gradient_accumulation_steps=4",
];

/** Runs `rgx train` as `ranks` ranks. */
function train(
  launcher: TestLauncher,
  ranks: number,
  args: readonly string[],
  env: Record<string, string> = {},
) {
  return launch(launcher, ranks, rgxProgram(["train", ...args]), {
    // The machine of the tests has few cores.
    RGX_NUM_THREADS: "1",
    COLUMNS: "80",
    ...env,
  });
}

Deno.test({
  name: "2 and 4 ranks end with the bytes of one process, under both MPIs",
  ignore: needs(hasBothMpis, NEEDED.mpi),
  fn: async () => {
    await withFolder(async (dir) => {
      const config = await tinyConfig(dir);
      const alone = await rgx(["train", config, ...FOUR, "--output-dir", `${dir}/1`]);
      assert.equal(alone.code, 0, alone.err);
      for (const launcher of launchers) {
        for (const ranks of [2, 4]) {
          const run = `${dir}/${launcher.name}-${ranks}`.replace(" ", "");
          const { code, err } = await train(launcher, ranks, [
            config,
            ...FOUR,
            "--output-dir",
            run,
          ]);
          assert.equal(code, 0, err);
          await assertSameRun(run, `${dir}/1`);
          assert.equal(err.match(/^Time /gm)?.length, 1, "only the first rank prints");
        }
      }
    });
  },
});

/** Starts `rgx train`, waits until metrics.jsonl has some lines, and sends a signal to rank 1. */
function interrupted(
  signal: Deno.Signal,
  lines: number,
  run: string,
  start: (args: readonly string[], env: Record<string, string>) => Promise<Ended>,
  config: string,
): Promise<Ended> {
  return signalled(
    signal,
    (env) => start([config, ...FOUR, "--output-dir", run], env),
    async () => await lineCount(`${run}/metrics.jsonl`) >= lines,
  );
}

Deno.test({
  name: "kill -9 of a rank ends all; any number of ranks goes on to the same bytes",
  ignore: needs(hasBothMpis, NEEDED.mpi),
  fn: async () => {
    await withFolder(async (dir) => {
      const config = await tinyConfig(dir), [openMpi, mpich] = launchers;
      const alone = await rgx(["train", config, ...FOUR, "--output-dir", `${dir}/1`]);
      assert.equal(alone.code, 0, alone.err);
      // The supervised part has 30 lines, then each step has one.
      const cases = [
        { launcher: openMpi!, lines: 9, ranks: 2, after: 1 },
        { launcher: mpich!, lines: 31, ranks: 3, after: 2 },
        { launcher: mpich!, lines: 32, ranks: 2, after: 4 },
        { launcher: openMpi!, lines: 33, ranks: 4, after: 2 },
      ];
      for (const [i, { launcher, lines, ranks, after }] of cases.entries()) {
        const run = `${dir}/case${i}`;
        const start = (args: readonly string[], env: Record<string, string>) =>
          train(launcher, ranks, args, env);
        const killed = await interrupted("SIGKILL", lines, run, start, config);
        assert.notEqual(killed.code, 0);
        const again = [config, ...FOUR, "--output-dir", run, "--resume"];
        const resumed = after === 1
          ? await rgx(["train", ...again])
          : await train(launcher, after, again);
        assert.equal(resumed.code, 0, resumed.err);
        await assertSameRun(run, `${dir}/1`);
      }
    });
  },
});

Deno.test({
  name: "rgx train --ranks starts them; a killed or hanging rank ends all with exit 75",
  ignore: needs(hasBothMpis, NEEDED.mpi),
  fn: async () => {
    await withFolder(async (dir) => {
      const config = await tinyConfig(dir);
      const start = (args: readonly string[], env: Record<string, string>) =>
        rgx(["train", ...args, "training.max_steps=200", "--ranks", "2"], "", {
          RGX_NUM_THREADS: "1",
          ...env,
        });
      for (
        const [signal, said] of [
          ["SIGKILL", /^error: a rank was killed .*\nhelp: .*checkpoint-\d+ is kept.*\n$/m],
          ["SIGSTOP", /error: rank 1 is lost: it has been silent for too long/],
        ] as const
      ) {
        const run = `${dir}/${signal}`;
        const { code, err } = await interrupted(signal, 34, run, start, config);
        assert.equal(code, 75, err);
        assert.match(err, said);
      }
      const whole = ["train", config, ...FOUR, "--output-dir", `${dir}/whole`];
      const done = await rgx([...whole, "--ranks", "2"], "", { RGX_NUM_THREADS: "1" });
      assert.equal(done.code, 0, done.err);
      const alone = await rgx(["train", config, ...FOUR, "--output-dir", `${dir}/alone`]);
      assert.equal(alone.code, 0, alone.err);
      await assertSameRun(`${dir}/whole`, `${dir}/alone`);
    });
  },
});

Deno.test({
  name: "an error that all ranks have is printed once, and ends all with its code",
  ignore: needs(hasBothMpis, NEEDED.mpi),
  fn: async () => {
    await withFolder(async (dir) => {
      const config = await tinyConfig(dir);
      for (const launcher of launchers) {
        const wrong = await train(launcher, 2, [config, "training.max_stepz=3"]);
        assert.equal(wrong.code, 2);
        assert.equal(wrong.err.match(/unknown key, did you mean max_steps/g)?.length, 1, wrong.err);
        await Deno.mkdir(`${dir}/taken`, { recursive: true });
        await Deno.writeTextFile(`${dir}/taken/notes.txt`, "mine");
        const taken = await train(launcher, 2, [config, "--output-dir", `${dir}/taken`]);
        assert.equal(taken.code, 2);
        assert.equal(taken.err.match(/output_dir is not empty/g)?.length, 1, taken.err);
      }
    });
  },
});
