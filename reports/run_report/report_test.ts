import assert from "node:assert/strict";
import { parquetWriteBuffer } from "hyparquet-writer";
import { test, withFolder } from "../../core/testing.ts";
import { lines } from "../../data/testing.ts";
import { reportHtml, writeReport } from "./write_report.ts";
import { reportMarkdown } from "./markdown.ts";
import { readRunRecord, type RunRecord } from "./run_record.ts";
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

type Change = Readonly<Record<string, string | object | null>>;

/** Writes a run's folder as a trainer leaves it; `change` replaces files (null: left out). */
async function writeRun(folder: string, change: Change = {}): Promise<void> {
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
  const warning = { event: "warning", message: "a | b" };
  const advice = { event: "advice", step: 9, text: "All cut off.", tries: ["x.y=1"] };
  const files: Change = {
    "metrics.jsonl": lines(steps),
    "config.yaml": "model: {model_name_or_path: some/model}\nlora: {r: 8, lora_alpha: 16}\n" +
      "logging: {run_name: my <run>}\ndata: {task_name: leg_counting}\n",
    "run.json": {
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
    },
    "run.log": lines([warning, warning, advice]) + "{damaged",
    ...change,
  };
  for (const [name, file] of Object.entries(files)) {
    if (file === null) continue;
    const text = typeof file === "string" ? file : JSON.stringify(file);
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  await Deno.mkdir(`${folder}/completions`);
  for (const step of [1, 40]) {
    const texts = ["right", "wrong", "wrong", "```\n</pre><script>", "e", "f", "g"];
    const table = parquetWriteBuffer({
      columnData: [
        { name: "step", data: texts.map(() => step), type: "INT32" },
        { name: "prompt", data: texts.map((_, i) => i < 6 ? "q <1>" : "q 2"), type: "STRING" },
        { name: "completion", data: texts, type: "STRING" },
        { name: "correctness", data: [1, 0, 0, null, 0, 0, 0], type: "DOUBLE" },
        { name: "advantage", data: [1, -1, -1, -0.5, 0.25, 0, 0], type: "DOUBLE" },
      ],
    });
    const path = `${folder}/completions/completions_${String(step).padStart(5, "0")}.parquet`;
    await Deno.writeFile(path, new Uint8Array(table));
  }
}

/** The sections of the report of a run, and its Markdown. */
async function reportOf(change: Change = {}) {
  let record: RunRecord;
  await withFolder(async (folder) => {
    await writeRun(folder, change);
    record = await readRunRecord(folder);
  });
  return { ...reportSections(record!), markdown: reportMarkdown(record!) };
}

Deno.test("a report states the result of a run, with the interval of the difference", async () => {
  const { verdict, evaluation, course, remarks, samples, cost, phases } = await reportOf();
  assert.match(
    verdict,
    /20\.0 → 60\.0 % \(\+40\.0 points, 95 % interval \+30\.\d to \+48\.\d, 200/,
  );
  assert.match(verdict, /The model got better\.$/);
  const rows = [
    "accuracy, sampled",
    "  leg_counting",
    "accuracy, greedy",
    "answer format, sampled",
  ];
  assert.deepEqual(evaluation!.rows.map((row) => row[0]), ["held-out problems", ...rows]);
  const format = ["50.0", "43.1 – 56.9", "50.0", "43.1 – 56.9", "200"];
  assert.deepEqual(evaluation!.rows.at(-1)!.slice(1), format);
  assert.equal(course!.rows[0]!.join(" "), "step 1 5 10 14 18 23 27 31 36 40");
  const metrics = ["step", "reward", "rewards/correctness/mean"];
  assert.deepEqual(course!.rows.map((row) => row[0]), metrics);
  const noticed = remarks.map(({ kind, step }) => `${kind} ${step}`);
  assert.deepEqual(noticed, ["warning null", "advice 9"]);
  assert.deepEqual(samples.map(({ step }) => step), [1, 40]);
  const texts = samples[0]!.completions.map(({ text }) => text.slice(0, 5));
  assert.deepEqual(texts, ["right", "e", "```\n<", "wrong"]);
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
});

Deno.test("a report does not call a gain within chance a gain", async () => {
  const of = (eval_before: unknown, eval_after: unknown) =>
    reportOf({ "run.json": { status: "stopped", steps: 4, eval_before, eval_after } });
  const same = await of(share(100, 200), share(104, 200));
  assert.match(same.verdict, /within chance.*was stopped after step 4\.$/);
  const worse = await of(share(150, 200), { ...share(50, 200), format_rate: 0.9 });
  assert.match(worse.verdict, /The model got worse\. The answer format rose from 50\.0 to 90\.0 %/);
  const none = await of(null, null);
  assert.match(none.verdict, /^Nothing was held out/);
  assert.equal(none.evaluation, null);
});

test.inFolder("texts of a model cannot break the Markdown or the HTML", async (folder) => {
  await writeRun(folder);
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
});

test.inFolder("a report needs only the metrics", async (folder) => {
  await writeRun(folder, { "config.yaml": null, "run.json": "{cut", "run.log": null });
  await Deno.remove(`${folder}/completions`, { recursive: true });
  const record = await readRunRecord(folder);
  assert.match(reportMarkdown(record), /^# .+\n\nNothing was held out/);
  assert.ok(reportHtml(record).includes("Plotly.newPlot"));
  await assert.rejects(reportOf({ "metrics.jsonl": null }), /holds no metrics\.jsonl/);
  const file = `${folder}/metrics.jsonl`;
  await assert.rejects(readRunRecord(file), /no report: .+ is no folder of a run/);
});

Deno.test("a report of only supervised steps leaves the other settings out", async () => {
  const metrics = lines([3, 2, 1].map((loss, i) => {
    const tokens = { num_tokens: 100 * (i + 1), "memory/peak_bytes": 5e6 };
    return { step: i + 1, split: "sft", loss, ...tokens };
  }));
  const config = "data: {task_name: leg_counting}\nrewards: [{name: correctness, weight: 1}]\n" +
    "sft: {max_steps: 3, per_device_train_batch_size: 64, learning_rate: 0.002}\n" +
    "training: {loss_type: dapo, beta: 0.2, learning_rate: 0.0001}\n";
  const textOf = async (metrics: string) => {
    const { markdown } = await reportOf({ "metrics.jsonl": metrics, "config.yaml": config });
    return markdown.slice(0, markdown.indexOf("## Settings"));
  };
  const alone = await textOf(metrics);
  assert.match(alone, /\| warm start +\| 3 supervised steps of 64, learning rate 0\.002 +\|/);
  assert.match(alone, /\| sft\/loss +\| +3 \| +2 \| +1 \|/);
  assert.match(alone, /\| tokens +\| 300 +\|/);
  assert.doesNotMatch(alone.slice(0, alone.indexOf("## Warm start")), /dapo|correctness|0\.0001/);
  const both = await textOf(metrics + '{"step":1,"split":"train","reward":0.5}\n');
  assert.match(both, /warm start[^]*dapo, beta 0\.2[^]*\| reward +\| +0\.5 \|/);
});

Deno.test("the maximum memory is that of all sessions, not of the last one", async () => {
  const line = { step: 1, split: "train", reward: 0, "memory/peak_bytes": 900e6 };
  const { markdown } = await reportOf({ "metrics.jsonl": line });
  assert.match(markdown, /\| tensors, at most +\| 900 MB +\|/);
});

Deno.test("a report of an unfinished run states what was measured so far", async () => {
  const verdictOf = async (change: Change) => {
    const { verdict, evaluation } = await reportOf(change);
    assert.equal(evaluation === null, !verdict.includes("→"));
    return verdict;
  };
  const evaluated = (step: number, correct: number) => ({
    step,
    split: "eval",
    eval_accuracy: correct / 50,
    eval_correct: 4 * correct, // of four completions each
    eval_total: 50,
    eval_ci95: [0.1, 0.3],
  });
  const begun = [evaluated(0, 10), { step: 7, split: "train", reward: 1 }];
  const running = { status: "running" };
  assert.equal(
    await verdictOf({ "run.json": running, "metrics.jsonl": lines(begun) }),
    "Held-out accuracy 20.0 % (95 % interval 10.0 – 30.0, 50 problems) at the beginning, " +
      "not measured since. The run has not ended; its last step is 7.",
  );
  const stopped = { status: "stopped", steps: 9, eval_before: share(10, 50) };
  assert.match(
    await verdictOf({
      "run.json": stopped,
      "metrics.jsonl": lines([...begun, evaluated(8, 40)]),
    }),
    new RegExp(
      "^Held-out accuracy 20\\.0 → 80\\.0 % .* interval \\+41\\.\\d to .* better\\. " +
        "The run was stopped after step 9\\.$",
    ),
  );
  const unmeasured = { status: "completed", eval_before: null, eval_after: share(40, 50) };
  assert.match(
    await verdictOf({ "run.json": unmeasured, "metrics.jsonl": lines(begun) }),
    /^Held-out accuracy 80\.0 % .* 50 problems\)\. .* not measured on these problems before\.$/,
  );
  assert.equal(
    await verdictOf({ "run.json": running, "config.yaml": "eval: {num_examples: 50}\n" }),
    "The held-out problems have not been evaluated. The run has not ended; its last step is 40.",
  );
});

Deno.test("a report says what a judge took", async () => {
  const steps = [1, 2].map((step) => ({
    step,
    split: "train",
    reward: 0.5,
    "rewards/my_judge/mean": 0.5,
    "rewards/my_judge/requests": 30,
    "rewards/my_judge/cached": step - 1,
    "rewards/my_judge/total_seconds": 61 * step,
    "rewards/my_judge/total_cost": 0.125 * step,
  }));
  const { cost } = await reportOf({ "metrics.jsonl": lines(steps) });
  const rows = Object.fromEntries(cost.rows.slice(1) as [string, string][]);
  assert.equal(rows["requests of my_judge"], "60, 1 from the cache");
  assert.equal(rows["waited for my_judge"], "2 min 2 s");
  assert.equal(rows["price of my_judge"], "0.25");
});

Deno.test("answers to the same problems before and after are compared in pairs", async () => {
  const answers = (moment: "before" | "after") =>
    lines([1, 0].flatMap((temperature) =>
      Array.from({ length: 200 }, (_, i) => ({
        temperature,
        question: `q${i}`,
        expected: "1",
        extracted: "1",
        // Before training 40 sampled answers are right; afterwards the same 40 and 80 others.
        score: temperature === 0 ? 0.5 : Number(i < (moment === "before" ? 40 : 120)),
        formatted: moment === "after" || i % 2 === 0,
      }))
    ));
  const files = { "eval_before.jsonl": answers("before"), "eval_after.jsonl": answers("after") };
  const { verdict, evaluation } = await reportOf(files);
  assert.match(verdict, /\(\+40\.0 points, 95 % interval \+32\.8 to \+46\.4, 200 problems\)/);
  assert.deepEqual(evaluation!.rows.map((row) => [row[0], ...row.slice(5)]), [
    ["held-out problems", "gain", "95 % of gain", "p", "n"],
    ["accuracy, sampled", "+40.0", "+32.8 – +46.4", "2e-24", "200"],
    ["  leg_counting", "", "", "", "2"],
    ["accuracy, greedy", "+0.0", "−1.0 – +1.0", "1.0", "200"],
    ["answer format, sampled", "+50.0", "+42.5 – +56.5", "2e-30", "200"],
  ]);
});

Deno.test("answers at temperature 0 are reported once, as greedy ones", async () => {
  const [eval_before, eval_after] = [40, 120].map((n) => ({ ...share(n, 200), temperature: 0 }));
  const { evaluation } = await reportOf({
    "run.json": { status: "completed", steps: 40, eval_before, eval_after },
  });
  const names = ["accuracy, greedy", "  leg_counting", "answer format, greedy"];
  assert.deepEqual(evaluation!.rows.slice(1).map((row) => row[0]), names);
});

Deno.test("a report without all answers of both evaluations compares their shares alone", async () => {
  const cut = '{"temperature": 1, "question": "q", "score": 1}\n{"temper';
  const { evaluation } = await reportOf({ "eval_before.jsonl": cut });
  assert.equal(evaluation!.rows[0]!.includes("p"), false);
});
