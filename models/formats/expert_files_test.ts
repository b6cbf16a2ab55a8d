import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { goldenPath } from "../../tests/golden.ts";
import { fileTensors, modelTensors } from "../architectures/mod.ts";
import { fileValues, joinExperts } from "./expert_files.ts";
import { readModelFolder } from "../model_folder.ts";
import { readSafetensors } from "./safetensors/safetensors.ts";
import { safetensorsContent, tensorInParts } from "./tensor_stream.ts";
import { writeFlushed } from "../../core/atomic_file.ts";
import { openWeightFiles } from "./weight_files.ts";

/** Writes `model.safetensors` of these tensors. */
async function write(
  folder: string,
  tensors: readonly { name: string; shape: readonly number[]; data: Float32Array }[],
) {
  const streamed = tensors.map(({ name, shape, data }) =>
    tensorInParts(
      { name, shape, dtype: "F32" },
      (from, count) => Promise.resolve(data.subarray(from, from + count)),
    )
  );
  await writeFlushed(`${folder}/model.safetensors`, safetensorsContent(streamed)());
}

for (const family of ["qwen3_moe", "mixtral"]) {
  const folder = goldenPath(`families/${family}`)!;
  Deno.test(`experts of ${family} are read one by one and as two tensors, and written one by one`, () =>
    withFolder(async (temporary) => {
      const { config, files: given } = await readModelFolder(folder);
      const tensors = modelTensors(config);
      const stored = await readSafetensors(`${folder}/model.safetensors`);
      const written = tensors.flatMap((tensor) => fileTensors(config, tensor));
      const shapes = (all: Iterable<{ name: string; shape: readonly number[] }>) =>
        [...all].map(({ name, shape }) => `${name} ${shape}`).sort();
      assert.deepEqual(shapes(written), shapes(stored.tensors.values()));
      const fused = await Promise.all(tensors.map(async ({ name, shape }) => ({
        name: name.replace(/(experts\.\w+)\.weight$/, "$1"),
        shape,
        data: Float32Array.from((await given.values(name, shape))!),
      })));
      await write(temporary, fused);
      const files = await openWeightFiles(temporary, false);
      for (const [i, tensor] of tensors.entries()) {
        const { name, shape } = tensor, { data } = fused[i]!;
        assert.deepEqual(await files.values(name, shape), data);
        for (const { name, shape, from } of fileTensors(config, tensor)) {
          const part = await stored.float32(name);
          assert.deepEqual(part, data.slice(from, from + part.length), `${name} ${shape}`);
        }
      }
    }));
}

Deno.test("experts of gpt_oss are read and written transposed, with transformers' MXFP4 values", () =>
  withFolder(async (temporary) => {
    const folder = goldenPath("families/gpt_oss"), { config } = await readModelFolder(folder);
    const stored = await readSafetensors(`${folder}/model.safetensors`);
    const files = await openWeightFiles(folder, false);
    const written = modelTensors(config).map((tensor) => fileTensors(config, tensor)[0]!);
    for (const [i, { name, shape }] of modelTensors(config).entries()) {
      const values = (await files.values(name, shape))!, tensor = written[i]!;
      assert.deepEqual(fileValues(values, tensor), await stored.float32(tensor.name), name);
    }
    const bytes = await Deno.readFile(`${folder}/mxfp4.safetensors`);
    await Deno.writeFile(`${temporary}/model.safetensors`, bytes);
    const golden = await readSafetensors(`${folder}/mxfp4.safetensors`);
    const name = "model.layers.0.mlp.experts.down_proj.weight", shape = [2, 3, 64];
    const blocks = await openWeightFiles(temporary, false);
    assert.equal(blocks.typeOf(name), "mxfp4");
    const values = (await blocks.values(name, shape))!;
    const transposed = { name, shape: [2, 64, 3], from: 0, transposed: true };
    // Zero has no sign here.
    const wanted = (await golden.float32("values")).map((x) => x + 0);
    assert.deepEqual(fileValues(values, transposed), wanted);
    const part = new Uint8Array(3 * 17), all = await blocks.bytes(name, shape);
    assert.ok(await blocks.bytesInto(name, shape, 5 * 17, part));
    assert.deepEqual(part, all.slice(5 * 17, 8 * 17));
    const scales = golden.info(`${name.replace(".weight", "_scales")}`);
    const lost = new Map([[name.replace(".weight", "_blocks"), golden]]);
    assert.throws(() => joinExperts(lost, "m"), /"\S+_scales" U8 \[2, 3, 2\], which is missing/);
    assert.deepEqual(scales.shape, [2, 3, 2]);
  }));

Deno.test("a missing expert, or one of another shape, is refused by name", () =>
  withFolder(async (temporary) => {
    const stored = await readSafetensors(`${goldenPath("families/mixtral")}/model.safetensors`);
    const all = await Promise.all([...stored.tensors.values()].map(async ({ name, shape }) => ({
      name,
      shape,
      data: await stored.float32(name),
    })));
    const lost = "model.layers.1.block_sparse_moe.experts.2.w3.weight";
    const open = () => openWeightFiles(temporary, false);
    await write(temporary, all.filter(({ name }) => name !== lost));
    await assert.rejects(
      open(),
      /tensor "model\.layers\.1\..*\.2\.w3\.weight" is missing: .* 4 exp/,
    );
    await write(
      temporary,
      all.map((tensor) => tensor.name === lost ? { ...tensor, shape: [12, 32] } : tensor),
    );
    await assert.rejects(open(), /\.2\.w3\.weight" is F32 \[12, 32\], expected F32 \[24, 16\]/);
    await write(temporary, all.filter(({ name }) => !/experts\.[23]\./.test(name)));
    const { config } = await readModelFolder(goldenPath("families/mixtral")), files = await open();
    const experts = modelTensors(config).find(({ part }) => part === "gateUp")!;
    assert.throws(
      () => files.holds(experts.name, experts.shape),
      /has shape \[2, 48, 16\], expected \[4, 48, 16\]/,
    );
  }));
