/** Training on several ranks, as processes that Open MPI and MPICH start. */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import {
  hasBothMpis,
  launch,
  launchers,
  type TestLauncher,
} from "../../cluster/ranks/mpi/launchers_testing.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { hasSmallDisk, withSmallDisk } from "../small_disk.ts";
import { MOMENTS } from "./mortal_rank_testing.ts";
import { type Ended, lineCount, signalled, type Target } from "./ranks_testing.ts";
import { assertSameRun, rgx, rgxProgram, succeeds, tinyConfig } from "../support.ts";

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

test.inFolder(
  "2 and 4 ranks, the latter with divided states, end with the bytes of one process",
  async (dir) => {
    const config = await tinyConfig(dir);
    await succeeds(["train", config, ...FOUR, "--output-dir", `${dir}/1`]);
    // Each launcher's transport has its own tests (cluster/ranks/mpi).
    for (const [i, ranks] of [2, 4].entries()) {
      const run = `${dir}/${ranks}`, launcher = launchers[i]!;
      const { code, err } = await train(launcher, ranks, [
        config,
        ...FOUR,
        ...(ranks === 4 ? ["training.zero=1"] : []),
        "--output-dir",
        run,
      ]);
      assert.equal(code, 0, err);
      await assertSameRun(run, `${dir}/1`);
      const state = "latest/optimizer.safetensors";
      await assertSameRun(run, `${dir}/1`, state);
      assert.equal(err.match(/^Time /gm)?.length, 1, "only the first rank prints");
    }
  },
  needs(hasBothMpis, NEEDED.mpi),
);

/** Starts `rgx train`, waits until metrics.jsonl has some lines, and sends a signal to rank 1. */
function interrupted(
  signal: Deno.Signal,
  lines: number,
  run: string,
  start: (args: readonly string[], env: Record<string, string>) => Promise<Ended>,
  config: string,
  target: Target = 1,
): Promise<Ended> {
  return signalled(
    signal,
    (env) => start([config, ...FOUR, "--output-dir", run], env),
    async () => await lineCount(`${run}/metrics.jsonl`) >= lines,
    target,
  );
}

/** The moments in the order of a run, and how many ranks there are then. */
const DEATHS: readonly (readonly [moment: typeof MOMENTS[number], ranks: number])[] = [
  ["start", 2],
  ["supervised step", 2],
  ["evaluation", 2],
  ["generation", 4],
  ["scoring", 2],
  ["backward", 2],
  ["reduction", 3],
  ["optimizer", 2],
  ["checkpoint", 2],
  ["end", 2],
];

/** Longest time from the death of a rank to the end of all, in milliseconds, on a busy machine. */
const ENDS_WITHIN = 60_000;

Deno.test({
  name: "kill -9 of a rank at ten moments ends all; any number of ranks goes on to the same bytes",
  ignore: needs(hasBothMpis, NEEDED.mpi),
  fn: async () => {
    assert.deepEqual(DEATHS.map(([moment]) => moment).sort(), [...MOMENTS].sort());
    await withFolder(async (dir) => {
      const config = await tinyConfig(dir), run = `${dir}/run`;
      const sizes = argv`sft.max_steps=4 sft.per_device_train_batch_size=4
        sft.gradient_accumulation_steps=4 training.max_steps=6 training.save_steps=1
        training.eval_strategy=steps training.eval_steps=3 ${FOUR}`;
      await succeeds(["train", config, ...sizes, "--output-dir", `${dir}/1`]);
      const program = rgxProgram(["train", config, ...sizes, "--output-dir", run, "--resume"]);
      const [mortal] = program.splice(program.findIndex((word) => word.endsWith("/main.ts")), 1);
      program.splice(
        program.indexOf("train"),
        0,
        mortal!.replace(/main\.ts$/, "tests/jobs/mortal_rank_testing.ts"),
      );
      for (const [i, [moment, ranks]] of DEATHS.entries()) {
        const RGX_TEST_DEATH = `${dir}/death${i}`;
        const { code, err } = await launch(launchers[i % 2]!, ranks, program, {
          RGX_NUM_THREADS: "1",
          RGX_TEST_MOMENT: moment,
          RGX_TEST_DEATH,
        });
        const died = await Deno.readTextFile(RGX_TEST_DEATH).catch(() => assert.fail(moment + err));
        assert.notEqual(code, 0, moment);
        assert.ok(Date.now() - Number(died) < ENDS_WITHIN, `${moment} ${err}`);
      }
      const done = await train(
        launchers[0]!,
        2,
        argv`${config} ${sizes} --output-dir ${run} --resume`,
      );
      assert.equal(done.code, 0, done.err);
      await assertSameRun(run, `${dir}/1`);
    });
  },
});

test.inFolder(
  "rgx train --ranks starts them; a killed or hanging process ends all, and it is said why",
  async (dir) => {
    const config = await tinyConfig(dir);
    const start = (args: readonly string[], env: Record<string, string>) =>
      rgx(["train", ...args, "training.max_steps=200", "--ranks", "2"], {
        env: {
          RGX_NUM_THREADS: "1",
          ...env,
        },
      });
    for (
      const [signal, target, exit, said] of [
        ["SIGKILL", 1, 75, /^error: a rank was killed .*\nhelp: .*checkpoint-\d+ is kept.*\n$/m],
        ["SIGSTOP", 1, 75, /error: rank 1 is lost: it has been silent for too long/],
        ["SIGKILL", "launcher", 75, /error: the launcher was killed \(\w+, SIGKILL\), so all/],
        ["SIGKILL", "starter", 137, /error: the process that has started the ranks was killed/],
      ] as const
    ) {
      const run = `${dir}/${signal}-${target}`;
      const { code, err } = await interrupted(signal, 34, run, start, config, target);
      assert.equal(code, exit, err);
      assert.match(err, said);
    }
    const whole = ["train", config, ...FOUR, "--output-dir", `${dir}/whole`];
    await succeeds([...whole, "--ranks", "2"], { env: { RGX_NUM_THREADS: "1" } });
    await succeeds(["train", config, ...FOUR, "--output-dir", `${dir}/alone`]);
    await assertSameRun(`${dir}/whole`, `${dir}/alone`);
  },
  needs(hasBothMpis, NEEDED.mpi),
);

test.inFolder(
  "an error that all ranks have is printed once, and ends all with its code",
  async (dir) => {
    const config = await tinyConfig(dir);
    const wrong = await train(launchers[0]!, 2, [config, "training.max_stepz=3"]);
    assert.equal(wrong.code, 2);
    assert.equal(wrong.err.match(/unknown key, did you mean max_steps/g)?.length, 1, wrong.err);
    await Deno.mkdir(`${dir}/taken`, { recursive: true });
    await Deno.writeTextFile(`${dir}/taken/notes.txt`, "mine");
    const taken = await train(launchers[1]!, 2, [config, "--output-dir", `${dir}/taken`]);
    assert.equal(taken.code, 2);
    assert.equal(taken.err.match(/output_dir is not empty/g)?.length, 1, taken.err);
  },
  needs(hasBothMpis, NEEDED.mpi),
);

test.inFolder("keys that ask for ranks look for the launcher once", async (dir) => {
  const config = await tinyConfig(dir), calls = `${dir}/calls`;
  await Deno.writeTextFile(
    `${dir}/mpirun`,
    `#!/bin/sh\necho "$1" >> ${calls}\necho "mpirun (Open MPI) 4.1.4"\n`,
    { mode: 0o755 },
  );
  const keys = ["training.n_gpus_per_node=2", "--device", "wasm"];
  const { err } = await succeeds(["train", config, ...keys], {
    env: {
      PATH: `${dir}:${Deno.env.get("PATH")}`,
    },
  });
  assert.equal(await Deno.readTextFile(calls), "--version\n--bind-to\n", err);
}, needs(hasBothMpis, NEEDED.mpi));

test.inFolder("a rank that fails alone ends all, and its message is the last", async (dir) => {
  const config = await tinyConfig(dir);
  const sizes = ["sft.max_steps=0", "training.max_steps=400", "training.save_steps=1"];
  for (const launcher of launchers) {
    // The first rank writes checkpoints, until the disk is full.
    await withSmallDisk("400k", async (disk) => {
      const { code, err } = await train(
        launcher,
        2,
        argv`${config} ${sizes} training.save_total_limit=null --output-dir ${disk}/run`,
      );
      assert.equal(code, 75, err);
      assert.equal(err.match(/^error:/gm)?.length, 1, err);
      const [error, help] = err.trim().split(/^(?=help: )/m).map((text) => text.split("\n"));
      assert.match(error!.at(-2)!, /^error: .* cannot write .*: the disk is full$/, err);
      assert.match(help![0]!, /^help: Free some space/);
      assert.doesNotMatch(err, /MPI_Abort/);
    });
  }
}, needs(hasBothMpis, NEEDED.mpi) || needs(hasSmallDisk, NEEDED.smallDisk));
