/**
 * The models whose sizes are embedded: the configuration files load, and the sizes are found by
 * name.
 */
import assert from "node:assert/strict";
import { EMBEDDED } from "./documents/embedded.ts";
import { embeddedShapes, shapeOf } from "./model_shapes.ts";
import { errorsOf, load } from "./testing.ts";

const REST = "rewards: [correctness]\ntask: chain_sum\n";

Deno.test("every embedded model file is a model with its own shape and an adapter", async () => {
  const files = [...EMBEDDED.keys()].filter((path) => path.startsWith("models/"));
  assert.ok(files.length >= 16);
  for (const path of files) {
    const { config } = await load(`_base_: rgx:${path}\n${REST}`);
    assert.equal(config.model.shape?.["of"], config.model.model_name_or_path, path);
    assert.notEqual(shapeOf(config.model), null, path);
    assert.notEqual(config.lora, null, path);
  }
  const aliases = files.filter((path) => EMBEDDED.get(path)!.startsWith("_base_"));
  assert.ok(embeddedShapes().size >= files.length - aliases.length);
});

Deno.test("a base model has the sizes of its instruct model, with its own positions", () => {
  const shapes = embeddedShapes();
  assert.deepEqual(shapes.get("Qwen/Qwen2.5-3B"), shapes.get("Qwen/Qwen2.5-3B-Instruct"));
  const base = shapes.get("Qwen/Qwen3-8B-Base")!, instruct = shapes.get("Qwen/Qwen3-8B")!;
  assert.deepEqual({ ...base, max_position_embeddings: 40960 }, instruct);
  assert.equal(base["max_position_embeddings"], 32768);
});

Deno.test("a shape belongs to the model that it names, whatever the base says", async () => {
  const name = async (name: string, more = "") => {
    const text = `_base_: rgx:models/qwen2.5-7b.yaml\nmodel: {name: "${name}"${more}}\n${REST}`;
    return shapeOf((await load(text)).config.model);
  };
  assert.equal((await name("Qwen/Qwen2.5-7B-Instruct"))?.["hidden_size"], 3584);
  assert.equal((await name("Qwen/Qwen2.5-0.5B-Instruct"))?.["hidden_size"], 896);
  assert.equal((await name("distilgpt2"))?.["n_embd"], 768);
  assert.equal(await name("somewhere/else"), null);
  const { config, yaml } = await load(
    `_base_: rgx:models/qwen2.5-7b.yaml\nmodel: somewhere/else\n${REST}`,
  );
  assert.equal(config.model.shape, null);
  assert.ok(!yaml.includes("Qwen"), "the merged configuration does not speak of another model");
  const described = await name("my/model", ", shape: {of: my/model, hidden_size: 64}");
  assert.equal(described?.["hidden_size"], 64);
  assert.equal(described?.["of"], undefined);
});

Deno.test("a name alone is enough, and another shape can be written for it", async () => {
  const { config } = await load(`model: Qwen/Qwen3-0.6B\n${REST}`);
  assert.equal(shapeOf(config.model)?.["head_dim"], 128);
  const written = await load(
    `model: {name: Qwen/Qwen3-0.6B, shape: {of: Qwen/Qwen3-0.6B, head_dim: 64}}\n${REST}`,
  );
  assert.deepEqual(shapeOf(written.config.model), { head_dim: 64 });
});

Deno.test("sizes that name no model are those of the model beside them", async () => {
  const { config, yaml } = await load(`model: {name: my/model, shape: {hidden_size: 64}}\n${REST}`);
  assert.deepEqual(config.model.shape, { of: "my/model", hidden_size: 64 });
  assert.match(yaml, /shape:\n +of: my\/model\n +hidden_size: 64/);
  assert.deepEqual(shapeOf(config.model), { hidden_size: 64 });
});

Deno.test("sizes beside a model's name that are of another one are an error", async () => {
  const base = "_base_: rgx:models/qwen2.5-7b.yaml\n";
  assert.deepEqual(
    await errorsOf(`${base}model: {name: my/model, shape: {hidden_size: 64}}\n${REST}`),
    [
      'f.yaml:2:33: model.shape.hidden_size: sizes of "Qwen/Qwen2.5-7B-Instruct", and the model is ' +
      '"my/model": write its name in model.shape.of, with all its sizes',
    ],
  );
  const [typo] = await errorsOf(
    `model: {name: my/model, shape: {of: my/modle, n_embd: 4}}\n${REST}`,
  );
  assert.match(
    typo!,
    /^f\.yaml:1:33: model\.shape\.of: sizes of "my\/modle", and the model is "my/,
  );
});
