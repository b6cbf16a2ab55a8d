import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { MAX_INHERITANCE } from "./inherit.ts";
import { loadConfig } from "../load.ts";
import {
  assertErrors,
  assertLoads,
  assertValues,
  errorsOf,
  load,
  MINIMAL,
  withFiles,
} from "../testing.ts";

Deno.test("bases are merged left to right, then the file, with canonical keys", async () => {
  const files = {
    "a.yaml": MINIMAL + "num_train_epochs: 1\nlr: 0.1\n",
    "b.yaml": "training: {learning_rate: 0.2, beta: 0.3}\n",
  };
  const { config, origins } = await load(
    "_base_: [a.yaml, b.yaml]\ntraining:\n  num_epochs: 5\n",
    {},
    files,
  );
  assertValues(config.training, "num_train_epochs: 5, learning_rate: 0.2, beta: 0.3");
  assert.equal(origins.get("training.num_train_epochs"), "f.yaml:3");
  assert.equal(origins.get("training.learning_rate"), "b.yaml:1");
  assert.equal(origins.get("data.task_name"), "a.yaml:2");
  assert.equal(origins.get("training.epsilon"), "default");
});

Deno.test("a base is found beside the file that names it", async () => {
  const files = {
    "configs/base.yaml": MINIMAL + "lr: 0.1\n",
    "configs/deep/mid.yaml": "_base_: ../base.yaml\nbeta: 0.5\n",
    "configs/exp/e.yaml": "_base_: ../deep/mid.yaml\n",
  };
  await withFiles(files, async (cwd) => {
    const { config, origins } = await loadConfig("configs/exp/e.yaml", { cwd });
    assert.equal(origins.get("training.learning_rate"), "configs/base.yaml:4");
    assertValues(
      config,
      `training.learning_rate: 0.1, training.beta: 0.5, logging.run_name: e,
      training.output_dir: ./experiments/e`,
    );
  });
});

Deno.test("embedded files are bases by name and by rgx:PATH", async () => {
  const yaml = "_base_: [base, rgx:models/qwen2.5-7b.yaml, leg_counting]\n";
  const { config, origins } = await load(yaml);
  const model = "model.model_name_or_path: Qwen/Qwen2.5-7B-Instruct, lora.r: 64";
  assertValues(config, `${model}, data.task_name: leg_counting`);
  assert.equal(origins.get("data.task_name"), "rgx:tasks/leg_counting.yaml:2");
});

Deno.test("a base that is embedded but not on disk is used with a note", async () => {
  const yaml =
    "_base_: [../base.yaml, ../models/qwen-7b.yaml]\ntask: chain_sum\nrewards: correctness\n";
  await withFiles({ "configs/experiments/e.yaml": yaml }, async (cwd) => {
    const { config, notes } = await loadConfig("configs/experiments/e.yaml", { cwd });
    assert.equal(config.lora?.lora_alpha, 16);
    assert.equal(
      notes[0],
      "configs/experiments/e.yaml:1:10: _base_: ../base.yaml is not on disk, the embedded " +
        "rgx:base.yaml is used",
    );
  });
});

/** The line that names bases, and deeper its errors. */
const WRONG = `
_base_: nope.yaml
  f.yaml:1:9: _base_: no such file: nope.yaml (looked for /…/nope.yaml)
_base_: quickstrat
  f.yaml:1:9: _base_: no embedded configuration "quickstrat", did you mean quickstart?
_base_: rgx:zzz.yaml
  …no embedded configuration "zzz.yaml"…
_base_: [right.yaml, 5]
  f.yaml:1:22: _base_: expected a path or a list of paths, found 5
_base_: wrong.yaml
  wrong.yaml:4:1: lern: unknown key
  wrong.yaml:5:7: training.beta: expected a number ≥ 0, found text "x"
_base_: a.yaml
  b.yaml:1:9: _base_: leads back to itself: f.yaml → a.yaml → b.yaml → f.yaml
_base_: ./f.yaml
  f.yaml:1:9: _base_: leads back to itself: f.yaml → f.yaml
_base_: \${a.b}/x.yaml
  …only environment variables can…
defaults: base
  f.yaml:1:11: defaults: expected a list, found text "base"
defaults: [{override hydra/x: y}]
  f.yaml:1:13: defaults: expected {group: name}, found {override hydra/x: …}
`;

Deno.test("what is wrong with a base is said where it is named, a cycle with its chain", () =>
  assertErrors(WRONG, "", {
    "right.yaml": MINIMAL,
    "wrong.yaml": `${MINIMAL}lern: 1\nbeta: x\n`,
    "a.yaml": "_base_: b.yaml\n",
    "b.yaml": "_base_: f.yaml\n",
  }));

Deno.test("more than 16 bases on top of each other are refused with their chain", async () => {
  const chain = (length: number) => {
    const files: Record<string, string> = { [`b${length}.yaml`]: MINIMAL };
    for (let i = 1; i < length; i++) files[`b${i}.yaml`] = `_base_: b${i + 1}.yaml\n`;
    return files;
  };
  assert.deepEqual(await errorsOf("_base_: b1.yaml\n", {}, chain(MAX_INHERITANCE)), []);
  const lines = await errorsOf("_base_: b1.yaml\n", {}, chain(MAX_INHERITANCE + 1));
  assert.match(
    lines.join(),
    /^b16\.yaml:1:9: _base_: more than 16 bases deep: f\.yaml → b1\.yaml → .* → b17\.yaml$/,
  );
});

Deno.test("Hydra's defaults are bases, and _self_ says where the file comes", async () => {
  const files = {
    "base.yaml": MINIMAL + "beta: 0.1\nlr: 0.1\n",
    "model/tiny.yaml": "model: {name: tiny}\nbeta: 0.2\n",
  };
  await assertLoads(
    String.raw`
defaults: [base, {model: tiny}, _self_]\nbeta: 0.3
  training.beta: 0.3, model.model_name_or_path: tiny
defaults: [base, _self_, {model: tiny}]\nbeta: 0.3
  training.beta: 0.2
defaults: [base]\nbeta: 0.3
  training.beta: 0.3
defaults: [quickstart, _self_]\nbeta: 0.3
  training.beta: 0.3, data.task_name: spell_backward
`,
    "",
    files,
  );
});

Deno.test("_base_ takes environment variables and nothing else", async () => {
  const files = { "p/base.yaml": MINIMAL };
  const yaml = "_base_: ${oc.env:WHERE}/base.yaml\n";
  const { config } = await load(yaml, { env: { WHERE: "p" } }, files);
  assert.equal(config.data.task_name, "chain_sum");
  const loaded = await load("env: {WHERE: p}\n" + yaml, {}, files);
  assert.deepEqual(loaded.environment, { WHERE: "p" });
});

Deno.test("CONFIG is a path, an embedded experiment, or refused with near names", async () => {
  await withFiles({ "mine.yaml": MINIMAL }, async (cwd) => {
    assert.equal((await loadConfig("quickstart", { cwd })).config.logging.run_name, "quickstart");
    const named = await loadConfig("rgx:experiments/quickstart.yaml", { cwd });
    assert.equal(named.config.data.task_name, "spell_backward");
    const refused = async (name: string, message: RegExp) => {
      await assert.rejects(loadConfig(name, { cwd }), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        assert.match(
          error.advice ?? "",
          /^embedded experiments: algorithmic_qwen_3b, gsm8k, /,
        );
        return true;
      });
    };
    await refused(
      "quikstart",
      /^no configuration "quikstart".*did you mean the embedded quickstart\?$/,
    );
    await refused("mien.yaml", /^no configuration "mien\.yaml".*did you mean mine\.yaml\?$/);
    await refused("rgx:nothing.yaml", /^no embedded configuration "nothing\.yaml"$/);
    await refused("far/away.yaml", /neither a file nor an embedded experiment$/);
  });
});

Deno.test("a base that is no YAML by its name is not read, so no message quotes it", async () => {
  for (const name of ["shadow", ".env", "notes.txt"]) {
    const files = { [name]: "root:$y$secret:19000:0:99999:7:::\n" };
    const lines = await errorsOf(`_base_: ./${name}\n${MINIMAL}`, {}, files);
    assert.deepEqual(lines, [
      `f.yaml:1:9: _base_: ./${name}: expected a file of YAML or JSON (.yaml, .yml, .json)`,
    ]);
  }
});
