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
  type Result,
  rgx,
  root,
  spawnRgx,
  tinyConfig,
} from "../support.ts";
import { V8_FLAGS } from "../../core/program_command.ts";

/** Every phase is long enough to be interrupted, and has several checkpoints. */
const LONG = argv`sft.max_steps=40 training.max_steps=40 training.save_steps=4
  training.per_device_train_batch_size=64 training.max_completion_length=32`;

/** Collects what a process writes. */
class Output {
  text = "";
  readonly done: Promise<void>;
  constructor(stream: ReadableStream<Uint8Array>) {
    this.done = this.#read(stream);
  }
  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.text += decoder.decode(chunk, { stream: true });
  }
}

interface Session {
  child: Deno.ChildProcess;
  out: Output;
  err: Output;
  ended: boolean;
}

function start(args: readonly string[], options: { safe?: boolean } = {}): Session {
  const child = spawnRgx(["train", ...args], options);
  const session = {
    child,
    out: new Output(child.stdout),
    err: new Output(child.stderr),
    ended: false,
  };
  child.status.then(() => session.ended = true);
  return session;
}

async function end({ child, out, err }: Session): Promise<Result & { signal: string | null }> {
  const { code, signal } = await child.status;
  await Promise.all([out.done, err.done]);
  return { code, signal, out: out.text, err: err.text };
}

/** Milliseconds between two looks; 0 for what may last only a millisecond. */
const PAUSE = 3;

async function moment(
  session: Session,
  what: string,
  isNow: () => boolean,
  pause = PAUSE,
): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    if (isNow()) return;
    if (pause === 0) {
      for (const until = performance.now() + 5; performance.now() < until;) if (isNow()) return;
    }
    if (session.ended || performance.now() > deadline) {
      await end(session);
      assert.fail(`the moment never came: ${what}\n${session.err.text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function names(folder: string): string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name);
  } catch {
    return [];
  }
}

function countLines(path: string, split: string): number {
  try {
    return Deno.readTextFileSync(path).split("\n")
      .filter((line) => line.includes(`"split":"${split}"`)).length;
  } catch {
    return 0;
  }
}

test.inFolder("under nohup a run does not stop when its terminal is closed", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const command = [Deno.execPath(), "run", "-A", "--no-check", V8_FLAGS, "main.ts"];
  const child = new Deno.Command("nohup", {
    args: [...command, "train", config, "--output-dir", run],
    cwd: root,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const ended = child.status.then(() => true);
  while (countLines(`${run}/metrics.jsonl`, "sft") < 2) {
    const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), 5));
    assert.ok(!(await Promise.race([ended, pause])), "it ended too early");
  }
  child.kill("SIGHUP");
  assert.equal((await child.status).code, 0);
  assert.equal(JSON.parse(await Deno.readTextFile(`${run}/run.json`)).status, "completed");
});

test.inFolder("runs of the safe and the fast variant resume each other to the same bits", async (folder) => {
  const config = await tinyConfig(folder);
  const steps = ["training.max_steps=12", "training.save_steps=1000"];
  const whole = await rgx(["train", config, ...steps, "--output-dir", `${folder}/whole`]);
  assert.equal(whole.code, 0, whole.err);
  for (const safe of [true, false]) {
    const run = `${folder}/${safe}`;
    const args = [config, ...steps, "--output-dir", run, "--resume"];
    const first = start(args, { safe });
    await moment(first, "step 3", () => countLines(`${run}/metrics.jsonl`, "train") >= 3);
    first.child.kill("SIGTERM");
    assert.equal((await end(first)).code, 75);
    const second = await end(start(args, { safe: !safe }));
    assert.equal(second.code, 0, second.err);
    await assertSameRun(run, `${folder}/whole`);
  }
});

test.inFolder("a run that stops does not wait for a slow reward, and repeats the step later", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  await Deno.writeTextFile(
    `${folder}/slow.js`,
    `export default async ({ completion }, { seconds }) => {
         await new Promise((done) => setTimeout(done, seconds * 1000));
         return completion.length;
       }`,
  );
  const args = (folder: string, seconds: number) =>
    argv`${config} ${`rewards=[{path: ${run}/../slow.js, timeout: 600, seconds: ${seconds}}]`}
        eval.num_examples=0 --output-dir ${folder} --resume`;
  const whole = await rgx(["train", ...args(`${folder}/whole`, 0)]);
  assert.equal(whole.code, 0, whole.err);
  const session = start(args(run, 600));
  await moment(session, "a step", () => session.err.text.includes("GRPO: 4 steps"));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  session.child.kill("SIGINT");
  const stopped = await end(session);
  assert.equal(stopped.code, 75, stopped.err);
  assertClean(stopped);
  assert.match(stopped.err, /SIGINT: finishing the work under way, then saving/);
  assert.match(stopped.err, /Continue with: rgx train \S+config\.yaml --resume/);
  const last = await rgx(["train", ...args(run, 0)]);
  assert.equal(last.code, 0, last.err);
  await assertSameRun(run, `${folder}/whole`);
});

test.inFolder("a stop in the held-out evaluation does not wait for a slow reward", async (folder) => {
  const config = await tinyConfig(folder);
  await Deno.writeTextFile(
    `${folder}/slow.js`,
    "export default () => new Promise((done) => setTimeout(done, 40_000, 1));",
  );
  const args = argv`${config} ${`rewards=[{path: ${folder}/slow.js, timeout: 900}]`}
      eval.num_examples=4 sft.max_steps=0 --output-dir ${folder}/run`;
  const session = start(args);
  await moment(session, "the evaluation", () => session.err.text.includes("Before: 4 problems"));
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const begin = performance.now();
  session.child.kill("SIGHUP");
  const stopped = await end(session);
  assert.equal(stopped.code, 75, stopped.err);
  assert.ok(performance.now() - begin < 20_000, "it waited for the reward");
  assertClean(stopped);
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
    await moment(session, "a step", () => countLines(`${run}/metrics.jsonl`, "train") > 0);
    session.child.kill(signal);
    await moment(session, "the answer", () => session.err.text.includes("finishing the work"));
    session.child.kill(signal);
    const result = await end(session);
    assert.equal(result.code, code, result.err);
    assert.match(result.err, new RegExp(`${signal} again: ending at once`));
    assertClean(result);
    assert.deepEqual(names(run).filter((name) => /^checkpoint-\d+$/.test(name)), []);
    // A partial checkpoint does not prevent a resume.
    const again = await rgx(["train", config, "--output-dir", run, "--resume"]);
    assert.equal(again.code, 0, again.err);
  }
});

test.inFolder("kill -9 at any moment changes no bit of the result", async (folder) => {
  const config = await tinyConfig(folder);
  const whole = await rgx(["train", config, ...LONG, "--output-dir", `${folder}/whole`]);
  assert.equal(whole.code, 0, whole.err);

  const run = `${folder}/run`, warm = `${run}/warm-start`, metrics = `${run}/metrics.jsonl`;
  const unfinished = (path: string, after: number) =>
    names(path).some((name) => Number(/^checkpoint-(\d+)\.tmp-\d+$/.exec(name)?.[1] ?? -1) > after);
  /** Moments in the order of a run. Each session is killed at the next one. */
  const moments: [what: string, isNow: () => boolean, pause?: 0][] = [
    ["while it starts", () => names(run).includes(".rgx.lock")],
    ["in the warm start", () => countLines(metrics, "sft") >= 7],
    ["while it writes a checkpoint of the warm start", () => unfinished(warm, 8), 0],
    ["in the first evaluation", () => names(warm).includes("checkpoint-40")],
    [
      "in a generation",
      () => names(`${run}/completions`).includes("completions_00006.parquet"),
    ],
    ["while it writes a checkpoint", () => unfinished(run, 8), 0],
    ["right after a checkpoint", () => names(run).includes("checkpoint-16")],
    [
      "while it writes a table",
      () => names(`${run}/completions`).some((name) => /_000(2\d|3\d)\.parquet\.tmp/.test(name)),
      0,
    ],
    ["while it writes a late checkpoint", () => unfinished(run, 28), 0],
    ["in the last evaluation", () => names(run).includes("checkpoint-40")],
    ["while it writes the final model", () => names(run).includes("config.json"), 0],
  ];
  for (const [what, isNow, pause] of moments) {
    const session = start([config, ...LONG, "--output-dir", run, "--resume"]);
    await moment(session, what, isNow, pause);
    session.child.kill("SIGKILL");
    const { signal } = await end(session);
    assert.equal(signal, "SIGKILL", what);
  }
  const last = await rgx(["train", config, ...LONG, "--output-dir", run, "--resume"]);
  assert.equal(last.code, 0, last.err);
  await assertSameRun(run, `${folder}/whole`);
  const left = [...names(run), ...names(warm), ...names(`${run}/completions`)];
  assert.deepEqual(left.filter((name) => /\.(tmp|old)-|\.rgx\.lock/.test(name)), []);
  assert.equal(names(`${run}/completions`).length, 40);
});
