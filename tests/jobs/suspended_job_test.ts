/**
 * A job that is suspended as a whole and goes on later, as by `scontrol suspend` and `resume`, or
 * by a closed laptop.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { assertSameRun, rgxProgram, succeeds, tinyConfig } from "../support.ts";
import { delay, until } from "./waiting.ts";

const LIMIT = 1.5;
/** A reward that takes its time, but less than the limit. */
const SLOW = `export default async ({ completion }) => {
  await new Promise((done) => setTimeout(done, 300));
  return completion.length % 5;
}`;

test.inFolder(
  "a run that is suspended for longer than its limits has the bits of one that is not",
  async (folder) => {
    await Deno.writeTextFile(`${folder}/slow.js`, SLOW);
    const args = [
      await tinyConfig(folder),
      "training.per_device_train_batch_size=4",
      "training.max_steps=3",
      `rewards=[{path: ${folder}/slow.js, timeout: ${LIMIT}}]`,
    ];
    await succeeds(["train", ...args, "--output-dir", `${folder}/whole`]);

    const run = `${folder}/run`;
    const [program, ...words] = rgxProgram(["train", ...args, "--output-dir", run]);
    const child = new Deno.Command(program!, {
      args: words,
      env: { NO_COLOR: "1", SLURM_JOB_ID: "" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      detached: true, // a process group of its own
    }).spawn();
    let said = "";
    const reading = (async () => {
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) said += text;
    })();
    const signal = async (name: string) => {
      const { success } = await new Deno.Command("kill", {
        args: ["-s", name, "--", `-${child.pid}`],
      }).output();
      assert.ok(success);
    };
    await until("the first step", 120, () => said.includes("GRPO: 3 steps"));
    for (let i = 0; i < 3; i++) {
      await delay(700);
      await signal("STOP");
      await delay(2500 * LIMIT);
      await signal("CONT");
    }
    const { code } = await child.status;
    await reading;
    assert.equal(code, 0, said);
    assert.doesNotMatch(said, /counts 0/);
    await assertSameRun(run, `${folder}/whole`);
  },
  Deno.build.os === "windows",
);
