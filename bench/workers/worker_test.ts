/** Worker processes: the same results as in one process, and processes that die. */
import assert from "node:assert/strict";
import { root } from "../../tests/support.ts";
import { collected, withModel } from "../testing.ts";
import { runWorkers } from "./worker_pool.ts";
import type { Job, JobEvent } from "./run_jobs.ts";

const main = new URL("main.ts", root).pathname;
const command = [Deno.execPath(), "run", "-A", "--no-check", "--quiet", main];

Deno.test("two worker processes give the results of one, each combination once", async () => {
  await withModel(async (folder, model, device) => {
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
  });
});

/**
 * A program that answers as a worker does, and dies when asked about the task "deadly", or after
 * one answer to "fragile".
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
console.log("a crashing library prints this");
jobs.forEach((job, i) => {
  console.log(JSON.stringify({ type: "loading", job: i }));
  for (const { index, samples } of job.missing) {
    if (sets[job.set].label === "deadly") Deno.exit(9);
    for (const sample of samples) {
      const tokens = { completion_tokens: 1, prompt_tokens: 1 };
      const raw = { completion: "c", truncated: false, ...tokens, device: "d" };
      console.log(JSON.stringify({ type: "answer", job: i, index, sample, raw }));
      if (sets[job.set].label === "fragile") Deno.exit(9);
    }
  }
});
console.log(JSON.stringify({ type: "done" }));
Deno.exit(0);
`;

Deno.test("a process that dies loses one combination, and none is answered twice", async () => {
  const path = await Deno.makeTempFile({ suffix: ".js" });
  try {
    await Deno.writeTextFile(path, MORTAL);
    const job = (model: string, label: string) =>
      ({
        model: model === "a" ? MODEL_A : MODEL_B,
        set: { label },
        missing: [{ index: 0, samples: [0] }, { index: 1, samples: [0] }],
      }) as unknown as Job;
    const jobs = ["one", "deadly", "two"].flatMap((label) => [job("a", label), job("b", label)]);
    const answers: string[] = [], failures: string[] = [];
    const listener = (event: JobEvent) => {
      const name = `${event.job.model.name} ${event.job.set.label}`;
      if (event.type === "answer") answers.push(`${name} ${event.index}`);
      if (event.type === "failed") failures.push(`${name}: ${event.error}`);
    };
    const options = {
      devices: ["x"],
      threads: null,
      command: [Deno.execPath(), "run", "--quiet", path],
    };
    await runWorkers(jobs, options, () => listener, () => false);
    assert.deepEqual(failures.sort(), [
      "a deadly: its process ended (exit code 9)",
      "b deadly: its process ended (exit code 9)",
    ]);
    assert.equal(answers.length, 8);
    assert.equal(new Set(answers).size, 8);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("the last combinations are split, so that every device works", async () => {
  const path = await Deno.makeTempFile({ suffix: ".js" });
  try {
    await Deno.writeTextFile(path, MORTAL);
    const asked = async (labels: readonly string[], workers: number) => {
      const missing = Array.from({ length: 7 }, (_, index) => ({ index, samples: [0] }));
      const jobs = labels.map((label) => ({ model: MODEL_A, set: { label }, missing }));
      const answers: string[][] = Array.from({ length: workers }, () => []);
      await runWorkers(
        jobs as unknown as Job[],
        {
          devices: Array.from({ length: workers }, () => "x"),
          threads: null,
          command: [Deno.execPath(), "run", "--quiet", path],
        },
        (worker) => (event) => {
          const { label } = event.job.set;
          if (event.type === "failed") assert.fail(`${label}: ${event.error}`);
          if (event.type === "answer") answers[worker]!.push(`${label}${event.index}`);
        },
        () => false,
      );
      assert.equal(new Set(answers.flat()).size, 7 * labels.length);
      assert.equal(answers.flat().length, 7 * labels.length);
      return answers;
    };
    assert.deepEqual(await asked(["a"], 3), [["a0", "a3", "a6"], ["a1", "a4"], ["a2", "a5"]]);
    const parts = await asked(["a", "b"], 3);
    assert.deepEqual(parts.map((own) => own.length), [4, 7, 3]);
    const five = await asked(["a", "b", "c", "d", "e"], 4);
    assert.deepEqual(five.map((own) => own.length), [9, 9, 9, 8]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a process that dies is replaced as long as each answers something", async () => {
  const path = await Deno.makeTempFile({ suffix: ".js" });
  try {
    await Deno.writeTextFile(path, MORTAL);
    const outcome = async (problems: number) => {
      const missing = Array.from({ length: problems }, (_, index) => ({ index, samples: [0] }));
      const job = { model: MODEL_A, set: { label: "fragile" }, missing } as unknown as Job;
      const answers: number[] = [], failures: string[] = [];
      await runWorkers(
        [job],
        { devices: ["x"], threads: null, command: [Deno.execPath(), "run", "--quiet", path] },
        () => (event) => {
          if (event.type === "answer") answers.push(event.index);
          if (event.type === "failed") failures.push(event.error);
        },
        () => false,
      );
      return { answers, failures };
    };
    assert.deepEqual(await outcome(4), { answers: [0, 1, 2, 3], failures: [] });
    const endless = await outcome(30);
    assert.deepEqual(endless.failures, ["its process ended (exit code 9)"]);
    assert.deepEqual(endless.answers, Array.from({ length: 11 }, (_, i) => i));
  } finally {
    await Deno.remove(path);
  }
});

const MODEL_A = { name: "a" }, MODEL_B = { name: "b" };
