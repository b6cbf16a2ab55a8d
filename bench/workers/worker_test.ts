/** Worker processes: the same results as in one process, and processes that die. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { root } from "../../tests/support.ts";
import { collected, modelTest } from "../testing.ts";
import { runWorkers } from "./worker_pool.ts";
import type { Job, JobEvent } from "./run_jobs.ts";

const main = new URL("main.ts", root).pathname;
const command = [Deno.execPath(), "run", "-A", "--no-check", "--quiet", main];

modelTest(
  "two worker processes give the results of one, each combination once",
  async (folder, model, device) => {
    const common = {
      models: [model],
      tasks: ["chain_sum", "spell_backward", "basic_arithmetic"],
      sampling: { temperature: 1, max_new_tokens: 6 },
    };
    const alone = await collected({ ...common, device, outputDir: `${folder}/alone` });
    const workers = { devices: ["reference", "reference"], threads: 1, command };
    const both = await collected({ ...common, workers, outputDir: `${folder}/both` });
    assert.equal(both.exitCode, 0);
    assert.equal(both.evaluated, 15);
    for (const task of common.tasks) {
      assert.deepEqual(
        both.result.tasks[task]!.models[model]!.examples,
        alone.result.tasks[task]!.models[model]!.examples,
      );
    }
    const seen = new Map<number, number>();
    for (const event of both.events) {
      if (event.type === "progress") seen.set(event.worker, event.total);
    }
    // Each worker gets one whole combination and a part of the third.
    assert.deepEqual([...seen].sort(), [[0, 8], [1, 7]]);
  },
);

/**
 * A program that answers as a worker does, and dies when asked about the task "deadly", or
 * the first time that it is asked about "unlucky".
 */
const MORTAL = `
const line = await new Promise(async (resolve) => {
  let text = "";
  for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes("\\n")) return resolve(text.split("\\n")[0]);
  }
});
const { sets, jobs } = JSON.parse(line);
Deno.writeTextFileSync(Deno.args[0] + ".starts", Deno.args.includes("--alone") ? "alone " : "together ",
  { append: true });
console.log("a crashing library prints this");
const firstTime = () => {
  try {
    Deno.mkdirSync(Deno.args[0]);
    return true;
  } catch {
    return false;
  }
};
jobs.forEach((job, i) => {
  console.log(JSON.stringify({ type: "loading", job: i }));
  for (const { index, samples } of job.missing) {
    if (sets[job.set].label === "deadly") Deno.exit(9);
    if (sets[job.set].label === "unlucky" && firstTime()) Deno.exit(9);
    for (const sample of samples) {
      const tokens = { completion_tokens: 1, prompt_tokens: 1 };
      const raw = { completion: "c", truncated: false, ...tokens, device: "d" };
      console.log(JSON.stringify({ type: "answer", job: i, index, sample, raw }));
    }
  }
});
console.log(JSON.stringify({ type: "done" }));
Deno.exit(0);
`;

const A = { name: "a" }, B = { name: "b" };

function job(model: typeof A, label: string, problems: number): Job {
  const missing = Array.from({ length: problems }, (_, index) => ({ index, samples: [0] }));
  return { model, set: { label }, missing } as unknown as Job;
}

/** Runs jobs on processes of {@link MORTAL}: what each of them answers, and what fails. */
async function onMortals(jobs: readonly Job[], workers = 1) {
  const answers = Array.from({ length: workers }, (): string[] => []), failures: string[] = [];
  let starts = "";
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/mortal.js`, MORTAL);
    const command = [
      Deno.execPath(),
      "run",
      "-A",
      "--quiet",
      `${folder}/mortal.js`,
      `${folder}/died`,
    ];
    const options = { devices: answers.map(() => "x"), threads: null, command };
    const listener = (worker: number) => (event: JobEvent) => {
      const name = `${event.job.model.name} ${event.job.set.label}`;
      if (event.type === "answer") answers[worker]!.push(`${name} ${event.index}`);
      if (event.type === "failed") failures.push(`${name}: ${event.error}`);
    };
    await runWorkers(jobs, options, listener, () => false);
    starts = await Deno.readTextFile(`${folder}/died.starts`);
  });
  assert.equal(new Set(answers.flat()).size, answers.flat().length, "none is answered twice");
  return { answers, failures, starts };
}

Deno.test("a process that dies loses one combination, and another asks all others once", async () => {
  const labels = ["one", "deadly", "two", "three"];
  const jobs = labels.flatMap((label) => [job(A, label, 2), job(B, label, 2)]);
  const { answers, failures, starts } = await onMortals(jobs);
  assert.deepEqual(failures.sort(), [
    "a deadly: its process ended (exit code 9)",
    "b deadly: its process ended (exit code 9)",
  ]);
  assert.equal(answers[0]!.length, 12);
  assert.equal(starts, "together alone alone alone ", "a start for each death");
  const once = await onMortals([job(A, "unlucky", 1)]);
  assert.deepEqual([once.answers, once.failures], [[["a unlucky 0"]], []]);
});

Deno.test("the last combinations are split, so that every device works", async () => {
  const counts = async (labels: readonly string[], workers: number) => {
    const { answers, failures } = await onMortals(labels.map((one) => job(A, one, 7)), workers);
    assert.deepEqual([answers.flat().length, failures], [7 * labels.length, []]);
    return answers.map(({ length }) => length);
  };
  const { answers } = await onMortals([job(A, "x", 7)], 3);
  assert.deepEqual(answers, [["a x 0", "a x 3", "a x 6"], ["a x 1", "a x 4"], ["a x 2", "a x 5"]]);
  assert.deepEqual(await counts(["a", "b"], 3), [4, 7, 3]);
  assert.deepEqual(await counts(["a", "b", "c", "d", "e"], 4), [9, 9, 9, 8]);
});
