/** `--resume` of a run: one that is finished, with other values, and from another folder. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { succeeds, TINY } from "../support.ts";

test.inFolder("a finished run keeps the record of what it was trained with; more steps train on", async (cwd) => {
  await Deno.writeTextFile(`${cwd}/tiny.yaml`, TINY);
  const run = async (...args: string[]) => {
    const { err } = await succeeds(["train", ...args], { cwd });
    return err.replaceAll(/\s+/g, " ");
  };
  await run("tiny.yaml", "--output-dir", "run");
  const read = (name: string) => Deno.readTextFile(`${cwd}/run/${name}`);
  const config = await read("config.yaml"), card = await read("README.md");
  assert.match(card, /learning rate 0\.0\d/);

  const said = await run("run", "--resume", "training.learning_rate=0.5");
  assert.match(said, /run\/checkpoint-4 was made with: training\.learning_rate\. All 4 steps/);
  assert.equal(await read("config.yaml"), config);
  assert.equal(await read("README.md"), card);
  assert.doesNotMatch(await run("run", "--resume"), /differs/);

  await Deno.mkdir(`${cwd}/elsewhere`);
  const { err } = await succeeds(argv`train ../run/config.yaml --resume training.max_steps=5`, {
    cwd: `${cwd}/elsewhere`,
  });
  assert.match(err.replaceAll(/\s+/g, " "), /was made with: training\.max_steps /);
  assert.deepEqual([...Deno.readDirSync(`${cwd}/elsewhere`)], []);
  assert.ok((await Deno.stat(`${cwd}/run/checkpoint-5`)).isDirectory);
  assert.match(await read("config.yaml"), /max_steps: 5/);
});
