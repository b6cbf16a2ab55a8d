import assert from "node:assert/strict";
import { parquetWriteBuffer } from "hyparquet-writer";
import { reportHtml, writeReport } from "./write_report.ts";
import { reportMarkdown } from "./markdown.ts";
import { readRunRecord } from "./run_record.ts";
import { reportSections } from "./sections.ts";

const share = (correct: number, total: number) => ({
  accuracy: correct / total,
  correct,
  total,
  ci95: [0.1, 0.2],
  format_rate: 0.5,
  greedy: { accuracy: 0.25, correct: total / 4, total, ci95: [0.2, 0.3] },
  tasks: { leg_counting: { accuracy: 0.5, correct: 1, total: 2, ci95: [0.1, 0.9] } },
});

/** A run's folder as a trainer leaves it; `change` replaces files (null: left out). */
async function withRun(
  test: (folder: string) => Promise<void>,
  change: Record<string, string | null> = {},
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const steps = Array.from({ length: 40 }, (_, i) => ({
    step: i + 1,
    split: "train",
    reward: i / 40,
    "rewards/correctness/mean": i / 40,
    "time/generate": 0.5,
    "memory/generate_bytes": 2e6 + i,
    "memory/generate_host_bytes": 3e6,
    "memory/host_bytes": 4e6,
    kl: null,
  }));
  const log = (line: object) => JSON.stringify({ time: "t", ...line });
  const files: Record<string, string | null> = {
    "metrics.jsonl": steps.map((line) => JSON.stringify(line) + "\n").join(""),
    "config.yaml": "model: {model_name_or_path: some/model}\nlora: {r: 8, lora_alpha: 16}\n" +
      "logging: {run_name: my <run>}\ndata: {task_name: leg_counting}\n",
    "run.json": JSON.stringify({
      status: "completed",
      steps: 40,
      seconds: 3700,
      seed: 7,
      device: "wasm",
      threads: 2,
      eval_before: share(40, 200),
      eval_after: share(120, 200),
      peak_memory_bytes: 123e6,
      seconds_by_phase: { generate: 20, eval: 7.5, checkpoint: 0 },
    }),
    "run.log": [
      log({ event: "warning", message: "a | b" }),
      log({ event: "warning", message: "a | b" }),
      log({ event: "advice", step: 9, text: "All cut off.", tries: ["x.y=1"] }),
      "{damaged",
    ].join("\n"),
    ...change,
  };
  try {
    for (const [name, text] of Object.entries(files)) {
      if (text !== null) await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    await Deno.mkdir(`${folder}/completions`);
    for (const step of [1, 40]) {
      const texts = ["right", "wrong", "wrong", "```\n</pre><script>", "e", "f"];
      const table = parquetWriteBuffer({
        columnData: [
          { name: "step", data: texts.map(() => step), type: "INT32" },
          { name: "prompt", data: texts.map((_, i) => i < 5 ? "q <1>" : "q 2"), type: "STRING" },
          { name: "completion", data: texts, type: "STRING" },
          { name: "correctness", data: [1, 0, 0, null, 0, 0], type: "DOUBLE" },
          { name: "advantage", data: [1, -1, -1, -0.5, 0.25, 0], type: "DOUBLE" },
        ],
      });
      const path = `${folder}/completions/completions_${String(step).padStart(5, "0")}.parquet`;
      await Deno.writeFile(path, new Uint8Array(table));
    }
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a report states the result of a run, with the interval of the difference", () =>
  withRun(async (folder) => {
    const { verdict, evaluation, course, remarks, samples, cost, phases } = reportSections(
      await readRunRecord(folder),
    );
    assert.match(
      verdict,
      /20\.0 → 60\.0 % \(\+40\.0 points, 95 % interval \+30\.\d to \+48\.\d, 200/,
    );
    assert.match(verdict, /The model got better\.$/);
    assert.deepEqual(evaluation!.rows.map((row) => row[0]), [
      "held-out problems",
      "accuracy, sampled",
      "  leg_counting",
      "accuracy, greedy",
      "answer format, sampled",
    ]);
    assert.deepEqual(evaluation!.rows.at(-1)!.slice(1), [
      "50.0",
      "43.1 – 56.9",
      "50.0",
      "43.1 – 56.9",
      "200",
    ]);
    assert.deepEqual(course!.rows[0], [
      "step",
      "1",
      "5",
      "10",
      "14",
      "18",
      "23",
      "27",
      "31",
      "36",
      "40",
    ]);
    assert.deepEqual(course!.rows.map((row) => row[0]), [
      "step",
      "reward",
      "rewards/correctness/mean",
    ]);
    assert.deepEqual(remarks.map(({ kind, step }) => [kind, step]), [["warning", null], [
      "advice",
      9,
    ]]);
    assert.deepEqual(samples.map(({ step }) => step), [1, 40]);
    assert.deepEqual(samples[0]!.completions.map(({ text }) => text.slice(0, 5)), [
      "right",
      "e",
      "```\n<",
      "wrong",
    ]);
    assert.deepEqual(cost.rows.slice(1), [
      ["time", "1 h 1 min"],
      ["tensors, at most", "123 MB"],
      ["memory of the process", "4.00 MB"],
    ]);
    assert.deepEqual(phases!.rows, [
      ["phase", "time", "tensors", "process"],
      ["generate", "20 s", "2.00 MB", "3.00 MB"],
      ["eval", "7.5 s", "", ""],
    ]);
  }));

Deno.test("a report does not call a gain within chance a gain", async () => {
  const run = (before: unknown, after: unknown) =>
    JSON.stringify({ status: "stopped", steps: 4, eval_before: before, eval_after: after });
  await withRun(async (folder) => {
    const { verdict } = reportSections(await readRunRecord(folder));
    assert.match(verdict, /within chance.*was stopped after step 4\.$/);
  }, { "run.json": run(share(100, 200), share(104, 200)) });
  await withRun(async (folder) => {
    const { verdict } = reportSections(await readRunRecord(folder));
    assert.match(verdict, /The model got worse\. The answer format rose from 50\.0 to 90\.0 %/);
  }, { "run.json": run(share(150, 200), { ...share(50, 200), format_rate: 0.9 }) });
  await withRun(async (folder) => {
    const { verdict, evaluation } = reportSections(await readRunRecord(folder));
    assert.match(verdict, /^Nothing was held out/);
    assert.equal(evaluation, null);
  }, { "run.json": run(null, null) });
});

Deno.test("texts of a model cannot break the Markdown or the HTML", () =>
  withRun(async (folder) => {
    const { markdown, html } = await writeReport(`${folder}/`);
    assert.deepEqual([markdown, html], [`${folder}/report.md`, `${folder}/report.html`]);
    const md = await Deno.readTextFile(markdown), page = await Deno.readTextFile(html);
    assert.match(md, /^# my <run>\n/);
    assert.ok(md.includes("````\n```\n</pre><script>\n````"));
    assert.ok(md.includes("- a | b"));
    assert.match(md, /Step 9: All cut off\. Try: `x\.y=1`\./);
    assert.ok(page.includes("my &lt;run&gt;") && !page.includes("my <run>"));
    assert.ok(page.includes("&lt;/pre&gt;&lt;script&gt;") && !page.includes("</pre><script>"));
    const widths = /innerWidth >= 1120 \? \{"width":1120.* : innerWidth >= 900 \? \{"width":900/;
    assert.match(page, widths);
    assert.match(page, /innerWidth >= 720 \? \{"width":720.* : \{"width":390/);
  }));

Deno.test("a report needs only the metrics", async () => {
  const bare = { "config.yaml": null, "run.json": "{cut", "run.log": null };
  await withRun(async (folder) => {
    await Deno.remove(`${folder}/completions`, { recursive: true });
    const record = await readRunRecord(folder);
    assert.match(reportMarkdown(record), /^# .+\n\nNothing was held out/);
    assert.ok(reportHtml(record).includes("Plotly.newPlot"));
  }, bare);
  await withRun(
    (folder) => assert.rejects(readRunRecord(folder), /holds no metrics\.jsonl/),
    { "metrics.jsonl": null },
  );
  await withRun((folder) =>
    assert.rejects(readRunRecord(`${folder}/metrics.jsonl`), /no report: .+ is no folder of a run/)
  );
});

Deno.test("a report of only supervised steps leaves the other settings out", async () => {
  const steps = [3, 2, 1].map((loss, i) => ({
    step: i + 1,
    split: "sft",
    loss,
    num_tokens: 100 * (i + 1),
    "memory/peak_bytes": 5e6,
  }));
  const config = "data: {task_name: leg_counting}\nrewards: [{name: correctness, weight: 1}]\n" +
    "sft: {max_steps: 3, per_device_train_batch_size: 64, learning_rate: 0.002}\n" +
    "training: {loss_type: dapo, beta: 0.2, learning_rate: 0.0001}\n";
  const files = {
    "metrics.jsonl": steps.map((line) => JSON.stringify(line) + "\n").join(""),
    "config.yaml": config,
  };
  const reportOf = async (change: Record<string, string>) => {
    let text = "";
    await withRun(async (folder) => {
      text = reportMarkdown(await readRunRecord(folder));
    }, change);
    return text.slice(0, text.indexOf("## Settings"));
  };
  const alone = await reportOf(files);
  assert.match(alone, /\| warm start +\| 3 supervised steps of 64, learning rate 0\.002 +\|/);
  assert.match(alone, /\| sft\/loss +\| +3 \| +2 \| +1 \|/);
  assert.match(alone, /\| tokens +\| 300 +\|/);
  assert.doesNotMatch(alone.slice(0, alone.indexOf("## Warm start")), /dapo|correctness|0\.0001/);
  const both = await reportOf({
    ...files,
    "metrics.jsonl": files["metrics.jsonl"] + '{"step":1,"split":"train","reward":0.5}\n',
  });
  assert.match(both, /warm start[^]*dapo, beta 0\.2[^]*\| reward +\| +0\.5 \|/);
});

Deno.test("the maximum memory is that of all sessions, not of the last one", async () => {
  await withRun(async (folder) => {
    const text = reportMarkdown(await readRunRecord(folder));
    assert.match(text, /\| tensors, at most +\| 900 MB +\|/);
  }, {
    "metrics.jsonl": '{"step":1,"split":"train","reward":0,"memory/peak_bytes":900000000}\n',
  });
});

Deno.test("a report of an unfinished run states what was measured so far", async () => {
  const verdictOf = async (change: Record<string, string | null>) => {
    let text = "";
    await withRun(async (folder) => {
      const sections = reportSections(await readRunRecord(folder));
      text = sections.verdict;
      assert.equal(sections.evaluation === null, !text.includes("→"));
    }, change);
    return text;
  };
  const line = (fields: object) => JSON.stringify(fields) + "\n";
  const evaluated = (step: number, correct: number) =>
    line({
      step,
      split: "eval",
      eval_accuracy: correct / 50,
      eval_correct: 4 * correct, // of four completions each
      eval_total: 50,
      eval_ci95: [0.1, 0.3],
    });
  const trained = line({ step: 7, split: "train", reward: 1 });
  const running = '{"status":"running"}';
  assert.equal(
    await verdictOf({ "run.json": running, "metrics.jsonl": evaluated(0, 10) + trained }),
    "Held-out accuracy 20.0 % (95 % interval 10.0 – 30.0, 50 problems) at the beginning, " +
      "not measured since. The run has not ended; its last step is 7.",
  );
  assert.match(
    await verdictOf({
      "run.json": JSON.stringify({ status: "stopped", steps: 9, eval_before: share(10, 50) }),
      "metrics.jsonl": evaluated(0, 10) + trained + evaluated(8, 40),
    }),
    new RegExp(
      "^Held-out accuracy 20\\.0 → 80\\.0 % .* interval \\+41\\.\\d to .* better\\. " +
        "The run was stopped after step 9\\.$",
    ),
  );
  assert.match(
    await verdictOf({
      "run.json": JSON.stringify({
        status: "completed",
        eval_before: null,
        eval_after: share(40, 50),
      }),
      "metrics.jsonl": evaluated(0, 10) + trained,
    }),
    /^Held-out accuracy 80\.0 % .* 50 problems\)\. .* not measured on these problems before\.$/,
  );
  assert.equal(
    await verdictOf({ "run.json": running, "config.yaml": "eval: {num_examples: 50}\n" }),
    "The held-out problems have not been evaluated. The run has not ended; its last step is 40.",
  );
});

Deno.test("a report says what a judge took", () => {
  const lines = [1, 2].map((step) => ({
    step,
    split: "train",
    reward: 0.5,
    "rewards/my_judge/mean": 0.5,
    "rewards/my_judge/requests": 30,
    "rewards/my_judge/cached": step - 1,
    "rewards/my_judge/total_seconds": 61 * step,
    "rewards/my_judge/total_cost": 0.125 * step,
  }));
  const text = lines.map((line) => JSON.stringify(line) + "\n").join("");
  return withRun(async (folder) => {
    const { cost } = reportSections(await readRunRecord(folder));
    const rows = Object.fromEntries(cost.rows.slice(1) as [string, string][]);
    assert.equal(rows["requests of my_judge"], "60, 1 from the cache");
    assert.equal(rows["waited for my_judge"], "2 min 2 s");
    assert.equal(rows["price of my_judge"], "0.25");
  }, { "metrics.jsonl": text });
});

Deno.test("answers to the same problems before and after are compared in pairs", () => {
  const rows = (moment: "before" | "after") =>
    [1, 0].flatMap((temperature) =>
      Array.from({ length: 200 }, (_, i) => ({
        temperature,
        question: `q${i}`,
        expected: "1",
        extracted: "1",
        // Before training 40 sampled answers are right; afterwards the same 40 and 80 others.
        score: temperature === 0 ? 0.5 : Number(i < (moment === "before" ? 40 : 120)),
        formatted: moment === "after" || i % 2 === 0,
      }))
    );
  const text = (moment: "before" | "after") =>
    rows(moment).map((row) => JSON.stringify(row) + "\n").join("");
  const files = { "eval_before.jsonl": text("before"), "eval_after.jsonl": text("after") };
  return withRun(async (folder) => {
    const { verdict, evaluation } = reportSections(await readRunRecord(folder));
    assert.match(verdict, /\(\+40\.0 points, 95 % interval \+32\.8 to \+46\.4, 200 problems\)/);
    const cells = evaluation!.rows.map((row) => [row[0], ...row.slice(5)]);
    assert.deepEqual(cells, [
      ["held-out problems", "gain", "95 % of gain", "p", "n"],
      ["accuracy, sampled", "+40.0", "+32.8 – +46.4", "2e-24", "200"],
      ["  leg_counting", "", "", "", "2"],
      ["accuracy, greedy", "+0.0", "−1.0 – +1.0", "1.0", "200"],
      ["answer format, sampled", "+50.0", "+42.5 – +56.5", "2e-30", "200"],
    ]);
  }, files);
});

Deno.test("answers at temperature 0 are reported once, as greedy ones", () => {
  const [before, after] = [40, 120].map((right) => ({ ...share(right, 200), temperature: 0 }));
  const run = { status: "completed", steps: 40, eval_before: before, eval_after: after };
  return withRun(async (folder) => {
    const { evaluation } = reportSections(await readRunRecord(folder));
    const names = ["accuracy, greedy", "  leg_counting", "answer format, greedy"];
    assert.deepEqual(evaluation!.rows.slice(1).map((row) => row[0]), names);
  }, { "run.json": JSON.stringify(run) });
});

Deno.test("a report without all answers of both evaluations compares their shares alone", () =>
  withRun(
    async (folder) => {
      const { evaluation } = reportSections(await readRunRecord(folder));
      assert.equal(evaluation!.rows[0]!.includes("p"), false);
    },
    { "eval_before.jsonl": '{"temperature": 1, "question": "q", "score": 1}\n{"temper' },
  ));
