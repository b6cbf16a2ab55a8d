import assert from "node:assert/strict";
import { join } from "node:path";
import { sha256Hex } from "../core/checksums.ts";
import { createRubric } from "../rewards/rubric.ts";
import { loadConfig } from "./load.ts";
import { assertOneError, load, MINIMAL, withFiles } from "./testing.ts";

const SOURCE = "export default ({ completion }, { factor }) => completion.length * factor;\n";
const HEAD = "model: m\ntask: chain_sum\nrewards:\n";

Deno.test("a reward can be a file, with parameters, hosts and limits", async () => {
  const yaml = HEAD +
    "  - {path: ./my-reward.ts, weight: 0.5, factor: 2, tags: [a, b], timeout: 9, " +
    "net: [api.example.org, 'localhost:80'], concurrency: 3, retries: 1}\n  - correctness\n";
  const { config } = await load(yaml, {}, { "my-reward.ts": SOURCE });
  const { params, ...section } = config.rewards[0]!;
  assert.deepEqual({ ...params }, { factor: 2, tags: ["a", "b"] });
  assert.deepEqual(section, {
    name: "my_reward",
    weight: 0.5,
    timeout: 9,
    file: {
      path: "my-reward.ts",
      sha256: sha256Hex(SOURCE),
      net: ["api.example.org", "localhost:80"],
      concurrency: 3,
      retries: 1,
    },
  });
  const named = await load(HEAD + "  - {name: judge, path: r.js, net: a.org}\n", {}, {
    "r.js": "",
  });
  assert.equal(named.config.rewards[0]!.name, "judge");
  assert.deepEqual(named.config.rewards[0]!.file!.net, ["a.org"]);
});

Deno.test("hosts may stand in permissions; a cache and another name can be asked for", async () => {
  const files = { "r.ts": SOURCE };
  const read = async (item: string) => (await load(HEAD + item, {}, files)).config.rewards;
  const [file] = await read(
    "  - {path: r.ts, permissions: {net: ['127.0.0.1:8000']}, cache: true}\n",
  );
  assert.deepEqual([file!.file!.net, file!.file!.cache], [["127.0.0.1:8000"], true]);
  assert.deepEqual({ ...file!.params }, {});
  const twice = await read("  - {name: brevity, as: short}\n  - brevity\n");
  assert.deepEqual(twice.map(({ name, as }) => [name, as]), [["brevity", "short"], [
    "brevity",
    undefined,
  ]]);
  assert.deepEqual(createRubric(twice).names, ["short", "brevity"]);
  // A judge is checked as a whole; its address may be in the environment of the run.
  const judge = (await read("  - {name: judge, scale: [1, 5]}\n"))[0]!;
  assert.deepEqual([judge.params["scale"], judge.params["base_url"]], [[1, 5], null]);
});

Deno.test("a function of Python is a reward, as TRL, verl and rgx name it", async () => {
  const files = { "lib/own.py": "", "v.py": "" };
  const read = async (yaml: string) =>
    (await load(yaml, {}, files)).config.rewards.map(({ name, weight, params, file }) => [
      name,
      weight,
      { ...params },
      file!.path,
      file!.function,
      file!.python,
    ]);
  const own = "  - {path: v.py, function: f, python: py3, weight: 2, bonus: 1}\n  - {path: v.py}\n";
  assert.deepEqual(await read(HEAD + own), [
    ["f", 2, { bonus: 1 }, "v.py", "f", "py3"],
    ["v", 1, {}, "v.py", undefined, undefined],
  ]);
  const trl = "model: m\ntask: chain_sum\nreward_funcs: [lib.own.reward]\n";
  assert.deepEqual(await read(trl), [["reward", 1, {}, "lib/own.py", "reward", undefined]]);
  assert.deepEqual(await read(trl.replace(/[[\]]/g, "")), await read(trl));
  const verl = "model: m\ntask: chain_sum\nactor_rollout_ref: {}\n" +
    "custom_reward_function: {path: v.py, reward_kwargs: {bonus: 3}}\n";
  assert.deepEqual(await read(verl), [
    ["compute_score", 1, { bonus: 3 }, "v.py", "compute_score", undefined],
  ]);
});

Deno.test("a reward's file is looked for beside the configuration, then in the cwd", async () => {
  const files = {
    "sub/base.yaml": HEAD + "  - path: ./r.ts\n",
    "sub/r.ts": SOURCE,
    "r.ts": SOURCE + "\n",
    "a.yaml": "_base_: sub/base.yaml\n",
    "sub/b.yaml": HEAD + "  - path: other.ts\n",
    "other.ts": SOURCE,
  };
  await withFiles(files, async (cwd) => {
    const fileOf = async (name: string, overrides: string[] = []) =>
      (await loadConfig(name, { cwd, overrides })).config.rewards[0]!.file!;
    assert.deepEqual(await fileOf("a.yaml"), { path: "sub/r.ts", sha256: sha256Hex(SOURCE) });
    assert.equal((await fileOf("sub/b.yaml")).path, "other.ts");
    const elsewhere = { cwd: join(cwd, "sub"), overrides: ["rewards=[{path: ../r.ts}]"] };
    const { config } = await loadConfig("base.yaml", elsewhere);
    assert.equal(config.rewards[0]!.file!.path, join(cwd, "r.ts"));
  });
});

Deno.test("the written configuration loads to the same and notes a changed file", async () => {
  const yaml = HEAD + "  - {path: r.ts, factor: 2, timeout: 3}\n  - {name: brevity, timeout: 1}\n";
  await withFiles({ "f.yaml": yaml, "r.ts": SOURCE }, async (cwd) => {
    const first = await loadConfig("f.yaml", { cwd });
    await Deno.mkdir(join(cwd, "run"));
    await Deno.writeTextFile(join(cwd, "run/config.yaml"), first.yaml);
    const again = await loadConfig("run/config.yaml", { cwd });
    assert.deepEqual(again.config.rewards, first.config.rewards);
    assert.deepEqual(again.notes, first.notes);
    await Deno.writeTextFile(join(cwd, "r.ts"), SOURCE + "// better\n");
    const changed = await loadConfig("run/config.yaml", { cwd });
    assert.ok(changed.notes.some((note) => /rewards\.0\.sha256: r\.ts has changed/.test(note)));
    assert.notEqual(changed.yaml, first.yaml);
  });
});

Deno.test("what is wrong with the section of a file is said where it stands", async () => {
  const cases: [item: string, message: RegExp][] = [
    ["{path: no.ts}", /^f\.yaml:4:12: rewards\.0\.path: no such file: no\.ts \(looked for \//],
    ["{path: 5}", /^f\.yaml:4:12: rewards\.0\.path: expected text, found 5/],
    [
      "{path: r.ts, net: ['https://a.org']}",
      /^f\.yaml:4:23: rewards\.0\.net: expected a host as in/,
    ],
    ["{path: r.ts, retries: -1}", /^f\.yaml:4:27: rewards\.0\.retries: expected .*≥ 0/],
    ["{path: r.ts, concurrency: 0}", /^f\.yaml:4:31: rewards\.0\.concurrency: expected .*≥ 1/],
    ["{path: r.ts, timeout: 0}", /^f\.yaml:4:27: rewards\.0\.timeout: expected .*> 0/],
    ["{path: r.ts, weight: a}", /^f\.yaml:4:26: rewards\.0\.weight: expected a number/],
    [
      "{path: r.ts, permissions: {read: [/]}}",
      /permissions\.read: cannot be granted: only net can/,
    ],
    ["{path: r.ts, permissions: all}", /permissions: expected \{net: \[hosts\]\}/],
    ["{path: r.ts, net: a.org, permissions: {net: a.org}}", /net is given twice/],
    ["{name: brevity, as: a/b}", /as: expected a name of letters, digits and _, found "a\/b"/],
    [
      "{name: judge, prompt_template: '{gold}'}",
      /:4:\d+: rewards\.0\.prompt_template: \{gold\} is/,
    ],
    ["{path: v.py, net: a.org}", /^f\.yaml:4:18: rewards\.0\.net: a reward in Python has no sandb/],
    ["no.such.reward", /rewards\.0: unknown reward .* runs with --allow-python/],
    ["{path: .}", /rewards\.0\.path: the reward file .* cannot be read: EISDIR/],
  ];
  const files = { "r.ts": SOURCE, "v.py": "" };
  await assertOneError(cases.map(([item, says]) => [`  - ${item}`, says]), HEAD, files);
});

Deno.test("secondary rewards have reasoning-gym's names; reward_timeout is a key", async () => {
  const yaml = "model: m\ntask: chain_sum\nreward_timeout: 7\nreward:\n  use_accuracy: true\n" +
    "  secondary_rewards:\n    - {name: cosine, scaling_factor: 0.3}\n" +
    "    - {name: format, scaling_factor: 0.1, kwargs: {preappend_thinking_token: true}}\n" +
    "    - {name: length}\n";
  const { config } = await load(yaml);
  assert.deepEqual(config.rewards.map(({ name, weight }) => [name, weight]), [
    ["correctness", 1],
    ["rg_cosine", 0.3],
    ["rg_format", 0.1],
    ["rg_length", 0.2],
  ]);
  assert.equal(config.rewards[2]!.params["preappend_thinking_token"], true);
  assert.equal(config.training.reward_timeout, 7);
  assert.equal((await load(MINIMAL)).config.training.reward_timeout, 5);
});
