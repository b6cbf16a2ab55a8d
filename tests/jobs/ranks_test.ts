/** Training on several ranks, as processes that Open MPI and MPICH start. */
import assert from "node:assert/strict";
import {
  hasBothMpis,
  launch,
  launchers,
  type TestLauncher,
} from "../../ranks/mpi/launchers_testing.ts";
import { NEEDED, needs } from "../skipped.ts";
import { assertSameRun, rgx, rgxProgram, tinyConfig, withFolder } from "../support.ts";

/** Four micro-batches of one prompt each. */
const FOUR = [
  "training.per_device_train_batch_size=4",
  "training.gradient_accumulation_steps=4",
];

/** Runs `rgx train` as `ranks` ranks. */
function train(launcher: TestLauncher, ranks: number, args: readonly string[]) {
  return launch(launcher, ranks, rgxProgram(["train", ...args]), {
    // The machine of the tests has few cores.
    RGX_NUM_THREADS: "1",
    COLUMNS: "80",
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
