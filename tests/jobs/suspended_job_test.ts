/**
 * A job that is suspended as a whole and goes on later, as by `scontrol suspend` and `resume`, or
 * by a closed laptop.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { assertSameRun, runs, startRgx, succeeds, tinyConfig } from "../support.ts";
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
    const session = startRgx(["train", ...args, "--output-dir", run], { detached: true });
    const signal = (name: string) => runs(["kill", "-s", name, "--", `-${session.child.pid}`]);
    await until("the first step", 120, () => session.err.includes("GRPO: 3 steps"));
    for (let i = 0; i < 3; i++) {
      await delay(700);
      await signal("STOP");
      await delay(2500 * LIMIT);
      await signal("CONT");
    }
    const { code, err } = await session.end;
    assert.equal(code, 0, err);
    assert.doesNotMatch(err, /counts 0/);
    await assertSameRun(run, `${folder}/whole`);
  },
  Deno.build.os === "windows",
);
