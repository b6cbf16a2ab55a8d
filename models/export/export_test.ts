/**
 * Exported models are loaded again and compared with their originals: equal logits in f32, and
 * within rounding in all other types, for every architecture and with merged adapters.
 */
import assert from "node:assert/strict";
import { refusal } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import {
  adapterOn,
  distance,
  logitsOf,
  logitsOfModel,
  PEFT,
  SIZES,
  tokenizer,
} from "../adapter_testing.ts";
import { convertModel } from "./convert.ts";
import { exportModel, type ExportOptions } from "./export.ts";
import type { WeightType } from "../formats/weight_types.ts";
import { readGguf } from "../formats/gguf/gguf.ts";
import { loadModel } from "../load_model.ts";
import { readModelFolder } from "../model_folder.ts";
import { readPeftAdapter } from "../network/adapters/peft_adapter.ts";
import { encodeSafetensors } from "../formats/safetensors/safetensors_writer.ts";
import { readSafetensors } from "../formats/safetensors/safetensors.ts";
import { test } from "../testing.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { goldenPath } from "../../tests/golden.ts";

const golden = goldenPath("tiny-models");
/** A tiny golden model, with a tokenizer that these models do not have. */
async function goldenModel(name: string, folder: string): Promise<string> {
  const target = `${folder}/${name}`;
  await Deno.mkdir(target);
  for (const file of ["config.json", "model.safetensors"]) {
    await Deno.copyFile(`${golden}/${name}/${file}`, `${target}/${file}`);
  }
  for (const [file, text] of tokenizer.files()) await Deno.writeTextFile(`${target}/${file}`, text);
  return target;
}

/**
 * Allowed relative distance of the logits, due to rounded weights in both layers of these models.
 */
const LIMIT: Readonly<Record<WeightType, number>> = {
  f32: 0,
  f16: 2e-3,
  bf16: 1.5e-2,
  q8_0: 5e-2,
  q4_0: 0.5,
  // Rows of these models are shorter than their blocks: they are q8_0.
  q6_k: 5e-2,
  q4_k_m: 5e-2,
};

for (const name of ["llama", "llama3", "mistral", "qwen2", "qwen3", "smollm2", "gpt2"]) {
  test.inFolder(
    `${name}: exported and loaded again, the logits are the same`,
    async (folder, device) => {
      const source = await goldenModel(name, folder), wanted = await logitsOf(source, device);
      for (const to of ["hf", "gguf"] as const) {
        const all = to === "hf" ? ["f32", "f16", "bf16"] as const : GGUF_TYPES;
        // Types are of matrices: of [out, in], and in GPT-2 of [in, out].
        const types = ["llama", "gpt2"].includes(name) ? all : all.slice(0, 1);
        for (const dtype of types) {
          const output = `${folder}/out-${to}-${dtype}${to === "gguf" ? ".gguf" : ""}`;
          const { path } = await exportModel(source, { to, dtype, output });
          const found = distance(await logitsOf(path, device), wanted);
          assert.ok(found <= LIMIT[dtype], `${to} ${dtype}: ${found}`);
          assert.equal(found === 0, dtype === "f32", `${to} ${dtype}: ${found}`);
          const again = (await readModelFolder(path)).tokenizer!;
          assert.deepEqual(again.encode("it's 5 < 6"), tokenizer.encode("it's 5 < 6"));
          assert.equal(again.decode(again.encode("a  b")), "a  b");
        }
      }
    },
  );
}

const GGUF_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0"] as const;

const GPT2_SIZES: ModelConfig = { ...SIZES, architecture: "gpt2", numKvHeads: 4 };

const TIED = { ...SIZES, tieWordEmbeddings: true };

for (const [what, config] of [["untied", SIZES], ["tied", TIED], ["GPT-2", GPT2_SIZES]] as const) {
  test.inFolder(
    `an adapter is merged into the weights of a base, ${what}`,
    async (folder, device) => {
      const adapter = await adapterOn(config, folder, device);
      const wanted = await logitsOf(adapter, device), base = `${folder}/base`;
      assert.ok(distance(await logitsOf(base, device), wanted) > 0.1);
      const alone = { to: "adapter", output: `${folder}/alone.gguf` } as const;
      await exportModel(adapter, alone);
      using onBase = await loadModel(base, device, { adapter: alone.output });
      assert.ok(distance(await logitsOfModel(onBase), wanted) < 1e-6);
      const { path, dtype } = await exportModel(adapter, { to: "hf", output: `${folder}/hf` });
      assert.equal(dtype, "f32", "as the base is stored");
      // Merged weights are rounded to float32.
      assert.ok(distance(await logitsOf(path, device), wanted) < 1e-6);
      const merged = await readModelFolder(path);
      assert.equal(merged.adapter, null);
      assert.deepEqual(merged.generationEosIds, [2, 1]);
      for (const type of ["f32", "q8_0"] as const) {
        const output = `${folder}/${type}`;
        const gguf = await exportModel(adapter, { to: "gguf", dtype: type, output });
        assert.equal(gguf.path, `${output}/model-${type}.gguf`);
        const found = distance(await logitsOf(gguf.path, device), wanted);
        assert.ok(found < Math.max(1e-6, LIMIT[type]), `${type}: ${found}`);
        const back = await readModelFolder(gguf.path);
        assert.deepEqual(back.generationEosIds, [2, 1]);
        assert.equal(back.padId, 0);
      }
    },
  );
}

const SAVED: [ModelConfig, string[], staysTied: boolean][] = [
  [TIED, ["lm_head"], false],
  [TIED, ["embed_tokens"], false],
  [TIED, ["norm"], true],
  [SIZES, ["lm_head", "layers.1.mlp"], false],
  [{ ...GPT2_SIZES, tieWordEmbeddings: true }, ["wte", "ln_f"], false],
];

for (const [config, modulesToSave, staysTied] of SAVED) {
  test.inFolder(
    `${modulesToSave} stored in full are merged, and heads untied`,
    async (folder, device) => {
      const adapter = await adapterOn(config, folder, device, { ...PEFT, modulesToSave });
      const wanted = await logitsOf(adapter, device);
      for (const to of ["hf", "gguf"] as const) {
        const { path } = await exportModel(adapter, { to, output: `${folder}/${to}` });
        assert.ok(distance(await logitsOf(path, device), wanted) < 1e-6);
        assert.equal((await readModelFolder(path)).config.tieWordEmbeddings, staysTied);
      }
      await assert.rejects(
        exportModel(adapter, { to: "adapter", output: `${folder}/alone.gguf` }),
        /a GGUF file of an adapter has no place for modules that are stored in full/,
      );
      const { notes } = await exportModel(adapter, { to: "adapter", output: `${folder}/alone` });
      assert.match(notes.join(), /vLLM takes no adapter with modules_to_save/);
      assert.equal(distance(await logitsOf(`${folder}/alone`, device), wanted), 0);
    },
  );
}

test.inFolder(
  "an exported adapter finds its base from anywhere and holds no other files",
  async (folder, device) => {
    const adapter = await adapterOn(SIZES, folder, device);
    const output = `${folder}/elsewhere/deep/exported`;
    await exportModel(adapter, { to: "adapter", output });
    const names = [...Deno.readDirSync(output)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["adapter_config.json", "adapter_model.safetensors"]);
    assert.equal(
      distance(await logitsOf(output, device), await logitsOf(adapter, device)),
      0,
    );
    const { config, weights } = await readPeftAdapter(output);
    assert.equal(config.baseModel, await Deno.realPath(`${folder}/base`));
    assert.deepEqual(weights.metadata, { format: "pt" });
    await exportModel(adapter, { to: "adapter", dtype: "bf16", output, force: true });
    const narrow = (await readPeftAdapter(output)).weights;
    assert.ok([...narrow.tensors.values()].every(({ dtype }) => dtype === "BF16"));
  },
);

test.inFolder(
  "a GGUF file becomes a folder with the same weights, in types that represent them",
  async (folder, device) => {
    const blocks = goldenPath("ggml-blocks");
    const f16 = `${folder}/f16.gguf`;
    await exportModel(`${blocks}/tiny-llama.f32.gguf`, {
      to: "gguf",
      dtype: "f16",
      output: f16,
    });
    const sources: [string, string, string][] = [
      [`${blocks}/tiny-llama.f32.gguf`, "F32", "float32"],
      [`${blocks}/tiny-llama.q8_0.gguf`, "F32", "float32"],
      [f16, "F16", "float16"],
    ];
    for (const [source, stored, dtype] of sources) {
      const output = `${folder}/hf-${stored}`;
      await convertModel(source, { output, force: true });
      assert.equal(distance(await logitsOf(output, device), await logitsOf(source, device)), 0);
      const weights = await readSafetensors(`${output}/model.safetensors`);
      assert.equal(weights.info("model.embed_tokens.weight").dtype, stored);
      assert.equal(weights.info("model.norm.weight").dtype, "F32");
      const config = JSON.parse(await Deno.readTextFile(`${output}/config.json`));
      assert.equal(config.dtype, dtype);
      const before = await readModelFolder(source), after = await readModelFolder(output);
      assert.deepEqual(after.config, before.config);
      assert.deepEqual(after.tokenizer!.files(), before.tokenizer!.files());
      assert.deepEqual(
        [after.generationEosIds, after.bosId, after.padId],
        [before.generationEosIds, before.bosId, before.padId],
      );
    }
  },
);

test.inFolder("blocks, permuted rows and names are those of llama.cpp's converter", async (folder) => {
  const source = await goldenModel("llama", folder);
  for (const dtype of ["f32", "q8_0"] as const) {
    const output = `${folder}/m.gguf`;
    await exportModel(source, { to: "gguf", dtype, output, force: true });
    const path = goldenPath(`ggml-blocks/tiny-llama.${dtype}.gguf`);
    const [found, wanted] = [await readGguf(output), await readGguf(path)];
    const bytes = [await Deno.readFile(output), await Deno.readFile(path)] as const;
    assert.deepEqual([...found.tensors.keys()].sort(), [...wanted.tensors.keys()].sort());
    for (const [name, { begin, end }] of wanted.tensors) {
      const { begin: from, end: to } = found.info(name), own = bytes[0].subarray(from, to);
      assert.deepEqual(own, bytes[1].subarray(begin, end), `${dtype} ${name}`);
    }
    for (const [key, value] of wanted.metadata) {
      if (!key.startsWith("llama.") || !found.metadata.has(key)) continue;
      assert.deepEqual(found.metadata.get(key), value, key);
    }
  }
});

test.inFolder("a model that also sees is exported in the type of its weights", async (folder) => {
  const from = goldenPath("families/mistral3"), dtype = "BF16";
  const file = await readSafetensors(`${from}/model.safetensors`);
  const tensors = [...file.tensors.values()].map(async ({ name, shape }) => {
    return { name, shape, dtype, data: await file.float32(name) } as const;
  });
  await Deno.writeFile(
    `${folder}/model.safetensors`,
    encodeSafetensors(await Promise.all(tensors)),
  );
  await Deno.copyFile(`${from}/config.json`, `${folder}/config.json`);
  const exported = await exportModel(folder, { to: "hf", output: `${folder}/out` });
  assert.equal(exported.dtype, "bf16");
});

test.inFolder("shards of any model become one file, byte for byte", async (folder) => {
  const source = `${folder}/sharded`;
  await Deno.mkdir(source);
  const tensor = (name: string, dtype: "BF16" | "F8_E4M3", data: number[]) => ({
    name,
    dtype,
    data: Uint8Array.from(data),
    shape: [data.length / (dtype[0] === "B" ? 2 : 1)],
  });
  const shards = [[tensor("experts.0", "BF16", [1, 2, 3, 4])], [
    tensor("experts.1", "F8_E4M3", [5, 6, 7]),
  ]];
  const map: Record<string, string> = {};
  for (const [i, tensors] of shards.entries()) {
    const name = `model-0000${i + 1}-of-00002.safetensors`;
    await Deno.writeFile(`${source}/${name}`, encodeSafetensors(tensors));
    for (const { name: tensor } of tensors) map[tensor] = name;
  }
  await Deno.writeTextFile(
    `${source}/model.safetensors.index.json`,
    JSON.stringify({ metadata: { total_size: 7 }, weight_map: map }),
  );
  await Deno.writeTextFile(`${source}/config.json`, `{"model_type":"other"}`);
  await convertModel(source, { output: `${folder}/one` });
  const one = await Deno.readFile(`${folder}/one/model.safetensors`);
  assert.deepEqual(one, encodeSafetensors(shards.flat()));
  assert.equal(await Deno.readTextFile(`${folder}/one/config.json`), `{"model_type":"other"}`);
  await assert.rejects(
    convertModel(`${folder}/one`, { output: `${folder}/two` }),
    /it has one model\.safetensors already/,
  );
});

test.inFolder(
  "impossible exports are refused, and nothing is left behind",
  async (folder, device) => {
    const adapter = await adapterOn(SIZES, folder, device), base = `${folder}/base`;
    const output = `${folder}/out`;
    const refused = (checkpoint: string, options: Partial<ExportOptions>, message: RegExp) => {
      const exported = exportModel(checkpoint, { to: "hf", output, ...options });
      return assert.rejects(exported, refusal(message, UsageError));
    };
    await refused(base, { to: "onnx" as "hf" }, /to onnx: not known, expected adapter, hf, g/);
    await refused(base, { dtype: "q5_k" as "f32" }, /dtype q5_k: not known, expected f32/);
    await refused(base, { dtype: "q8_0" }, /dtype q8_0 is a type of GGUF files only/);
    await refused(base, { imatrix: "i" }, /imatrix: hf does not heed it/);
    await refused(base, { to: "gguf", dtype: "f16", imatrix: "i" }, /imatrix: f16 does not heed/);
    const imatrix = `${folder}/photos/imatrix.dat`;
    await Deno.mkdir(`${folder}/photos`);
    // One tensor with the name x and one column.
    const one = [1, 0, 0, 0];
    await Deno.writeFile(
      imatrix,
      Uint8Array.of(...one, ...one, 120, ...one, ...one, 0, 0, 128, 63),
    );
    await refused(base, { to: "gguf", dtype: "q6_k", imatrix }, /dat: it names no tensor of the/);
    await refused(base, { to: "adapter" }, /no adapter to export/);
    await refused(base, { to: "adapter", output: "a.gguf" }, /no adapter to export/);
    await refused(`${folder}/nowhere`, { to: "adapter" }, /nowhere: no such model/);
    await refused(`${folder}/nowhere`, {}, /nowhere: no such model/);
    await refused(base, { output: "" }, /the output is empty/);
    await refused(
      adapter,
      { output: adapter, force: true },
      /adapter, which is read, lies there/,
    );
    await refused(adapter, { output: base, force: true }, /base, which is read, lies there/);
    await refused(adapter, { output: folder, force: true }, /which is read, lies there/);
    await Deno.writeTextFile(`${folder}/photos/a.txt`, "a");
    await refused(adapter, { output: `${folder}/photos`, force: true }, /it is not a model/);
    await refused(
      adapter,
      { output: `${folder}/photos/a.txt` },
      /it is a file, expected a folder/,
    );
    await refused(
      adapter,
      { output: `${folder}/photos/a.txt/b` },
      /a part of the path is a file/,
    );

    await exportModel(adapter, { to: "hf", output });
    await refused(adapter, {}, /out: it is there already/);
    await exportModel(adapter, { to: "hf", output, dtype: "f16", force: true });
    await exportModel(adapter, { to: "gguf", output: `${folder}/m.gguf` });
    await refused(adapter, { to: "gguf", output: `${folder}/m.gguf` }, /m\.gguf: it is there/);

    const signal = AbortSignal.abort(new UsageError("enough"));
    for (const to of ["hf", "gguf"] as const) {
      await refused(adapter, { to, output: `${folder}/late.gguf`, signal }, /^enough$/);
    }
    await Deno.rename(base, `${folder}/moved`);
    // A folder ../base beside the working directory would be taken: the name is this test's own.
    const gone = `../gone-${folder.split("/").at(-1)}`;
    const file = `${adapter}/adapter_config.json`;
    const written = {
      ...JSON.parse(await Deno.readTextFile(file)),
      base_model_name_or_path: gone,
    };
    await Deno.writeTextFile(file, JSON.stringify(written));
    await refused(adapter, { output: `${folder}/new` }, /base model.*\.\.\/gone-/);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["adapter", "m.gguf", "moved", "out", "photos"]);
  },
);

test.inFolder("matrices whose rows are not whole blocks become f16", async (folder, device) => {
  const odd = await adapterOn({ ...SIZES, hiddenSize: 40 }, folder, device);
  const options = { to: "gguf", dtype: "q4_0", output: `${folder}/q.gguf` } as const;
  const { notes } = await exportModel(odd, options);
  assert.match(notes.join(), /^12 matrices are f16/);
  const file = await readGguf(options.output);
  const type = (name: string) => file.info(name).type.name;
  assert.equal(type("blk.0.ffn_down.weight"), "Q4_0");
  assert.equal(type("blk.0.attn_q.weight"), "F16");
  assert.equal(type("blk.0.attn_norm.weight"), "F32");
  assert.equal(file.metadata.get("general.quantization_version"), 2);
});

test.inFolder(
  "a note says that llama.cpp ignores a model's sliding window",
  async (folder, device) => {
    const sizes: ModelConfig = { ...SIZES, architecture: "qwen2", slidingWindow: 8 };
    const { notes } = await exportModel(await adapterOn(sizes, folder, device), {
      to: "gguf",
      dtype: "f32",
      output: `${folder}/w.gguf`,
    });
    assert.match(notes.join(), /llama\.cpp attends to all positions, not to the last 8/);
    assert.equal((await readModelFolder(`${folder}/w.gguf`)).config.slidingWindow, 8);
  },
);
