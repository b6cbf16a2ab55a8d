import assert from "node:assert/strict";
import { DEFAULTS, fromJson, type MapNode, nowhere, Problems, toJson } from "../documents/node.ts";
import { escapeText, interpolate, isSecretName } from "./interpolation.ts";
import { loadConfig } from "../load.ts";
import { assertErrors, assertValues, errorsOf, load, MINIMAL, withFiles } from "../testing.ts";

Deno.test("a key names another key and keeps its type", async () => {
  const yaml = MINIMAL + "seed: 7\ndata: {seed: '${training.seed}'}\nrun_name: r\n" +
    "output_dir: runs/${logging.run_name}-${seed}\nepsilon: ${training.beta}\n" +
    "save_total_limit: ${rewards.0.weight}\nproject: ${rewards.0.name}\n";
  assertValues(
    (await load(yaml.replace("[correctness]", "[{name: correctness, weight: 3}]"))).config,
    `data.seed: 7, training.output_dir: runs/r-7, training.epsilon: 0,
    training.save_total_limit: 3, logging.project: correctness`,
  );
});

Deno.test("the folder has the resolved name of the run, on the command line too", async () => {
  const name = "r-${oc.env:JOB}";
  for (
    const [yaml, overrides] of [[`run_name: ${name}\n`, []], ["", [`run_name=${name}`]]] as const
  ) {
    const { config } = await load(MINIMAL + yaml, { overrides, env: { JOB: "12" } });
    assert.equal(config.logging.run_name, "r-12");
    assert.equal(config.training.output_dir, "./experiments/r-12");
  }
});

Deno.test("aliases name keys too, and values can be lists and maps", async () => {
  const { config } = await load(MINIMAL + "lr: 0.5\nsft: {max_steps: 1, lr: '${lr}'}\n");
  assert.equal(config.sft?.learning_rate, 0.5);
  const problems = new Problems();
  const params = { a: [1, { x: 2 }], b: "${data.params.a}", c: "${data.task_config.b.1.x}" };
  const tree = fromJson({ data: { task_config: params } }, nowhere(DEFAULTS)) as MapNode;
  assert.deepEqual(toJson(interpolate(tree, {}, problems)), {
    data: { task_config: { a: [1, { x: 2 }], b: [1, { x: 2 }], c: 2 } },
  });
  assert.deepEqual(problems.lines(), []);
});

Deno.test("environment variables have defaults and the type of their text", async () => {
  const yaml = MINIMAL + "lr: ${oc.env:LR}\nbeta: ${env:BETA,0.25}\nproject: p-${oc.env:WHO,me}\n" +
    "run_name: ${oc.env:NUMBER}\nsystem_prompt: ${oc.env:NONE,null}\n" +
    "output_dir: ${oc.env:A,${oc.env:B,deep}}\n";
  const { config } = await load(yaml, { env: { LR: "1e-3", NUMBER: "007" } });
  assertValues(
    config,
    `training.learning_rate: 1e-3, training.beta: 0.25, logging.project: p-me,
    logging.run_name: "007", data.system_prompt: null, training.output_dir: deep`,
  );
});

Deno.test("an escaped dollar is a dollar", async () => {
  const { config } = await load(MINIMAL + "system_prompt: 'cost \\${x} and \\{{ fileDirname }}'\n");
  assert.equal(config.data.system_prompt, "cost ${x} and {{ fileDirname }}");
});

Deno.test("the name and the folder of the file can be used in it", async () => {
  const yaml = MINIMAL +
    "output_dir: out/{{ fileBasenameNoExtension }}\nproject: '{{fileDirname}}'\n" +
    "system_prompt: '{{ other }} stays'\n";
  await withFiles({ "sub/my.exp.yaml": yaml }, async (cwd) => {
    const { config } = await loadConfig("sub/my.exp.yaml", { cwd });
    assert.equal(config.training.output_dir, "out/my.exp");
    assert.match(config.logging.project, /sub$/);
    assert.equal(config.data.system_prompt, "{{ other }} stays");
  });
});

/** YAML after MINIMAL, and deeper its error. */
const UNRESOLVED = `
beta: \${nope}
  f.yaml:4:7: training.beta: \${nope} names no key
beta: \${training.lernin_rate}
  f.yaml:4:7: training.beta: \${training.lernin_rate} names no key, did you mean
    training.learning_rate?
beta: \${oc.env:NOT_SET}
  f.yaml:4:7: training.beta: environment variable NOT_SET is not set, needed by
    \${oc.env:NOT_SET}; a default is written \${oc.env:NOT_SET,default}
beta: \${beta}
  f.yaml:4:7: training.beta: \${beta} leads back to itself: training.beta → training.beta
beta: \${epsilon}\\nepsilon: \${beta}
  f.yaml:4:7: training.beta: \${epsilon} leads back to itself: training.epsilon → training.beta →
    training.epsilon
  f.yaml:5:10: training.epsilon: \${beta} leads back to itself: training.beta → training.epsilon →
    training.beta
beta: \${oc.env:A
  f.yaml:4:7: training.beta: \${ without a closing } in "\${oc.env:A"
beta: \${now:%Y}
  f.yaml:4:7: training.beta: \${now:%Y} is neither a key nor oc.env:NAME[,default]
project: a\${rewards}
  f.yaml:4:10: logging.project: \${rewards} is a list and can not be part of a text
`;

Deno.test("what names nothing, or itself, is refused", () => assertErrors(UNRESOLVED));

Deno.test("values that double each other come to an end", async () => {
  const params = Array.from(
    { length: 40 },
    (_, i) => `    p${i + 1}: "\${data.task_config.p${i}}\${data.task_config.p${i}}"`,
  );
  const yaml = MINIMAL + `data:\n  task_config:\n    p0: x\n${params.join("\n")}\n`;
  assert.match(
    (await errorsOf(yaml)).join("\n"),
    /too many values refer to each other|longer than/,
  );
});

Deno.test("the env map is set first, and given back for the process", async () => {
  const files = { "base.yaml": "env: {A: from base, B: 2}\n" };
  const yaml = "_base_: base.yaml\nenv: {A: from file}\n" + MINIMAL +
    "project: ${oc.env:A} ${env:B}\n";
  const { config, environment } = await load(yaml, { env: { A: "from outside" } }, files);
  assert.equal(config.logging.project, "from file 2");
  assert.deepEqual(environment, { A: "from file", B: "2" });
});

Deno.test("secrets are never written", async () => {
  const yaml = MINIMAL +
    "env: {MY_TOKEN: abc, PLAIN: x}\nsystem_prompt: key ${oc.env:SOME_API_KEY}!\n" +
    "project: ${data.system_prompt}\n";
  const loaded = await load(yaml, { env: { SOME_API_KEY: "hush" } });
  assert.equal(loaded.config.data.system_prompt, "key hush!");
  assert.equal(loaded.config.logging.project, "key hush!");
  assert.equal(loaded.environment.MY_TOKEN, "abc");
  assert.ok(!/hush|abc|MY_TOKEN/.test(loaded.yaml), loaded.yaml);
  const again = await load(loaded.yaml, { env: { SOME_API_KEY: "hush" } });
  assert.deepEqual(again.config, loaded.config);
});

Deno.test("names of secrets are recognised", () => {
  for (
    const name of ["HF_TOKEN", "OPENAI_API_KEY", "db_password", "SECRET", "AWS_SECRET_ACCESS_KEY"]
  ) {
    assert.ok(isSecretName(name), name);
  }
  for (const name of ["HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MONKEY"]) {
    assert.ok(!isSecretName(name), name);
  }
});

Deno.test("escaping is undone by reading", async () => {
  for (
    const text of ["${a}", "\\${a}", "a {{ fileDirname }} \\{{fileDirname}}", "$ { } \\", "{{ x }}"]
  ) {
    const yaml = MINIMAL + `system_prompt: ${JSON.stringify(escapeText(text))}\n`;
    assert.equal((await load(yaml)).config.data.system_prompt, text);
  }
});
