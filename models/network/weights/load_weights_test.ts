/**
 * Weights that are read in parts are the same as weights that are read at once, for every storage
 * type.
 */
import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { narrowBF16 } from "../../../core/half_floats.ts";
import { createWasmDevice } from "../../../kernels/devices/wasm/device.ts";
import { quantizeQ8 } from "../../../kernels/weights/quantize.ts";
import { initWeights } from "./init.ts";
import { CausalLM } from "../../causal_lm.ts";
import { modelTensors } from "../../architectures/mod.ts";
import { tinyConfig } from "../../testing.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { WeightReader } from "../../formats/weight_reader.ts";
import type { StorageOptions } from "./weight_storage.ts";

/** Matrices of more than one part: [20007, 256] and [20032, 256]. */
const config: ModelConfig = {
  ...tinyConfig(true),
  architecture: "qwen2",
  numLayers: 1,
  hiddenSize: 256,
  intermediateSize: 20_032,
  vocabSize: 20_007,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 64,
};
const VALUES = initWeights(config, 5, 0.3);

/** A file with weights of one type. The parts that are read are added to `seen`. */
function file(type: "f32" | "bf16" | "q8_0", inParts: boolean, seen: string[] = []): WeightReader {
  const matrices = new Set(
    modelTensors(config).filter(({ shape }) => shape.length === 2).map(({ name }) => name),
  );
  const bytes = (name: string) => {
    const values = VALUES.get(name)!;
    if (type === "q8_0") return quantizeQ8(values);
    return new Uint8Array((type === "bf16" ? narrowBF16(values) : values.slice()).buffer);
  };
  const reader: WeightReader = {
    label: "a file",
    typeOf: (name) => matrices.has(name) && type !== "f32" ? type : null,
    dtype: (name) => type === "f32" && matrices.has(name) ? "F32" : null,
    values: (name) => Promise.resolve(VALUES.get(name) ?? null),
    bytes: (name) => Promise.resolve(bytes(name)),
  };
  if (!inParts) return reader;
  return {
    ...reader,
    bytesInto(name, _shape, from, out) {
      seen.push(`${name} ${from}`);
      out.set(bytes(name).subarray(from, from + out.length));
      // Like a tensor whose rows have to be reordered.
      return Promise.resolve(!name.includes("q_proj"));
    },
  };
}

Deno.test("weights that are read in parts are the same weights", async () => {
  const device = await createWasmDevice({ threads: 2 });
  const ways: ["f32" | "bf16" | "q8_0", StorageOptions][] = [
    ["f32", {}],
    ["f32", { quantize: "nf4" }],
    ["q8_0", {}],
    ["bf16", { quantize: "int8" }],
  ];
  for (const [type, weights] of ways) {
    const seen: string[] = [], models: CausalLM[] = [];
    for (const source of [file(type, true, seen), file(type, false)]) {
      models.push(await CausalLM.create(device, config, source, { trainable: "none", weights }));
    }
    assert.ok(seen.filter((part) => part.startsWith("model.layers.0.mlp.up_proj")).length > 1);
    assert.ok(seen.some((part) => part.startsWith("model.embed_tokens") && !part.endsWith(" 0")));
    const [a, b] = models as [CausalLM, CausalLM];
    for (const [i, { name, value, storage }] of a.parameters.entries()) {
      assert.equal(b.parameters[i]!.storage, storage);
      assert.deepEqual(await device.read(value), await device.read(b.parameters[i]!.value), name);
    }
    for (const model of models) model.dispose();
  }
  device.close();
});

Deno.test("a value that is not finite or far too large is refused with its index", async () => {
  const device = await createWasmDevice({ threads: 1 });
  const ways: ["f32" | "bf16" | "q8_0", StorageOptions, number[], RegExp][] = [
    ["f32", {}, [0, 0, 0x80, 0xff], /element \[20000, 3\] is -Infinity, expected a finite number$/],
    ["bf16", {}, [0x7f, 0x7f], /element \[20000, 3\] is 3\.3895\d*e\+38, which overflows in/],
    ["bf16", { quantize: "nf4" }, [0x80, 0x7f], /element \[20000, 3\] is Infinity, expected/],
    ["q8_0", {}, [0, 0x7e], /the scale of elements from \[20000, 96\] on is NaN, expected/],
  ];
  const name = "model.layers.0.mlp.up_proj.weight";
  for (const [type, weights, bytes, message] of ways) {
    const source = file(type, true), first = 20_000 * 256;
    const at = type === "q8_0" ? (first + 96) / 32 * 34 : (first + 3) * bytes.length;
    const spoilt: WeightReader = {
      ...source,
      async bytesInto(asked, shape, from, out) {
        const whole = await source.bytesInto!(asked, shape, from, out);
        if (asked === name && at >= from && at < from + out.length) out.set(bytes, at - from);
        return whole;
      },
    };
    await assert.rejects(
      CausalLM.create(device, config, spoilt, { trainable: "none", weights }),
      refusal(message, RgxError, {
        where: `a file: tensor "${name}": `,
        advice: /^the file is damaged, or the training that made it diverged/,
      }),
    );
    assert.equal(device.allocatedBytes, 0);
  }
  device.close();
});

Deno.test("a file that contradicts config.json is refused before memory is allocated", async () => {
  const device = await createWasmDevice({ threads: 1 });
  const known = new Map(modelTensors(config).map(({ name, shape }) => [name, shape]));
  const source: WeightReader = {
    ...file("f32", true),
    values: () => assert.fail("nothing is read"),
    bytes: () => assert.fail("nothing is read"),
    holds(name, shape) {
      const found = known.get(name);
      if (found !== undefined && String(found) !== String(shape)) throw new RgxError("wrong shape");
      return found !== undefined;
    },
  };
  const refused = (changes: Partial<ModelConfig>, message: RegExp) =>
    assert.rejects(
      CausalLM.create(device, { ...config, ...changes }, source, { trainable: "none" }),
      message,
    );
  await refused({ vocabSize: 2 ** 30 }, /wrong shape/);
  await refused({ numLayers: 9999 }, /a file: the weights hold no tensor "model\.layers\.\d+\./);
  assert.equal(device.allocatedBytes, 0);
  device.close();
});

Deno.test("values from a map and values of adapters are checked, too", async () => {
  const device = await createWasmDevice({ threads: 1 }), small = tinyConfig(false);
  const spoilt = initWeights(small, 5, 0.3), norm = "model.norm.weight";
  spoilt.get(norm)![2] = NaN;
  await assert.rejects(
    CausalLM.create(device, small, spoilt, { trainable: "none" }),
    /^RgxError: tensor "model\.norm\.weight": element \[2\] is NaN, expected a finite number$/,
  );
  const large = initWeights(small, 5, 0.3), name = "model.layers.0.mlp.up_proj.weight";
  large.get(name)![3] = 70_000;
  const weights = { dtype: "float16" } as const;
  await assert.rejects(
    CausalLM.create(device, small, large, { trainable: "none", weights }),
    /up_proj\.weight": element \[0, 3\] is 70000, which is infinite as float16$/,
  );
  // Products in float16 round the weights, too; what is no matrix stays in float32.
  const halved = await createWasmDevice({ threads: 1 });
  halved.computeDtype = "float16";
  for (const dtype of ["float32", "bfloat16"] as const) {
    await assert.rejects(
      CausalLM.create(halved, small, large, { trainable: "none", weights: { dtype } }),
      ({ message, advice }: RgxError) =>
        /up_proj\.weight": element \[0, 3\] is (70000|70144), which is infinite/.test(message) &&
        /take compute_dtype bfloat16/.test(advice!),
    );
  }
  await assert.rejects(
    CausalLM.create(halved, small, large, { trainable: "none", weights: { quantize: "nf4" } }),
    /up_proj\.weight": element \[0, 3\] is 70000, which is infinite as float16$/,
  );
  for (const [type, options] of [["q8_0", {}], ["f32", { quantize: "int8" }]] as const) {
    const beyond = file(type, true), up = "model.layers.0.mlp.up_proj.weight";
    const { bytesInto } = beyond;
    beyond.bytesInto = async (name, shape, from, out) => {
      const whole = await bytesInto!(name, shape, from, out);
      // The scale of row 1's first block, or its first value.
      const row = type === "q8_0" ? 8 * 34 : 256 * 4;
      const bits = type === "q8_0" ? [0, 0x7b] : [0, 0, 0x80, 0x47];
      if (name === up && from === 0) out.set(bits, row);
      return whole;
    };
    await assert.rejects(
      CausalLM.create(halved, config, beyond, { trainable: "none", weights: options }),
      ({ message, advice }: RgxError) =>
        /^a file: tensor ".*up_proj\.weight": element \[1, \d+\] is .*infinite as/.test(message) &&
        /take compute_dtype bfloat16/.test(advice!),
    );
  }
  const usual = initWeights(small, 5, 0.3);
  usual.get(norm)![2] = 70_000;
  (await CausalLM.create(halved, small, usual, { trainable: "full" })).dispose();
  halved.close();
  const lora = { r: 2, alpha: 4, seed: 1, targetModules: ["q_proj" as const] };
  const model = await CausalLM.create(device, small, initWeights(small, 5, 0.3), {
    trainable: "lora",
    lora,
  });
  const { name: adapted, shape } = model.trainable[0]!;
  const values = new Float32Array(shape[0]! * shape[1]!);
  values[shape[1]! + 1] = Infinity;
  assert.throws(() => model.writeParameter(adapted, values), /: element \[1, 1\] is Infinity/);
  model.dispose();
  device.close();
});
