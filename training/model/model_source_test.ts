import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { loadConfig } from "../../configs/load.ts";
import { goldenPath } from "../../tests/golden.ts";
import { SIZES, writeAdapter, writeBase } from "../../models/adapter_testing.ts";
import { readPeftAdapter } from "../../models/network/adapters/peft_adapter.ts";
import { withReference } from "../../models/testing.ts";
import { openModel } from "./model_source.ts";

const STORIES = goldenPath("models/tinystories-656k"); // 512 positions, theta 10000
const YAML = (model: string, scaling: string) =>
  `model: {model_name_or_path: ${model}, rope_scaling: ${scaling}}\n` +
  "task: chain_sum\nrewards: [correctness]\n";

async function open(model: string, scaling: string) {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(file, YAML(model, scaling));
    return (await openModel((await loadConfig(file)).config)).config;
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("model.rope_scaling takes the place of the model's scaling and keeps its base", async () => {
  const config = await open(STORIES, "{type: dynamic, factor: 4}");
  assert.deepEqual(config.ropeScaling, {
    type: "dynamic",
    factor: 4,
    originalMaxPositions: 512,
  });
  assert.equal(config.maxPositions, 2048);
  assert.equal(config.ropeTheta, 10000);
  const yarn = await open(STORIES, "{rope_type: yarn, factor: 4, rope_theta: 500}");
  assert.equal(yarn.ropeTheta, 500);
});

Deno.test("a wrong model.rope_scaling is refused with the name of the model", async () => {
  await assert.rejects(
    open(STORIES, "{rope_type: yarn, factor: 0.5}"),
    /^UsageError: model\.rope_scaling of .*tinystories-656k: rope_scaling: factor is 0\.5, expected/,
  );
  await assert.rejects(
    open(goldenPath("models/gpt-nano-sort"), "{rope_type: yarn, factor: 2}"),
    /learned positions, which cannot be scaled/,
  );
});

Deno.test("an adapter that is trained further names its base by a path that stays right", () =>
  withFolder((folder) =>
    withReference(async (device) => {
      await writeBase(SIZES, folder);
      const adapter = await writeAdapter(SIZES, folder, device), file = `${folder}/run.yaml`;
      assert.equal((await readPeftAdapter(adapter)).config.baseModel, "../base");
      await Deno.writeTextFile(file, YAML(adapter, "null") + "lora: {r: 4}\n");
      const opened = await openModel((await loadConfig(file)).config);
      assert.equal(opened.adapter!.config.baseModel, await Deno.realPath(`${folder}/base`));
    })
  ));

Deno.test("an adapter beside its base is opened as the folder of the adapter is", () =>
  withFolder((folder) =>
    withReference(async (device) => {
      await writeBase(SIZES, folder);
      const adapter = await writeAdapter(SIZES, folder, device), file = `${folder}/run.yaml`;
      const openWith = async (text: string) => {
        await Deno.writeTextFile(file, text);
        return await openModel((await loadConfig(file)).config);
      };
      const base = `${folder}/base`;
      const beside = await openWith(YAML(base, "null") + `adapter_name_or_path: ${adapter}\n`);
      const alone = await openWith(YAML(adapter, "null") + "lora: {r: 4}\n");
      const { config, read } = beside.adapter!;
      assert.equal(config.baseModel, base);
      assert.deepEqual({ ...config, baseModel: null }, {
        ...alone.adapter!.config,
        baseModel: null,
      });
      const { weights } = await readPeftAdapter(adapter);
      for (const name of weights.tensors.keys()) {
        assert.deepEqual(await read(name), await alone.adapter!.read(name));
      }
      await assert.rejects(
        openWith(YAML(base, "null") + `adapter_name_or_path: ${folder}/none\n`),
        /^UsageError: \S+\/none: no such folder of an adapter$/,
      );
      await assert.rejects(
        openWith(YAML(adapter, "null") + `adapter_name_or_path: ${adapter}\n`),
        /its base model \S+ is an adapter itself/,
      );
    })
  ));
