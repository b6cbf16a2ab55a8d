/** The package for Node and Bun (`build:package --npm`), installed as docs/library.md says. */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { test } from "../../core/testing.ts";
import settings from "../../deno.json" with { type: "json" };
import * as tasks from "../../library/tasks.ts";
import { buildNpmPackage } from "../../tools/package/npm.ts";
import { NEEDED, needs } from "../skipped.ts";
import { namesIn, root, runs } from "../support.ts";

const node = Deno.env.get("RGX_TEST_NODE") ?? "node";
/** Bun is tried where it is named. */
const programs = [node, Deno.env.get("RGX_TEST_BUN")].filter((one) => one !== undefined);

/** Runs a program that must succeed; what it prints. */
const output = async (cwd: string, ...command: string[]): Promise<string> =>
  (await runs(command, { cwd, env: { npm_config_update_notifier: "false" } })).out;

async function isThere(program: string, minVersion: number): Promise<boolean> {
  const version = (await runCommand([program, "--version"]))?.out ?? "";
  return Number(/(\d+)\./.exec(version)?.[1] ?? 0) >= minVersion;
}

/** A problem of each task, and the score of its answer. Its text also runs there. */
const allProblems = ({ createDataset, scoreAnswer, taskNames }: typeof tasks) =>
  taskNames().filter((name) => name !== "composite").map((name) => {
    const entry = createDataset(name, { seed: 3, size: 2 }).entry(1);
    return [name, entry.question, entry.answer, scoreAnswer(entry.answer, entry)];
  });

const PROGRAM = `
import * as rgx from "@rgx/rgx";
const entry = rgx.createDataset("chain_sum", { seed: 1 }).entry(0);
const completion = \`<answer>\${entry.answer}</answer>\`;
const rubric = rgx.createRubric([{ name: "correctness", weight: 1, params: {} }]);
const { values } = await rubric.score([{
  prompt: "", completion, answer: entry.answer, info: {}, entry, completionIds: [],
  messages: null, truncated: false, step: 0, maxCompletionLength: 10,
}]);
const { config } = await rgx.loadConfig("gsm8k", { overrides: { training: { max_steps: 7 } } });
const wrong = await rgx.loadConfig({ _base_: "no_such.yaml" }).catch((error) => error);
const problems = (${allProblems})(rgx);
console.log(JSON.stringify({
  question: entry.question,
  scores: [rgx.scoreCompletion(completion, entry).score, values[0][0]],
  steps: [config.training.max_steps, config.lora.lora_alpha],
  wrong: [wrong instanceof rgx.UsageError, /no such file: no_such/.test(wrong.message)],
  wilson: rgx.wilsonInterval(3, 4)[0] > 0.3,
  problems,
  globals: typeof globalThis.Deno,
}));
`;

const TYPED = `
import { type ConfigObject, createDataset } from "@rgx/rgx";
const question: string = createDataset("chain_sum").entry(0).question;
const config: ConfigObject = { training: { learning_rate: 1e-6 }, rewards: ["correctness"] };
// @ts-expect-error: learning_rate
const misspelt: ConfigObject = { training: { learnig_rate: 1e-6 } };
console.log(question, config, misspelt);
`;

test.inFolder(
  "the npm package works in Node and Bun, and has the types of the library",
  async (folder) => {
    const packed = "rgx-npm.tgz";
    await buildNpmPackage(`${folder}/${packed}`);
    assert.deepEqual(namesIn(folder), [packed]);
    const page = await Deno.readTextFile(new URL("docs/library.md", root));
    assert.match(page, /npm install \.\.\/rgx\/dist\/rgx-npm\.tgz /);

    // npm takes the package. The rest of npm install comes from Deno's cache: a test must not
    // need a registry.
    const view = ["pack", "--dry-run", "--json", `./${packed}`];
    const [{ version, files }] = JSON.parse(await output(folder, "npm", ...view));
    assert.equal(version, settings.version);
    const names = files.map(({ path }: { path: string }) => path);
    assert.ok(["mod.js", "package.json", "LICENSE"].every((name) => names.includes(name)));
    const manifest = await output(folder, "tar", "xzOf", packed, "package/package.json");
    const { dependencies } = JSON.parse(manifest);
    const mine = { type: "module", dependencies };
    await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify(mine));
    await output(folder, Deno.execPath(), "install", "--quiet", "--node-modules-dir=auto");
    await Deno.mkdir(`${folder}/node_modules/@rgx/rgx`, { recursive: true });
    const into = ["-C", "node_modules/@rgx/rgx", "--strip-components=1"];
    await output(folder, "tar", "xzf", packed, ...into);

    await Deno.writeTextFile(`${folder}/program.js`, PROGRAM);
    const question = "What is 2295 - 7323 - 3029 - 7037? Answer with the number only.";
    for (const program of programs) {
      assert.deepEqual(JSON.parse(await output(folder, program, "program.js")), {
        question,
        scores: [1, 1],
        steps: [7, 32],
        wrong: [true, true],
        wilson: true,
        problems: allProblems(tasks),
        globals: "undefined",
      }, program);
    }
    await Deno.writeTextFile(`${folder}/typed.ts`, TYPED);
    const check = ["check", "--node-modules-dir=manual", "--quiet", "typed.ts"];
    await output(folder, Deno.execPath(), ...check);
  },
  needs(await isThere(node, 22) && await isThere("npm", 8), NEEDED.node),
);
