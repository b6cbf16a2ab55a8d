/** Runs the programs of `examples/` with settings that make them short. */
import assert from "node:assert/strict";
import { run as customTask } from "../../examples/custom_task.ts";
import { run as evaluateEndpoint } from "../../examples/evaluate_endpoint.ts";
import { run as gsm8k } from "../../examples/gsm8k.ts";
import { goldenPath } from "../golden.ts";

const TINY = {
  model: { init: { hidden_size: 32, intermediate_size: 48 } },
  sft: { max_steps: 2 },
  eval: { num_examples: 4 },
};
const TINY_TRAINING = {
  max_steps: 2,
  per_device_train_batch_size: 8,
  num_generations: 4,
  logging_steps: 1,
};

/** Calls `work` with a temporary folder, and returns the printed lines. */
async function printed(work: (folder: string) => Promise<void>): Promise<string[]> {
  const folder = await Deno.makeTempDir(), lines: string[] = [];
  const { log } = console;
  console.log = (...values: unknown[]) => lines.push(values.join(" "));
  try {
    await work(folder);
    return lines;
  } finally {
    console.log = log;
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the example of a custom task with a custom reward works", async () => {
  const lines = await printed((folder) =>
    customTask({ ...TINY, training: { ...TINY_TRAINING, output_dir: `${folder}/run` } })
  );
  assert.match(lines[0]!, /^step 1: reward 0?\.?\d/);
  assert.match(lines.at(-1)!, /^accuracy \S+ → \S+; the model: .+\/run$/);
});

Deno.test("the example of the GSM8K recipe with a custom reward and selected problems works", async () => {
  const model = goldenPath("models/stories260k"), data = goldenPath("data/gsm8k");
  const lines = await printed(async (folder) => {
    const summary = await gsm8k(model, {
      training: {
        output_dir: `${folder}/run`,
        max_steps: 2,
        max_completion_length: 8,
        gradient_accumulation_steps: 2,
      },
      eval: { num_examples: 2 },
      logging: { report_to: "none" },
    }, data);
    assert.deepEqual([summary.status, summary.steps, summary.eval_after?.total], [
      "completed",
      2,
      2,
    ]);
    const metrics = await Deno.readTextFile(`${folder}/run/metrics.jsonl`);
    assert.match(metrics, /"rewards\/match_format_approximately\/mean":-?\d/);
    assert.match(metrics, /"rewards\/right_sums\/mean"/);
    assert.match(await Deno.readTextFile(`${folder}/run/report.md`), /right_sums × 0\.5/);
  });
  assert.match(lines[0]!, /^step 1: reward -?\d/);
  assert.match(lines.at(-1)!, /^report: .+\/run\/report\.md$/);
});

Deno.test("the example that evaluates a server works, and asks it only once", async () => {
  let asked = 0, refuses = false;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    if (request.method === "GET") return Response.json({ data: [{ id: "m" }] });
    asked++;
    if (refuses) return Response.json({ error: { message: "no chat template" } }, { status: 400 });
    const message = { role: "assistant", content: "<answer>4</answer>" };
    return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] });
  });
  try {
    const lines = await printed(async (outputDir) => {
      const url = `http://127.0.0.1:${server.addr.port}/v1`;
      const { result } = await evaluateEndpoint(url, "m", { numExamples: 3, outputDir });
      assert.equal(Object.keys(result.tasks).length, 3);
      assert.equal(asked, 9);
      await evaluateEndpoint(url, "m", { numExamples: 3, outputDir });
      assert.equal(asked, 9);
    });
    assert.equal(lines.length, 6);
    refuses = true;
    const errors: string[] = [], error = console.error;
    console.error = (text: string) => void errors.push(text);
    try {
      const nothing = await printed(async (outputDir) => {
        const url = `http://127.0.0.1:${server.addr.port}/v1`;
        const { unanswered } = await evaluateEndpoint(url, "m", { numExamples: 2, outputDir });
        assert.equal(unanswered, 6);
      });
      assert.deepEqual(nothing, []);
    } finally {
      console.error = error;
    }
    assert.match(errors[0]!, /^chain_sum: 2 requests failed, such as: .*no chat template/);
    assert.match(lines[0]!, /^chain_sum: \d+\.\d % \[\d+\.\d, \d+\.\d\]$/);
  } finally {
    await server.shutdown();
  }
});
