/**
 * Runs that are stopped by a signal or killed at a bad moment, as real processes. When they are
 * resumed, they have the same metrics and the same bytes of weights as a run without interruption.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import {
  assertClean,
  assertSameRun,
  namesIn,
  rgxProgram,
  root,
  Session,
  startRgx,
  stepsIn,
  succeeds,
  tinyConfig,
} from "../support.ts";
import { delay } from "./waiting.ts";

/** Every phase is long enough to be interrupted, and has several checkpoints. */
const LONG = argv`sft.max_steps=40 training.max_steps=40 training.save_steps=4
  training.per_device_train_batch_size=64 training.max_completion_length=32`;

const start = (args: readonly string[], options: { safe?: boolean } = {}) =>
  startRgx(["train", ...args], options);

test.inFolder("under nohup a run does not stop when its terminal is closed", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const child = new Deno.Command("nohup", {
    args: rgxProgram(["train", config, "--output-dir", run]),
    cwd: root,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const session = new Session(child);
  await session.reaches("a step", () => stepsIn(run, "sft") >= 2);
  assert.equal((await session.ends("SIGHUP")).code, 0);
  assert.equal(JSON.parse(await Deno.readTextFile(`${run}/run.json`)).status, "completed");
});

test.inFolder("runs of the safe and the fast variant resume each other to the same bits", async (folder) => {
  const config = await tinyConfig(folder);
  const steps = ["training.max_steps=12", "training.save_steps=1000"];
  await succeeds(["train", config, ...steps, "--output-dir", `${folder}/whole`]);
  for (const safe of [true, false]) {
    const run = `${folder}/${safe}`;
    const args = [config, ...steps, "--output-dir", run, "--resume"];
    const first = start(args, { safe });
    await first.reaches("step 3", () => stepsIn(run, "train") >= 3);
    assert.equal((await first.ends("SIGTERM")).code, 75);
    const second = await start(args, { safe: !safe }).end;
    assert.equal(second.code, 0, second.err);
    await assertSameRun(run, `${folder}/whole`);
  }
});

test.inFolder("a run that stops in a step or an evaluation does not wait for a slow reward", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  await Deno.writeTextFile(
    `${folder}/slow.js`,
    `export default async ({ completion }, { seconds }) => {
         await new Promise((done) => setTimeout(done, seconds * 1000));
         return completion.length;
       }`,
  );
  const args = (folder: string, seconds: number, problems = 0) =>
    argv`${config} ${`rewards=[{path: ${run}/../slow.js, timeout: 900, seconds: ${seconds}}]`}
        eval.num_examples=${problems} --output-dir ${folder} --resume`;
  await succeeds(["train", ...args(`${folder}/whole`, 0)]);
  for (
    const [signal, problems, path, text] of [
      ["SIGINT", 0, run, "GRPO: 4 steps"],
      ["SIGHUP", 4, `${folder}/evaluated`, "Before: 4 problems"],
    ] as const
  ) {
    const session = start(args(path, 200, problems));
    await session.reaches(text, () => session.err.includes(text));
    await delay(1000);
    const begin = performance.now(), stopped = await session.ends(signal);
    assert.ok(performance.now() - begin < 100_000, "it waited for the reward");
    assert.equal(stopped.code, 75, stopped.err);
    assertClean(stopped);
    assert.match(stopped.err, new RegExp(`${signal}: finishing the work under way, then saving`));
    assert.match(stopped.err, /Continue with: rgx train \S+config\.yaml --resume/);
  }
  await succeeds(["train", ...args(run, 0)]);
  await assertSameRun(run, `${folder}/whole`);
});

test.inFolder("a second signal ends the process at once, with nothing new saved", async (folder) => {
  const config = await tinyConfig(folder);
  // The checkpoint takes some time to write, so the second signal arrives in time.
  const large = argv`sft.max_steps=0 eval.num_examples=0 training.per_device_train_batch_size=4
      training.save_steps=1000 model.init.hidden_size=768 model.init.intermediate_size=3072
      training.max_steps=1000`;
  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    const run = `${folder}/${signal}`;
    const session = start([config, ...large, "--output-dir", run]);
    await session.reaches("a step", () => stepsIn(run, "train") > 0);
    session.child.kill(signal);
    await session.reaches("the answer", () => session.err.includes("finishing the work"));
    const result = await session.ends(signal);
    assert.equal(result.code, code, result.err);
    assert.match(result.err, new RegExp(`${signal} again: ending at once`));
    assertClean(result);
    assert.deepEqual(namesIn(run).filter((name) => /^checkpoint-\d+$/.test(name)), []);
    // A partial checkpoint does not prevent a resume.
    await succeeds(["train", config, "--output-dir", run, "--resume"]);
  }
});

test.inFolder("kill -9 at any moment changes no bit of the result", async (folder) => {
  const config = await tinyConfig(folder);
  await succeeds(["train", config, ...LONG, "--output-dir", `${folder}/whole`]);

  const run = `${folder}/run`, warm = `${run}/warm-start`;
  const unfinished = (path: string, after: number) =>
    namesIn(path).some((name) =>
      Number(/^checkpoint-(\d+)\.tmp-\d+$/.exec(name)?.[1] ?? -1) > after
    );
  /** Moments in the order of a run. Each session is killed at the next one. */
  const moments: [what: string, isNow: () => boolean, pause?: 0][] = [
    ["while it starts", () => namesIn(run).includes(".rgx.lock")],
    ["in the warm start", () => stepsIn(run, "sft") >= 7],
    ["while it writes a checkpoint of the warm start", () => unfinished(warm, 8), 0],
    ["in the first evaluation", () => namesIn(warm).includes("checkpoint-40")],
    [
      "in a generation",
      () => namesIn(`${run}/completions`).includes("completions_00006.parquet"),
    ],
    ["while it writes a checkpoint", () => unfinished(run, 8), 0],
    ["right after a checkpoint", () => namesIn(run).includes("checkpoint-16")],
    [
      "while it writes a table",
      () => namesIn(`${run}/completions`).some((name) => /_000(2\d|3\d)\.parquet\.tmp/.test(name)),
      0,
    ],
    ["while it writes a late checkpoint", () => unfinished(run, 28), 0],
    ["in the last evaluation", () => namesIn(run).includes("checkpoint-40")],
    ["while it writes the final model", () => namesIn(run).includes("config.json"), 0],
  ];
  for (const [what, isNow, pause] of moments) {
    const session = start([config, ...LONG, "--output-dir", run, "--resume"]);
    await session.reaches(what, isNow, pause);
    const { signal } = await session.ends("SIGKILL");
    assert.equal(signal, "SIGKILL", what);
  }
  await succeeds(["train", config, ...LONG, "--output-dir", run, "--resume"]);
  await assertSameRun(run, `${folder}/whole`);
  const left = [...namesIn(run), ...namesIn(warm), ...namesIn(`${run}/completions`)];
  assert.deepEqual(left.filter((name) => /\.(tmp|old)-|\.rgx\.lock/.test(name)), []);
  assert.equal(namesIn(`${run}/completions`).length, 40);
});
