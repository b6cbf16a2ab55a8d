import assert from "node:assert/strict";
import { Interrupted } from "../../core/errors.ts";
import { type Job, type JobEvent, runJobs } from "./run_jobs.ts";
import type { Answerer } from "../answerer.ts";
import type { ModelRequest } from "../plan/model_request.ts";
import type { TestSet } from "../plan/test_set.ts";

const raw = {
  completion: "",
  truncated: false,
  completion_tokens: 0,
  prompt_tokens: 0,
  device: "d",
};
const missing = [{ index: 0, samples: [0, 1] }, { index: 1, samples: [1] }];

function setUp(models: string[], labels: string[]) {
  const requests = models.map((name) => {
    const where = {
      kind: "local" as const,
      path: name,
      weights: name.replace(/^adapter \S+ of /, ""),
    };
    return { name, where } as ModelRequest;
  });
  const sets = labels.map((label) => ({ label }) as TestSet);
  const jobs: Job[] = sets.flatMap((set) =>
    requests.map((model) => ({ model, set, key: "", missing }))
  );
  const loaded: string[] = [],
    answers: string[] = [],
    failures: string[] = [],
    closed: string[] = [],
    asked: string[] = [];
  let held: string | null = null;
  const close = () => {
    if (held !== null) closed.push(held);
    held = null;
  };
  const open = (model: ModelRequest): Promise<Answerer> => {
    close();
    loaded.push(model.name);
    if (model.name === "broken") return Promise.reject(new Error("damaged weights"));
    held = model.name;
    return Promise.resolve({
      async answer(questions, onAnswer, shouldStop) {
        asked.push([...new Set(questions.map(({ set }) => set.label))].join());
        for (const question of questions) {
          await Promise.resolve();
          if (shouldStop()) throw new Interrupted();
          if (question.set.label === "bad") throw new Error("the device is lost");
          for (const sample of question.samples) onAnswer(question, sample, raw);
        }
      },
    });
  };
  const listener = (event: JobEvent) => {
    const name = `${event.job.model.name} ${event.job.set.label}`;
    if (event.type === "answer") answers.push(`${name} ${event.index}.${event.sample}`);
    if (event.type === "failed") failures.push(`${name}: ${event.error}`);
  };
  return { jobs, models: { open, close }, listener, loaded, answers, failures, closed, asked };
}

Deno.test("each model is loaded once; a failing task or model loses only its tasks", async () => {
  const s = setUp(["a", "broken", "b"], ["one", "bad", "two"]);
  await runJobs(s.jobs, s.models, s.listener, () => false);
  assert.deepEqual(s.loaded, ["a", "broken", "b"]);
  assert.deepEqual(s.closed, ["a", "b"]);
  assert.deepEqual(s.failures, [
    "a bad: the device is lost",
    "broken one: damaged weights",
    "broken bad: damaged weights",
    "broken two: damaged weights",
    "b bad: the device is lost",
  ]);
  assert.equal(s.answers.length, 12);
  assert.equal(
    new Set(s.answers).size,
    12,
    "what was answered before the crash is not asked again",
  );
});

Deno.test("all combinations of a model are asked together, or each one alone", async () => {
  for (const [alone, asked] of [[false, ["one,two"]], [true, ["one", "two"]]] as const) {
    const s = setUp(["a"], ["one", "two"]);
    await runJobs(s.jobs, s.models, s.listener, () => false, { alone });
    assert.deepEqual([s.loaded, s.asked], [["a"], asked]);
  }
});

Deno.test("models with the same weights follow each other, in the order of the first", async () => {
  const s = setUp(["adapter 1 of x", "y", "adapter 2 of x", "x", "adapter 3 of y"], ["one"]);
  await runJobs(s.jobs, s.models, s.listener, () => false);
  assert.deepEqual(s.loaded, ["adapter 1 of x", "adapter 2 of x", "x", "y", "adapter 3 of y"]);
});

Deno.test("a stop ends the work at once and closes the model", async () => {
  const s = setUp(["a", "b"], ["one"]);
  await assert.rejects(
    runJobs(s.jobs, s.models, s.listener, () => s.answers.length >= 2),
    Interrupted,
  );
  assert.deepEqual(s.answers, ["a one 0.0", "a one 0.1"]);
  assert.deepEqual(s.closed, ["a"]);
});
