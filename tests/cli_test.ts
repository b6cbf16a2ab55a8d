/** The command line as a user meets it: real processes, exit codes, streams. */
import assert from "node:assert/strict";
import { lines, rgx } from "./support.ts";

Deno.test("--version prints name, version, deno and v8 on stdout", async () => {
  const { code, out, err } = await rgx(["--version"]);
  assert.equal(code, 0);
  assert.match(out, /^rgx \d+\.\d+\.\d+ \(deno \d+\.\d+\.\d+, v8 \S+\)\n$/);
  assert.equal(err, "");
});

Deno.test("every command has help with examples, in 80 columns", async () => {
  const commands =
    "train,sft,tasks,tasks list,tasks show,tasks sample,tasks export,score,generate,logprobs," +
    "export,convert,pull,bench,eval,plot,curves,report,slurm,slurm bench,config,config show,config check,doctor";
  const names = commands.split(",");
  // All in one process: each takes a moment to start.
  const program = `
    const { runCli } = await import(${
    JSON.stringify(new URL("../cli/program.ts", import.meta.url).href)
  });
    for (const name of ${JSON.stringify(names)}) {
      if (await runCli([...name.split(" "), "--help"]) !== 0) throw new Error(name);
      console.log("\\f");
    }`;
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", program],
    env: { COLUMNS: "80" },
  }).output();
  assert.equal(code, 0);
  const pages = new TextDecoder().decode(stdout).split("\f\n").slice(0, -1);
  assert.equal(pages.length, names.length);
  for (const [i, page] of pages.entries()) {
    assert.ok(page.startsWith(`Usage: rgx ${names[i]} `), page);
    assert.ok(page.includes("Examples:"), page);
    assert.ok((page.match(/^ {2}\$ /gm) ?? []).length >= 2, page);
    // Examples can be copied, so they are not cut.
    const prose = page.split("\n").filter((line) => !/^ {2}(?:\$| {4})/.test(line));
    for (const line of prose) assert.ok(line.length <= 80, line);
  }
});

Deno.test("an unknown command or flag is a usage error with a suggestion", async () => {
  const command = await rgx(["trian", "quickstart"]);
  assert.equal(command.code, 2);
  assert.match(command.err, /unknown command 'trian'/);
  assert.match(command.err, /train/);
  assert.equal(command.out, "");
  const flag = await rgx(["tasks", "sample", "chain_sum", "--sizes", "3"]);
  assert.equal(flag.code, 2);
  assert.match(flag.err, /unknown option '--sizes'/);
  assert.match(flag.err, /--size\b/);
});

Deno.test("help is of what is named, and of nothing that there is not", async () => {
  const sample = await rgx(["help", "tasks", "sample"]);
  assert.equal(sample.code, 0);
  assert.match(sample.out, /^Usage: rgx tasks sample/);
  for (const words of [["help", "smaple"], ["smaple", "--help"], ["tasks", "smaple", "-h"]]) {
    const unknown = await rgx(words);
    assert.equal(unknown.code, 2, words.join(" "));
    assert.equal(unknown.out, "");
    assert.match(unknown.err, /unknown command 'smaple'/);
  }
});

Deno.test("tasks list --json names every task once with its category", async () => {
  const { code, out } = await rgx(["tasks", "list", "--json"]);
  assert.equal(code, 0);
  const tasks = JSON.parse(out) as { name: string; category: string; description: string }[];
  assert.ok(tasks.length >= 10);
  assert.equal(new Set(tasks.map((t) => t.name)).size, tasks.length);
  for (const task of tasks) assert.ok(task.category && task.description, task.name);
});

Deno.test("tasks show has all levels of a curriculum, in 80 columns", async () => {
  for (const [name, last] of [["leg_counting", "36\n"], ["jugs", "20\n"]] as const) {
    const { code, out } = await rgx(["tasks", "show", name]);
    assert.equal(code, 0);
    for (const line of out.split("\n")) assert.ok(line.length <= 80, line);
    assert.ok(out.slice(out.indexOf("Curriculum"), out.indexOf("Scoring")).includes(last), out);
  }
});

Deno.test("tasks sample gives the same JSONL again, and an offset is a window on it", async () => {
  const all = await rgx(["tasks", "sample", "chain_sum", "--size", "6", "--seed", "3"]);
  const again = await rgx(["tasks", "sample", "chain_sum", "--size", "6", "--seed", "3"]);
  assert.equal(all.code, 0);
  assert.equal(all.out, again.out);
  const window = await rgx(
    ["tasks", "sample", "chain_sum", "--size", "2", "--seed", "3", "--offset", "4"],
  );
  assert.deepEqual(lines(window.out), lines(all.out).slice(4));
  const test = await rgx(
    ["tasks", "sample", "chain_sum", "--size", "6", "--seed", "3", "--split", "test"],
  );
  assert.notEqual(test.out, all.out);
});

Deno.test("tasks sample obeys --set and refuses what the task refuses", async () => {
  const { out } = await rgx(
    ["tasks", "sample", "chain_sum", "--set", "min_terms=2", "--set", "max_terms=2"],
  );
  for (const line of lines(out)) assert.equal(JSON.parse(line).metadata.num_terms, 2);
  const bad = await rgx(["tasks", "sample", "chain_sum", "--set", "min_terms=9"]);
  assert.equal(bad.code, 2);
  assert.match(bad.err, /min_terms.*9/);
  const typo = await rgx(["tasks", "sample", "chain_sum", "--set", "min_term=2"]);
  assert.equal(typo.code, 2);
  assert.match(typo.err, /min_terms/);
  const name = await rgx(["tasks", "sample", "chain_sun"]);
  assert.equal(name.code, 2);
  assert.match(name.err, /chain_sum/);
});

Deno.test("tasks sample says when --level is more than there is; a named attribute is refused", async () => {
  const sample = (...args: string[]) => rgx(["tasks", "sample", "spell_backward", ...args]);
  const high = await sample("--level", "99");
  assert.equal(high.code, 0);
  assert.match(high.err, /^note: --level 99: the last level is taken .*: word_len \d+\n$/);
  const level = /word_len (\d+)/.exec(high.err)![1]!;
  const last = await sample("--level", level);
  assert.deepEqual([last.out, last.err], [high.out, ""]);
  const named = await sample("--set-level", "word_len=99");
  assert.equal(named.code, 2);
  assert.match(named.err, /the levels of this attribute .* are 0 to \d+, found 99/);
});

Deno.test("what tasks sample writes, score gives 1 for, and 0 for null, in order", async () => {
  const { out } = await rgx(["tasks", "sample", "spell_backward", "--size", "4"]);
  const input = lines(out).flatMap((line) => {
    const entry = JSON.parse(line);
    return [
      JSON.stringify({ entry, answer: entry.answer }),
      JSON.stringify({ entry, answer: null }),
    ];
  });
  const scored = await rgx(["score", "-"], input.join("\n") + "\n");
  assert.equal(scored.code, 0);
  assert.deepEqual(
    lines(scored.out).map((line) => JSON.parse(line).score),
    [1, 0, 1, 0, 1, 0, 1, 0],
  );
});

Deno.test("score extracts the last answer of a completion with --completions", async () => {
  const entry = {
    question: "1 + 1?",
    answer: "2",
    metadata: { source_dataset: "chain_sum", source_index: 0, difficulty: {} },
  };
  const completion = "<answer>3</answer> no: <answer> 2 </answer>";
  const { out, code } = await rgx(
    ["score", "--completions", "-"],
    JSON.stringify({ entry, completion }) + "\n" +
      JSON.stringify({ entry, completion: "2" }) + "\n",
  );
  assert.equal(code, 0);
  assert.deepEqual(lines(out).map((line) => JSON.parse(line).score), [1, 0]);
});

Deno.test("score knows the problems of data sets, as benchmarks do", async () => {
  const line = (source: string, gold: string, answer: unknown) =>
    JSON.stringify({
      entry: { question: "?", answer: gold, metadata: { source_dataset: source } },
      answer,
    });
  const input = [
    line("math500", "10,\\!080", "10080"),
    line("gsm8k", "72", "72 clips"),
    line("gsm8k", "72", 72),
    line("mmlu_pro", "C", "(C)"),
    line("file", "3", "3.0"),
    line("file", "3", null),
  ];
  const { code, out } = await rgx(["score", "-"], input.join("\n") + "\n");
  assert.equal(code, 0);
  assert.deepEqual(lines(out).map((text) => JSON.parse(text)), [
    { score: 1 },
    { score: 1 },
    { score: 0, error: "answer: expected a string or null, found 72" },
    { score: 1 },
    { score: 1 },
    { score: 0 },
  ]);
});

Deno.test("score says what is wrong with a line and goes on; 1 when none could be scored", async () => {
  const entry = { answer: "2", metadata: { source_dataset: "chain_sum" } };
  const good = JSON.stringify({ entry, answer: "2" });
  const mixed = await rgx(["score", "-"], `{oops\n${good}\n{"entry":{}}\n`);
  assert.equal(mixed.code, 0);
  const results = lines(mixed.out).map((line) => JSON.parse(line));
  assert.equal(results.length, 3);
  assert.match(results[0].error, /JSON/);
  assert.equal(results[1].score, 1);
  assert.match(results[2].error, /source_dataset/);
  const none = await rgx(["score", "-"], "{oops\n");
  assert.equal(none.code, 1);
  const missing = await rgx(["score", "no/such/file.jsonl"]);
  assert.equal(missing.code, 2);
  assert.match(missing.err, /no\/such\/file\.jsonl/);
});

Deno.test("a config error names file, line and the nearest key, and exits with 2", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/bad.yaml`;
    await Deno.writeTextFile(
      file,
      "_base_: quickstart\ntraining:\n  learnig_rate: 1e-4\n  max_steps: soon\n",
    );
    for (const command of [["config", "check", "--config", file], ["train", file, "--dry-run"]]) {
      const { code, err, out } = await rgx(command);
      assert.equal(code, 2, err);
      assert.match(err, /bad\.yaml:3:3: .*learnig_rate.*learning_rate/);
      assert.match(err, /bad\.yaml:4:14: .*max_steps/);
      assert.doesNotMatch(err + out, /\n\s+at /);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("doctor --json measures the devices of this machine", async () => {
  const { code, out } = await rgx(["doctor", "--json"]);
  assert.equal(code, 0);
  const report = JSON.parse(out);
  assert.ok(report.devices.length >= 2);
  for (const device of report.devices) {
    assert.ok(device.gflops > 0 && device.gbytes_per_second > 0, device.name);
  }
  const names = report.devices.map(({ name }: { name: string }) => name);
  assert.equal(names.includes("webgpu"), report.gpu_adapter !== null);
  if (report.gpu_adapter !== null) assert.ok(report.gpu_adapter.limits.maxBufferSize >= 2 ** 28);
  assert.ok(report.available_memory_bytes > 0);
});
