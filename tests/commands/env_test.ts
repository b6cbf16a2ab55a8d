/** `rgx env`, and configurations with environments and tools that are refused. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { rgx } from "../support.ts";

test.inFolder("an environment is begun, checked and played", async (folder) => {
  const file = `${folder}/guess.ts`, tools = `${folder}/calculator.ts`;
  assert.match((await rgx(argv`env new ${file}`)).out, /in a configuration: environment: /);
  assert.match((await rgx(argv`env new ${file}`)).err, /it is there already/);
  await rgx(argv`env new ${tools} --tools`);
  const checked = await rgx(argv`env check ${file} --starts 30`);
  assert.equal(checked.code, 0, checked.err);
  assert.match(checked.out, /: step\n30 starts, 15 of them different; .* ms a call\nthe same seed/);
  const json = JSON.parse((await rgx(argv`env check ${tools} --json`)).out);
  assert.equal(json.tools[0].name, "calculate");
  const played = await rgx(argv`env play ${file} --seed 4`, "9\n5\n");
  assert.equal(played.out, "Guess my number from 1 to 15.\nlower\nreward 0.5\nreward in all 0.5\n");
  const called = await rgx(
    argv`env play ${tools}`,
    'hello\n/calculate {"expression": "3 * (4 + 5)"}\n/other {}\n/calculate [\n',
  );
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
    const { code, out, err } = await rgx(argv`env check examples/environments/${name} --starts 20`);
    assert.equal(code, 0, out + err);
  }
});

const MODEL = "{init: {hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, " +
  "num_attention_heads: 2, max_position_embeddings: 128}}";

test.inFolder("what does not go together is refused in one line", async (folder) => {
  await rgx(argv`env new ${folder}/guess.ts`);
  await rgx(argv`env new ${folder}/calculator.ts --tools`);
  const refused = async (yaml: string, message: RegExp) => {
    const file = `${folder}/run.yaml`;
    const text = `model: ${MODEL}\ntraining: {max_steps: 1, max_completion_length: 40}\n${yaml}\n`;
    await Deno.writeTextFile(file, text);
    const { code, err } = await rgx(argv`train ${file} --dry-run --output-dir ${folder}/run`);
    assert.equal(code, 2, err);
    assert.match(err, message);
  };
  await refused("environment: nowhere.ts", /environment\.path: no such file: nowhere\.ts/);
  await refused("environment: second_try", /no environment "second_try".*second_tries/);
  await refused("environment: second_tries", /second_tries asks the problems of a task/);
  await refused("environment: {net: [a b], path: guess.ts}", /environment\.net: expected a host/);
  await refused("environments: {a: guess.ts}\ntask: chain_sum", /data\.dataset_name/);
  await refused(
    "multi_turn: {max_assistant_turns: 2}\ntask: chain_sum\nrewards: [correctness]",
    /multi_turn\.max_assistant_turns: has no effect without environment/,
  );
  await refused("environment: guess.ts\nmulti_turn: {on_parse_error: retry}", /expected end or/);
  await refused(
    "tools: [calculator.ts]\ntask: chain_sum\nrewards: [correctness]",
    /tools cannot be shown to this model: the model is prompted with plain text/,
  );
  await refused(
    "tools: [guess.ts]\ntask: chain_sum\nrewards: [correctness]",
    /tools: .*guess\.ts has no tools/,
  );
  await Deno.writeTextFile(`${folder}/bad.ts`, "export default { stap() {} };\n");
  await refused(
    "environment: bad.ts",
    /the environment file .*bad\.ts cannot be used: it has stap/,
  );
  await refused(
    "environment: {agent: [no_agent, x]}",
    /: no_agent cannot be started: no such program/,
  );
  const agent = `model: ${MODEL}\ntraining: {max_steps: 1, max_completion_length: 40}\n` +
    "environment: {agent: [solver, --fast]}\n";
  await Deno.writeTextFile(`${folder}/run.yaml`, agent);
  const { code, err } = await rgx(argv`env check ${folder}/run.yaml`);
  assert.equal(code, 2, err);
  assert.match(err, /run\.yaml: solver is an agent, which asks a model itself/);
});

test.inFolder("the first lines of a run name its environment in place of a task", async (folder) => {
  await rgx(argv`env new ${folder}/guess.ts`);
  const yaml = `model: ${MODEL}\nenvironment: guess.ts\nmulti_turn: {max_assistant_turns: 1}\n` +
    "training: {max_steps: 1, max_completion_length: 40}\n";
  await Deno.writeTextFile(`${folder}/run.yaml`, yaml);
  const { code, err } = await rgx(
    argv`train ${folder}/run.yaml --dry-run --output-dir ${folder}/r`,
  );
  assert.equal(code, 0, err);
  assert.match(err, /\ndialogue {2}.*guess\.ts, at most 1 answer of the model\nrewards /);
});
