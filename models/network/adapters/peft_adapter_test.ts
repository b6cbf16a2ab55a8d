import assert from "node:assert/strict";
import { refusal, withFolder, writeFiles } from "../../../core/testing.ts";
import { PEFT } from "../../adapter_testing.ts";
import { encodePeftAdapter } from "../../folder_testing.ts";
import { UsageError } from "../../../core/errors.ts";
import {
  isAdapterFolder,
  loraOptions,
  type PeftConfig,
  readPeftAdapter,
  readPeftConfig,
} from "./peft_adapter.ts";
import {
  encodeSafetensors,
  type TensorToWrite,
} from "../../formats/safetensors/safetensors_writer.ts";
import { goldenPath } from "../../../tests/golden.ts";

const golden = goldenPath("trl-step/adapter");

const config: PeftConfig = { ...PEFT, targetModules: ["v_proj", "q_proj"] };

const matrix = (name: string, shape: [number, number]) => ({
  name: `base_model.model.${name}`,
  dtype: "F32" as const,
  shape,
  data: Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => i / 7),
});

async function withFiles(
  files: Iterable<[string, Uint8Array]>,
  test: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    await writeFiles(folder, Object.fromEntries(files));
    await test(folder);
  });
}

Deno.test("an adapter written by PEFT is read and written again with the same weights file", async () => {
  assert.equal(await isAdapterFolder(golden), true);
  const { config, weights } = await readPeftAdapter(golden);
  assert.deepEqual(config, {
    baseModel: "../../models/tinystories-656k",
    revision: null,
    r: 4,
    alpha: 8,
    dropout: 0,
    targetModules: "down_proj gate_proj k_proj o_proj q_proj up_proj v_proj".split(" "),
    useRslora: false,
    rankPattern: {},
    alphaPattern: {},
    layersToTransform: null,
  });
  assert.equal(weights.tensors.size, 2 * 7 * 2);
  const tensors = await Promise.all(
    [...weights.tensors.values()].map(async ({ name, shape }) => ({
      name,
      shape,
      data: await weights.float32(name),
    })),
  );
  const files = await encodePeftAdapter(config, tensors.reverse());
  assert.deepEqual(
    files.get("adapter_model.safetensors"),
    await Deno.readFile(`${golden}/adapter_model.safetensors`),
  );
  const theirs = JSON.parse(await Deno.readTextFile(`${golden}/adapter_config.json`));
  const ours = JSON.parse(new TextDecoder().decode(files.get("adapter_config.json")));
  for (const [key, value] of Object.entries(ours)) assert.deepEqual(value, theirs[key], key);
});

Deno.test("missing keys have PEFT's defaults, unknown ones may only be switched off", () => {
  const read = readPeftConfig(
    { peft_type: "LORA", target_modules: "all-linear", of_tomorrow: false, too: {}, also: null },
    "c",
  );
  assert.throws(
    () => readPeftConfig({ peft_type: "LORA", target_modules: ["q_proj"], lora_twist: 2 }, "c"),
    /^UsageError: c: a key is not understood: lora_twist \(2\)/,
  );
  assert.throws(
    () => readPeftConfig({ peft_type: "LORA", target_modules: ["q_proj"], constructor: 2 }, "c"),
    /a key is not understood: constructor \(2\)/,
  );
  assert.deepEqual([read.r, read.alpha, read.targetModules], [8, 8, "all-linear"]);
  const one = readPeftConfig(
    {
      peft_type: "LORA",
      target_modules: ["q_proj"],
      layers_to_transform: 3,
      modules_to_save: [],
      exclude_modules: [],
      layers_pattern: ["layers"],
      use_bdlora: null,
    },
    "c",
  );
  assert.deepEqual(one.layersToTransform, [3]);
});

Deno.test("other kinds of adapters are refused by name", () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ peft_type: "LOHA" }, /^a\/adapter_config\.json: peft_type is "LOHA", only "LORA"/],
    [{ use_qalora: true }, /use_qalora is true, which is not supported/],
    [{ bias: "some" }, /bias is "some", expected none, all, lora_only/],
    [{ modules_to_save: "lm_head" }, /modules_to_save is "lm_head", expected a list of module/],
    [{ modules_to_save: [1] }, /modules_to_save is \[1\]/],
    [
      { exclude_modules: { a: 1 } },
      /exclude_modules is \{"a":1\}, expected a list of module names/,
    ],
    [{ ensure_weight_tying: true }, /ensure_weight_tying is true, which is not supported/],
    [{ init_lora_weights: "pissa_niter_4" }, /init_lora_weights is "pissa_niter_4"/],
    [{ layer_replication: [[0, 2]] }, /layer_replication is \[\[0,2\]\]/],
    [{ layers_pattern: "blocks" }, /layers_pattern is "blocks"/],
    [{ trainable_token_indices: { lm_head: [1] } }, /trainable_token_indices is/],
    [{ target_modules: [] }, /target_modules is \[\], expected a list of module names/],
    [{ target_modules: undefined }, /target_modules is undefined/],
    [{ r: 0 }, /r is 0, expected a whole number, at least 1/],
    [{ lora_alpha: Infinity }, /lora_alpha is Infinity, expected a number, at least 0/],
    [{ r: 2.5 }, /r is 2\.5, expected a whole number/],
    [{ lora_alpha: "8" }, /lora_alpha is "8"/],
    [{ rank_pattern: { q: "x" } }, /rank_pattern is/],
    [{ base_model_name_or_path: 3 }, /base_model_name_or_path is 3, expected a text/],
  ];
  for (const [change, message] of cases) {
    const json = { peft_type: "LORA", target_modules: ["q_proj"], ...change };
    assert.throws(
      () => readPeftConfig(json, "a/adapter_config.json"),
      refusal(message, UsageError),
    );
  }
});

Deno.test("weights that are not pairs of LoRA matrices are refused", async () => {
  const a = matrix("m.q_proj.lora_A.weight", [2, 6]), b = matrix("m.q_proj.lora_B.weight", [6, 2]);
  const cases: [TensorToWrite[], RegExp][] = [
    [[a], /there is ".*lora_A\.weight" but no ".*lora_B\.weight"/],
    [[a, { ...b, shape: [4, 3] }], /has shape \[2,6\] and .* \[4,3\], expected \[r, in\]/],
    [[a, b, matrix("lm_head.weight", [2, 2])], /"base_model\.model\.lm_head\.weight" is no LoRA/],
  ];
  const json = (await encodePeftAdapter(config, [])).get("adapter_config.json")!;
  const saving = { ...config, modulesToSave: ["lm_head", "norm"], excludeModules: ["o_proj"] };
  const head = matrix("lm_head.weight", [2, 2]), norm = matrix("model.norm.weight", [1, 2]);
  await withFiles(await encodePeftAdapter(saving, [a, b, head, norm]), async (folder) => {
    const read = await readPeftAdapter(folder);
    assert.deepEqual(read.config.modulesToSave, ["lm_head", "norm"]);
    assert.deepEqual(read.config.excludeModules, ["o_proj"]);
    assert.deepEqual(loraOptions(read.config).modulesToSave, ["lm_head", "norm"]);
    assert.deepEqual(await read.weights.float32(head.name), head.data);
  });
  const other = await encodePeftAdapter(saving, [
    a,
    b,
    matrix("model.embed_tokens.weight", [2, 2]),
  ]);
  await withFiles(
    other,
    (folder) =>
      assert.rejects(
        readPeftAdapter(folder),
        /embed_tokens\.weight" is no LoRA matrix.*modules_to/,
      ),
  );
  for (const [tensors, message] of cases) {
    const files: [string, Uint8Array][] = [
      ["adapter_config.json", json],
      ["adapter_model.safetensors", encodeSafetensors(tensors)],
    ];
    await withFiles(files, (folder) => assert.rejects(readPeftAdapter(folder), message));
  }
  await withFiles([["adapter_config.json", json]], (folder) =>
    assert.rejects(
      readPeftAdapter(folder),
      /adapter_config\.json is there but no adapter_model\.safetensors/,
    ));
  await withFiles([], async (folder) => {
    assert.equal(await isAdapterFolder(folder), false);
    await assert.rejects(readPeftAdapter(folder), /no adapter: looked for/);
  });
});
