/** `rgx init`, and `rgx rewards test` on what it makes. */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { test } from "../../core/testing.ts";
import { experiment, measureTask } from "../../cli/init/init.ts";
import { exists } from "../../core/paths.ts";
import { taskNames } from "../../tasks/registry.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { namesIn, refuses, rgx, succeeds } from "../support.ts";

const PLAN = ["train", "experiment.yaml", "--dry-run"];

const DOUBLED = `import { defaultScore, defineTask } from "@rgx/rgx";
export default defineTask({
  name: "doubled",
  category: "arithmetic",
  description: "Twice a digit.",
  scoring: "1 when it is right.",
  params: {},
  generate(random) {
    const digit = random.int(0, 9);
    return { question: "Twice " + digit + "?", answer: String(2 * digit), metadata: {}, difficulty: {} };
  },
  score: defaultScore,
});
`;

test.inFolder("init makes a project whose reward passes its cases and whose training runs", async (folder) => {
  const made = await succeeds(["init", "first", "--json"], { cwd: folder });
  const { files } = JSON.parse(made.out) as { files: string[] };
  for (const file of files) assert.ok(await exists(`${folder}/first/${file}`), file);
  const project = `${folder}/first`;

  const test = ["rewards", "test", "rewards/short_answer.ts"];
  assert.equal((await succeeds(test, { cwd: project })).out, "4 passed, 0 failed\n");
  const words = await rgx([...test, "--set", "words=12"], { cwd: project });
  assert.equal(words.code, 1, "twelve words are then worth 1");
  assert.match(words.out, /short_answer_cases\.jsonl:3 +0\.5 +1 /);

  await succeeds(argv`train experiment.yaml training.max_steps=1 sft.max_steps=2 --quiet`, {
    cwd: project,
  });
  const metrics = await Deno.readTextFile(`${project}/runs/first/metrics.jsonl`);
  assert.match(metrics, /"rewards\/short_answer\/mean":/);
  assert.match(await Deno.readTextFile(`${project}/job.sh`), /train .*experiment\.yaml/);
  assert.match(await Deno.readTextFile(`${project}/README.md`), /problems of `spell_backward`/);
});

test.inFolder("init fits the model to the problems of a task, or to one's own", async (folder) => {
  const rows = Array.from(
    { length: 40 },
    (_, i) => JSON.stringify({ question: `Größe ${i}?`.repeat(20), answer: `${i}` }),
  );
  await Deno.writeTextFile(`${folder}/own.jsonl`, rows.join("\n"));
  for (
    const [args, project, sample] of [
      [["init", "my own", "--data", "own.jsonl", "--reward", "polite"], "my own", /Größe \d+\?/],
      [["init", "legs", "--task", "leg_counting"], "legs", /legs/],
    ] as const
  ) {
    const made = await succeeds(args, { cwd: folder });
    const next = project === "legs" ? "cd legs" : "cd 'my own'"; // for pasting into a shell
    assert.ok(
      made.err.endsWith(`train it with: ${next} && rgx train experiment.yaml\n`),
      made.err,
    );
    const plan = await succeeds(PLAN, {
      cwd: `${folder}/${project}`,
    });
    assert.match(plan.err, sample);
  }
  await succeeds(["rewards", "test", "rewards/polite.ts"], { cwd: `${folder}/my own` });
});

test.inFolder("init makes a project of conversations, which trains", async (folder) => {
  const chat = (user: string, assistant: string) => [
    { role: "user", content: user },
    { role: "assistant", content: assistant },
  ];
  const rows = [chat("What is the capital of France?", "Paris")];
  for (
    const [file, given] of [["one", rows], ["several", [
      ...rows,
      [{ role: "system", content: "Be brief." }, ...chat("And of Italy?", "Rome, of course.")],
      [...chat("Hi", "Hello"), ...chat("What is 1 + 1?", "It is 2.")],
    ]]] as const
  ) {
    const text = given.map((messages) => JSON.stringify({ messages }) + "\n").join("");
    await Deno.writeTextFile(`${folder}/${file}.jsonl`, text);
    await succeeds(["init", file, "--data", `${file}.jsonl`], { cwd: folder });
    const args = ["train", "experiment.yaml", "max_steps=1", "sft.max_steps=2", "--quiet"];
    await succeeds(args, { cwd: `${folder}/${file}` });
  }
  const test = ["rewards", "test", "rewards/same_words.ts"];
  assert.equal((await succeeds(test, { cwd: `${folder}/several` })).out, "3 passed, 0 failed\n");
});

test.inFolder("init makes a project of a task file, and says why where a task is too large", async (folder) => {
  await Deno.writeTextFile(`${folder}/doubled.ts`, DOUBLED);
  await succeeds(["init", "mine", "--task", "./doubled.ts"], { cwd: folder });
  const plan = await succeeds(PLAN, { cwd: `${folder}/mine` });
  assert.match(plan.err, /Twice \d\?/);
  const large = /task arc_agi: a problem and its answer have up to \d+ characters/;
  await refuses([[["init", "arc", "--task", "arc_agi"], large]], { cwd: folder });
});

Deno.test("the project of every task fits the memory and takes minutes", () => {
  const most = { rows: 0, work: 0 };
  for (const name of taskNames().filter((name) => name !== "arc_agi")) {
    const { params, sizes } = measureTask(name);
    const text = experiment({ task: name, params, sizes }, "short_answer.ts");
    const number = (key: string) => Number(new RegExp(`^  ${key}: (\\d+)`, "m").exec(text)![1]);
    const completions = number("per_device_train_batch_size");
    const rows = completions / 8 * sizes.prompt.longest +
      completions * number("max_completion_length");
    most.rows = Math.max(most.rows, rows);
    most.work = Math.max(most.work, number("max_steps") * rows);
    assert.ok(sizes.prompt.longest + number("max_completion_length") <= 8192, name);
  }
  // About 20 KB a row.
  assert.ok(most.rows < 60_000, `${most.rows} rows of a step`);
  assert.ok(most.work < 4e6, `${most.work} rows of a run`);
});

test.inFolder("init overwrites nothing and refuses what it cannot use, before it writes", async (folder) => {
  await Deno.mkdir(`${folder}/full`);
  await Deno.writeTextFile(`${folder}/full/README.md`, "mine");
  const refused = { cwd: folder, before: ["init"] };
  await refuses([
    [["full"], /full: README\.md is there already/],
    [["full/README.md"], /full\/README\.md: it is a file, expected a folder/],
    [["new", "--task", "leg_cuonting"], /leg_counting/],
    [["new", "--task", "chain_sum", "--data", "x.jsonl"], /--task and --data/],
    [["new", "--data", "none.jsonl"], /none\.jsonl/],
    [["new", "--reward", "a b"], /--reward a b: expected a name/],
  ], refused);
  assert.ok(!await exists(`${folder}/new`));
  // Of one problem nothing can be held out.
  await Deno.writeTextFile(`${folder}/one.jsonl`, '{"question": "1+1", "answer": "2"}\n');
  await succeeds(["init", "one", "--data", "one.jsonl"], { cwd: folder });
  const yaml = await Deno.readTextFile(`${folder}/one/experiment.yaml`);
  assert.match(yaml, /^ {2}num_examples: 0 # too few problems to hold some out$/m);
  assert.deepEqual(namesIn(`${folder}/full`), ["README.md"]);
});

test.inFolder("rewards test names wrong cases by their lines, and errors of a reward", async (folder) => {
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder}/${name}`, text);
  const test = (...args: string[]) => rgx(["rewards", "test", ...args], { cwd: folder });
  await write("bad.ts", 'export default () => { throw new Error("no luck"); };');
  const refused = { cwd: folder, before: ["rewards", "test"] };
  await refuses([
    [["bad.ts"], /bad_cases\.jsonl: there is no such file\nhelp: A file of lines/],
    [["missing.ts"]],
    [["format_answer"], /missing argument 'cases'/],
  ], refused);
  await write("bad_cases.jsonl", '{"completion": "a", "expected": 0}\n');
  const failed = await test("bad.ts");
  assert.equal(failed.code, 1);
  assert.match(failed.out, /bad_cases\.jsonl:1 +0 +failed: no luck.*\n0 passed, 1 failed/);
  const wrong: [cases: string, says: RegExp][] = [
    ['\n{"completon": "a"}', /cases\.jsonl:2: unknown field completon, did you mean completion/],
    ['{"completion": "a"}', /cases\.jsonl:1: expected is missing/],
    ['{"completion": 4, "expected": 1}', /completion: expected text, found 4/],
    ["nonsense", /cases\.jsonl:1: /],
    ["\n", /no cases were found/],
  ];
  for (const [cases, says] of wrong) {
    await write("cases.jsonl", cases);
    await refuses([[["format_answer", "cases.jsonl"], says]], refused);
  }
  const json = '{"completion": "<answer>4</answer>", "expected": 1}\n' +
    '{"completion": "4", "expected": 1}';
  await write("cases.jsonl", json);
  const { code, out } = await test("format_answer", "cases.jsonl", "--json");
  assert.equal(code, 1);
  const results = JSON.parse(out) as { line: number; value: number; passed: boolean }[];
  assert.deepEqual(results.map(({ line, value, passed }) => [line, value, passed]), [
    [1, 1, true],
    [2, 0, false],
  ]);
});

test.inFolder(
  "a project may have a reward in Python, whose commands allow it",
  async (folder) => {
    await succeeds(["init", ".", "--reward", "brief.py"], { cwd: folder });
    const readme = await Deno.readTextFile(`${folder}/README.md`);
    const test = /^ {4}rgx (rewards test rewards\/brief\.py --allow-python) /m.exec(readme)!;
    const tested = await rgx(test[1]!.split(" "), { cwd: folder });
    assert.match(tested.out, /4 passed, 0 failed/, tested.err);
    const job = await Deno.readTextFile(`${folder}/job.sh`);
    assert.match(job, /train \S*experiment\.yaml --allow-python "\$@" --resume/);
    const says = /brief\.py is Python.*\n.*--allow-python/;
    await refuses([[PLAN, says]], { cwd: folder });
  },
  needs(
    (await runCommand(["python3", "--version"]))?.success === true,
    NEEDED.pythonProgram,
  ),
);
