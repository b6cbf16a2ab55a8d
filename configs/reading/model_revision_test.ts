import assert from "node:assert/strict";
import { assertErrors, load } from "../testing.ts";

const START = "task: chain_sum\nrewards: [correctness]\n";
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const FILES = { "m/config.json": "{}", [`snapshots/${COMMIT}/config.json`]: "{}" };

Deno.test("model_revision chooses the revision of a model of the Hub", async () => {
  const nameOf = async (yaml: string, overrides: string[] = []) => {
    const { config, yaml: resolved, notes } = await load(START + yaml, { overrides }, FILES);
    assert.deepEqual(notes, []);
    assert.ok(!resolved.includes("model_revision"));
    return config.model.model_name_or_path;
  };
  assert.equal(await nameOf("model: org/name\nmodel_revision: v1.0\n"), "org/name@v1.0");
  assert.equal(
    await nameOf("model: org/name\nmodel_init_kwargs: {revision: refs/pr/3}\n"),
    "org/name@refs/pr/3",
  );
  assert.equal(
    await nameOf(`model: org/name\nlora: {revision: ${COMMIT}}\n`),
    `org/name@${COMMIT}`,
  );
  assert.equal(
    await nameOf("model: hf://org/name/a.gguf\n", ["--model-revision", "pr/3"]),
    "hf://org/name@pr%2F3/a.gguf",
  );
  // What is typed is text, also where it looks like a number.
  assert.equal(await nameOf("model: org/name\n", ["model_revision=1.0"]), "org/name@1.0");
  assert.equal(await nameOf("model: org/name@v1\nmodel_revision: v1\n"), "org/name@v1");
  assert.equal(await nameOf("model: org/name\nmodel_revision: main\n"), "org/name");
  assert.equal(await nameOf("model: m\nmodel_revision: main\n"), "m");
  const snapshot = `snapshots/${COMMIT}`;
  assert.equal(await nameOf(`model: ${snapshot}\nmodel_revision: ${COMMIT}\n`), snapshot);
});

/** YAML after START, and deeper its error. */
const REFUSED = String.raw`
model: m\nmodel_revision: v1
  f.yaml:4:17: model_revision: v1: m is on this machine, and is one revision already; name the
    model as on the Hub (ORG/NAME), or the folder of that revision
model: ./no/such/folder\nmodel_revision: v1
  f.yaml:4:17: model_revision: v1: ./no/such/folder is no name of a model on the Hub, which has
    revisions
model: org/name@v2\nmodel_revision: v1
  f.yaml:4:17: model_revision: v1: org/name@v2 names the revision v2 already
model: org/name\nmodel_revision: a b
  f.yaml:4:17: model_revision: a b: not the name of a branch, tag or commit
`;

Deno.test("a revision of a folder, or a second one, is refused where it stands", () =>
  assertErrors(REFUSED, START, FILES));

Deno.test("a revision stays behind where another model is named", async () => {
  const base = "model: org/name\nmodel_revision: v1\ntask: chain_sum\nrewards: [correctness]\n";
  const nameOf = async (child: string, overrides: string[] = []) => {
    const files = { "base.yaml": base };
    const { config, notes } = await load(`_base_: base.yaml\n${child}`, { overrides }, files);
    return [config.model.model_name_or_path, ...notes];
  };
  assert.deepEqual(await nameOf("seed: 1\n"), ["org/name@v1"]);
  assert.deepEqual(await nameOf("model: org/name\n"), ["org/name@v1"]);
  assert.deepEqual(await nameOf("model: org/other\nmodel_revision: v2\n"), ["org/other@v2"]);
  const note = "base.yaml:2:17: model_revision: belongs to org/name, and is left out for org/other";
  assert.deepEqual(await nameOf("model: org/other\n"), ["org/other", note]);
  assert.deepEqual(await nameOf("", ["model=org/other"]), ["org/other", note]);
  const typed = ["--model-revision", "v3", "--model", "org/other"];
  assert.deepEqual(await nameOf("", typed), ["org/other@v3"]);
});
