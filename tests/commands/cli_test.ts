/** The command line in general: version, help, and mistakes in arguments and configurations. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { refuses, rgx, succeeds } from "../support.ts";

Deno.test("--version prints name, version, deno and v8 on stdout", async () => {
  const { out, err } = await succeeds(["--version"]);
  assert.match(out, /^rgx \d+\.\d+\.\d+ \(deno \d+\.\d+\.\d+, v8 \S+\)\n$/);
  assert.equal(err, "");
});

Deno.test("every command has help with examples, in 80 columns", async () => {
  const commands =
    "train,sft,dpo,tasks,tasks list,tasks show,tasks sample,tasks export,score,generate,logprobs," +
    "export,convert,pull,upload,bench,eval,plot,curves,report,watch,dashboard,slurm,slurm bench," +
    "jobs,config,config list,config show,config check,licenses,doctor,init,sweep,rescore,serve," +
    "chat,rewards list,rewards show,rewards test,env check,env play,env serve,env replay,env new";
  for (const name of commands.split(",")) {
    const { out: page } = await succeeds([...name.split(" "), "--help"]);
    assert.ok(page.startsWith(`Usage: rgx ${name} `), page);
    assert.ok(page.includes("Examples:"), page);
    assert.ok((page.match(/^ {2}\$ /gm) ?? []).length >= 2, page);
    for (const line of page.split("\n")) assert.ok(line.length <= 80, line);
  }
});

Deno.test("help is printed for commands that exist, and refused for others", async () => {
  const sample = await succeeds(["help", "tasks", "sample"]);
  assert.match(sample.out, /^Usage: rgx tasks sample/);
  const says = /unknown command 'smaple'/;
  await refuses([[["help", "smaple"], says], [["smaple", "--help"], says]]);
  await refuses([[["tasks", "smaple", "-h"], says]]);
});

test.inFolder("a config error names file, line and the nearest key, and exits with 2", async (folder) => {
  const file = `${folder}/bad.yaml`;
  await Deno.writeTextFile(
    file,
    "_base_: quickstart\ntraining:\n  learnig_rate: 1e-4\n  max_steps: soon\n",
  );
  const says = [
    /bad\.yaml:3:3: .*learnig_rate.*learning_rate/,
    /bad\.yaml:4:14: .*max_steps/,
  ];
  await refuses([
    [["config", "check", "--config", file], ...says],
    [["train", file, "--dry-run"], ...says],
  ]);
});

Deno.test("config check takes overrides after its files", async () => {
  const files = ["quickstart", "configs/experiments/gsm8k.yaml"];
  const fine = await succeeds(["config", "check", ...files, "max_steps=3", "--seed", "4"]);
  assert.equal(fine.out, files.map((file) => `${file}: ok\n`).join(""));
  await refuses([
    [["max_steps=soon"], /^error: command line: .*max_steps: expected an integer/],
    [["max_steps=3", "quickstart"], /"quickstart" is no override/],
  ], { before: ["config", "check", "quickstart"] });
});

Deno.test("a misspelt command is corrected, and train without a config names the quickstart", async () => {
  const example = /missing required argument 'config', for example quickstart: rgx train quickst/;
  await refuses([
    [["trane"], "unknown command 'trane', did you mean train?"],
    [["evaluate"], "unknown command 'evaluate', did you mean eval?"],
    [["train"], example],
  ]);
});

Deno.test("flags may stand before the configuration", async () => {
  for (
    const words of [
      ["--max-steps", "3", "quickstart"],
      ["--skip-evaluation", "quickstart", "--max-steps", "3"],
      ["training.max_steps=3", "configs/experiments/quickstart.yaml"],
    ]
  ) {
    const { out } = await succeeds(["train", ...words, "--print-config"]);
    assert.match(out, /^training:[^]*^ {2}max_steps: 3$/m);
    assert.match(out, /spell_backward/);
  }
});

Deno.test("the help lists commands by what a user is at, and every command is in a group", async () => {
  const { out } = await rgx(["--help"]);
  const headings = out.match(/^\w+:$/gm)!.join(" ");
  assert.equal(headings, "Options: Start: Train: Measure: Share: Cluster: Examples:");
  assert.match(out, /^Train:\n {2}train /m);
});
