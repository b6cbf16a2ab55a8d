/** Ranks of the executable that `deno task compile` builds, under both kinds of MPI. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { hasBothMpis, launch, launchers } from "../../cluster/ranks/mpi/launchers_testing.ts";
import { lineCount, signalled } from "../jobs/ranks_testing.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { assertSameRun, tinyConfig } from "../support.ts";

const executable = new URL("../../dist/rgx", import.meta.url).pathname;
const built = await Deno.stat(executable).then(() => true, () => false);

test.inFolder(
  "a killed rank ends those of the executable; one process goes on to the same bytes",
  async (dir) => {
    const config = await tinyConfig(dir), env = { RGX_NUM_THREADS: "1" };
    const args = (run: string) =>
      argv`train ${config} training.max_steps=12 --output-dir ${run} --device wasm
          training.per_device_train_batch_size=8 training.gradient_accumulation_steps=2`;
    const alone = async (...more: string[]) => {
      const { success, stderr } = await new Deno.Command(executable, { args: more, env })
        .output();
      assert.ok(success, new TextDecoder().decode(stderr));
    };
    await alone(...args(`${dir}/whole`));
    for (const launcher of launchers) {
      const run = `${dir}/${launcher.name.replace(" ", "")}`;
      const { code, err } = await signalled(
        "SIGKILL",
        (mark) => launch(launcher, 2, [executable, ...args(run)], { ...env, ...mark }),
        async () => await lineCount(`${run}/metrics.jsonl`) >= 35,
      );
      assert.notEqual(code, 0, err);
      await alone(...args(run), "--resume");
      await assertSameRun(run, `${dir}/whole`);
    }
  },
  needs(built, NEEDED.executable) || needs(hasBothMpis, NEEDED.mpi),
);
