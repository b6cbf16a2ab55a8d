/** `rgx env`, and configurations with environments and tools that are refused. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { refuses, rgx, succeeds } from "../support.ts";

test.inFolder("an environment is begun, checked and played", async (folder) => {
  const file = `${folder}/guess.ts`, tools = `${folder}/calculator.ts`;
  assert.match((await rgx(argv`env new ${file}`)).out, /in a configuration: environment: /);
  assert.match((await rgx(argv`env new ${file}`)).err, /it is there already/);
  await rgx(argv`env new ${tools} --tools`);
  const checked = await succeeds(argv`env check ${file} --starts 30`);
  assert.match(checked.out, /: step\n30 starts, 15 of them different; .* ms a call\nthe same seed/);
  const json = JSON.parse((await rgx(argv`env check ${tools} --json`)).out);
  assert.equal(json.tools[0].name, "calculate");
  const played = await rgx(argv`env play ${file} --seed 4`, { input: "9\n5\n" });
  assert.equal(played.out, "Guess my number from 1 to 15.\nlower\nreward 0.5\nreward in all 0.5\n");
  const called = await rgx(argv`env play ${tools}`, {
    input: 'hello\n/calculate {"expression": "3 * (4 + 5)"}\n/other {}\n/calculate [\n',
  });
  assert.match(called.out, /has no step: call a tool/);
  assert.match(called.out, /\n27\nthere is no tool other\ncalculate: /);
});

test.inFolder("an environment that depends on more than its seed is found", async (folder) => {
  const file = `${folder}/dice.ts`;
  await Deno.writeTextFile(file, `let calls = 0; export default { step: () => "" + calls++ };\n`);
  const { code, out } = await rgx(argv`env check ${file} --starts 2`);
  assert.equal(code, 1);
  assert.match(out, /fault: seed 0: another dialogue when it is played again/);
  await Deno.writeTextFile(
    file,
    `export default { reset() { throw new Error("no"); }, step() {} };`,
  );
  const thrown = await rgx(argv`env check ${file} --starts 1`);
  assert.match(thrown.out, /fault: seed 0: no \(line 1, column \d+\)/);
});

Deno.test("the examples of environments depend on their seeds alone", async () => {
  for (const { name } of Deno.readDirSync("examples/environments")) {
    await succeeds(argv`env check examples/environments/${name} --starts 20`);
  }
});

const HEAD = "model: {init: {hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, " +
  "num_attention_heads: 2, max_position_embeddings: 128}}\n" +
  "training: {max_steps: 1, max_completion_length: 40}\n";

test.inFolder("what does not go together is refused in one line", async (cwd) => {
  await succeeds(argv`env new guess.ts`, { cwd });
  await succeeds(argv`env new calculator.ts --tools`, { cwd });
  await Deno.writeTextFile(`${cwd}/bad.ts`, "export default { stap() {} };\n");
  const task = "\ntask: chain_sum\nrewards: [correctness]";
  const cases: [yaml: string, says: RegExp][] = [
    ["environment: nowhere.ts", /environment\.path: no such file: nowhere\.ts/],
    ["environment: second_try", /no environment "second_try".*second_tries/],
    ["environment: second_tries", /second_tries asks the problems of a task/],
    ["environment: {net: [a b], path: guess.ts}", /environment\.net: expected a host/],
    ["environments: {a: guess.ts}\ntask: chain_sum", /data\.dataset_name/],
    [
      `multi_turn: {max_assistant_turns: 2}${task}`,
      /multi_turn\.max_assistant_turns: has no effect without environment/,
    ],
    ["environment: guess.ts\nmulti_turn: {on_parse_error: retry}", /expected end or/],
    [
      `tools: [calculator.ts]${task}`,
      /tools cannot be shown to this model: the model is prompted with plain text/,
    ],
    [`tools: [guess.ts]${task}`, /tools: .*guess\.ts has no tools/],
    ["environment: bad.ts", /the environment file .*bad\.ts cannot be used: it has stap/],
    ["environment: {agent: [no_agent, x]}", /: no_agent cannot be started: no such program/],
  ];
  for (const [yaml, says] of cases) {
    await Deno.writeTextFile(`${cwd}/run.yaml`, `${HEAD}${yaml}\n`);
    await refuses([[argv`train run.yaml --dry-run --output-dir run`, says]], { cwd });
  }
  await Deno.writeTextFile(`${cwd}/run.yaml`, `${HEAD}environment: {agent: [solver, --fast]}\n`);
  const agent = /run\.yaml: solver is an agent, which asks a model itself/;
  await refuses([[["env", "check", "run.yaml"], agent]], { cwd });
});

test.inFolder("the first lines of a run name its environment in place of a task", async (cwd) => {
  await succeeds(argv`env new guess.ts`, { cwd });
  const yaml = `${HEAD}environment: guess.ts\nmulti_turn: {max_assistant_turns: 1}\n`;
  await Deno.writeTextFile(`${cwd}/run.yaml`, yaml);
  const { err } = await succeeds(argv`train run.yaml --dry-run --output-dir r`, { cwd });
  assert.match(err, /\ndialogue {2}.*guess\.ts, at most 1 answer of the model\nrewards /);
});
