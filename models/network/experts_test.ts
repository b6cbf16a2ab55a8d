/** A tiny gpt-oss whose experts are in MXFP4, as its safetensors and as GGUF files have them. */
import assert from "node:assert/strict";
import { narrowBF16 } from "../../core/half_floats.ts";
import { withFolder } from "../../core/testing.ts";
import { assertWithin, largest, stream } from "../../kernels/testing.ts";
import { goldenPath } from "../../tests/golden.ts";
import { modelTensors } from "../architectures/mod.ts";
import { CausalLM } from "../causal_lm.ts";
import { onEachDevice } from "../each_device_testing.ts";
import { exportModel } from "../export/export.ts";
import { parseGguf } from "../formats/gguf/gguf.ts";
import { ggufWeights } from "../formats/gguf/gguf_weights.ts";
import { encodeTestGguf } from "../formats/gguf/testing.ts";
import { readSafetensors } from "../formats/safetensors/safetensors.ts";
import { type StreamedTensor, writeSafetensors } from "../formats/tensor_stream.ts";
import { readModelFolder } from "../model_folder.ts";
import { assertSameStep, trainStep } from "../testing.ts";
import { parameterBytes } from "./counted_network.ts";
import { configType } from "./weights/weight_storage.ts";

const GOLDEN = goldenPath("families/gpt_oss");
const GROUPS = [{ promptIds: [7, 21, 3], branches: [[4, 40, 5, 9], [6, 6]] }];
const LORA = {
  r: 2,
  alpha: 4,
  targetModules: "all-linear",
  targetParameters: ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
} as const;

/** The golden model with random blocks of MXFP4 for its experts, and all else in bfloat16. */
async function writeModel(folder: string): Promise<void> {
  const golden = await readSafetensors(`${GOLDEN}/model.safetensors`);
  const random = stream("mxfp4"), tensors: StreamedTensor[] = [];
  for (const { name, shape } of golden.tensors.values()) {
    if (!/experts\.\w+_proj$/.test(name)) {
      const bytes = new Uint8Array(narrowBF16(await golden.float32(name)).buffer);
      tensors.push({ name, shape, dtype: "BF16", bytes: () => [bytes] });
      continue;
    }
    const [count, width, rows] = shape as [number, number, number],
      blocks = [count, rows, width / 32];
    const put = (ending: string, shape: readonly number[], from: number, to: number) => {
      const bytes = Uint8Array.from(
        { length: shape.reduce((a, b) => a * b) },
        () => random.int(from, to),
      );
      tensors.push({ name: name + ending, shape, dtype: "U8", bytes: () => [bytes] });
    };
    put("_blocks", [...blocks, 16], 0, 255);
    put("_scales", blocks, 122, 124);
  }
  await writeSafetensors(`${folder}/model.safetensors`, tensors);
  const config = JSON.parse(await Deno.readTextFile(`${GOLDEN}/config.json`));
  await Deno.writeTextFile(
    `${folder}/config.json`,
    JSON.stringify({
      ...config,
      dtype: "bfloat16",
      quantization_config: { quant_method: "mxfp4" },
    }),
  );
}

Deno.test("experts in MXFP4 are held as stored, with the logits and gradients of their values", () =>
  withFolder(async (folder) => {
    await writeModel(folder);
    const { config, files } = await readModelFolder(folder);
    const json = JSON.parse(await Deno.readTextFile(`${folder}/config.json`));
    for (const { name } of modelTensors(config)) {
      assert.equal(configType(json, name), files.typeOf(name), "a plan without the files");
    }
    await onEachDevice(async (device, exact) => {
      const found = [];
      for (const dtype of ["auto", "float32"] as const) {
        const before = device.allocatedBytes, weights = { dtype };
        const model = await CausalLM.create(device, config, files, {
          trainable: "lora",
          lora: LORA,
          weights,
        });
        for (const { name, shape } of model.trainable) {
          const values = Float64Array.from(
            { length: shape.reduce((a, b) => a * b) },
            (_, i) => 0.2 * Math.sin(i * 1.7 + name.length),
          );
          model.writeParameter(name, values);
        }
        const ofExperts = model.parameters.filter(({ name }) =>
          /experts\.\w+_proj\.weight$/.test(name)
        );
        assert.equal(ofExperts.length, 6);
        const storage = new Set(ofExperts.map(({ storage }) => storage));
        assert.deepEqual([...storage], [dtype === "auto" ? "mxfp4" : null]);
        const bytes = device.allocatedBytes - before;
        const planned = parameterBytes(model.sizes);
        if (!exact) assert.equal(planned.values + planned.gradients, bytes);
        const logits = await model.lastLogits([7, 21, 3]);
        const dlogp = Float64Array.from({ length: 6 }, (_, i) => 1 - 0.3 * i);
        const step = await trainStep(model, GROUPS, { dlogp }, { temperature: 1 });
        found.push({ logits, step, bytes });
        model.dispose();
      }
      const [stored, floats] = found, bound = exact ? 1e-12 : 1e-4;
      assertWithin(stored!.logits, floats!.logits, bound * largest(floats!.logits), "logits");
      assertSameStep(stored!.step, floats!.step, bound, { logp: 10 * bound });
      // 3 layers of 4 experts of 96 rows of 32; bfloat16 of the others is the same in both.
      assert.ok(floats!.bytes - stored!.bytes > 3 * 4 * 96 * 32 * (4 - 17 / 32));
    });
  }));

Deno.test("a model with experts in MXFP4 is written in bfloat16, which holds its values", () =>
  withFolder(async (folder) => {
    await writeModel(folder);
    const { dtype, path } = await exportModel(folder, { to: "hf", output: `${folder}/hf` });
    assert.equal(dtype, "bf16");
    const [from, to] = await Promise.all([folder, path].map((path) => readModelFolder(path)));
    const name = "model.layers.1.mlp.experts.gate_up_proj.weight", shape = [4, 64, 32];
    assert.equal(to!.files.typeOf(name), "bf16");
    assert.deepEqual(await to!.files.values(name, shape), await from!.files.values(name, shape));
  }));

Deno.test("experts of a GGUF file in MXFP4 have the bytes and values of safetensors", () =>
  withFolder(async (folder) => {
    await writeModel(folder);
    const { config, files } = await readModelFolder(folder);
    const name = "model.layers.1.mlp.experts.gate_up_proj.weight", shape = [4, 64, 32];
    const expected = await files.bytes(name, shape), row = 17;
    const ofFile = (tensor: string, first: number) => ({
      name: `blk.1.ffn_${tensor}_exps.weight`,
      shape: [4, 32, 32],
      typeId: 39,
      data: Uint8Array.from(
        { length: expected.length / 2 },
        (_, i) => expected[(2 * Math.floor(i / row) + first) * row + i % row]!,
      ),
    });
    const gguf = encodeTestGguf({}, [ofFile("gate", 0), ofFile("up", 1)]);
    const file = ggufWeights(await parseGguf(gguf), config);
    assert.equal(file.typeOf(name), "mxfp4");
    assert.deepEqual(await file.bytes(name, shape), expected);
    const part = new Uint8Array(5 * row);
    assert.equal(await file.bytesInto!(name, shape, 3 * row, part), true);
    assert.deepEqual(part, expected.subarray(3 * row, 8 * row));
    assert.deepEqual(await file.values(name, shape), await files.values(name, shape));
  }));
