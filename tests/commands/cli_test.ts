/** The command line in general: version, help, and mistakes in arguments and configurations. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { rgx } from "../support.ts";

Deno.test("--version prints name, version, deno and v8 on stdout", async () => {
  const { code, out, err } = await rgx(["--version"]);
  assert.equal(code, 0);
  assert.match(out, /^rgx \d+\.\d+\.\d+ \(deno \d+\.\d+\.\d+, v8 \S+\)\n$/);
  assert.equal(err, "");
});

Deno.test("every command has help with examples, in 80 columns", async () => {
  const commands =
    "train,sft,tasks,tasks list,tasks show,tasks sample,tasks export,score,generate,logprobs," +
    "export,convert,pull,upload,bench,eval,plot,curves,report,dashboard,slurm,slurm bench,jobs,config,config show," +
    "licenses," +
    "config check,doctor,init,sweep,rescore,serve,chat,rewards list,rewards show,rewards test";
  const names = commands.split(",");
  // One process prints all of them, because starting one takes a moment.
  const program = `
    const { runCli } = await import(${
    JSON.stringify(new URL("../../cli/program.ts", import.meta.url).href)
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
    for (const line of page.split("\n")) assert.ok(line.length <= 80, line);
  }
});

Deno.test("help is printed for commands that exist, and refused for others", async () => {
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

test.inFolder("a config error names file, line and the nearest key, and exits with 2", async (folder) => {
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
});

Deno.test("config check takes overrides after its files", async () => {
  const check = (...args: string[]) => rgx(["config", "check", ...args]);
  const files = ["quickstart", "configs/experiments/gsm8k.yaml"];
  const fine = await check(...files, "max_steps=3", "--seed", "4");
  assert.deepEqual([fine.code, fine.out], [0, files.map((file) => `${file}: ok\n`).join("")]);
  const wrong: [args: string[], says: RegExp][] = [
    [["quickstart", "max_steps=soon"], /^error: command line: .*max_steps: expected an integer/],
    [["quickstart", "max_steps=3", "quickstart"], /"quickstart" is no override/],
  ];
  for (const [args, says] of wrong) {
    const { code, out, err } = await check(...args);
    assert.deepEqual([code, out], [2, ""], err);
    assert.match(err, says);
  }
});

Deno.test("a misspelt command is corrected, and train without a config names the quickstart", async () => {
  for (
    const [words, says] of [
      [["trane"], /unknown command 'trane', did you mean train\?/],
      [["evaluate"], /unknown command 'evaluate', did you mean eval\?/],
      [
        ["train"],
        /missing required argument 'config', for example quickstart: rgx train quickstart/,
      ],
    ] as const
  ) {
    const { code, err } = await rgx(words);
    assert.equal(code, 2);
    assert.match(err, says);
  }
});

Deno.test("flags may stand before the configuration", async () => {
  for (
    const words of [
      ["--max-steps", "3", "quickstart"],
      ["--skip-evaluation", "quickstart", "--max-steps", "3"],
      ["training.max_steps=3", "configs/experiments/quickstart.yaml"],
    ]
  ) {
    const { code, out, err } = await rgx(["train", ...words, "--print-config"]);
    assert.equal(code, 0, err);
    assert.match(out, /^training:[^]*^ {2}max_steps: 3$/m);
    assert.match(out, /spell_backward/);
  }
});

Deno.test("the help lists commands by what a user is at, and every command is in a group", async () => {
  const { out } = await rgx(["--help"]);
  const headings = out.match(/^\w+:$/gm);
  assert.deepEqual(headings, [
    "Options:",
    "Start:",
    "Train:",
    "Measure:",
    "Share:",
    "Cluster:",
    "Examples:",
  ]);
  assert.match(out, /^Train:\n {2}train /m);
});
