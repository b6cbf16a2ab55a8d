/**
 * GGUF files of the Qwen families, made here from the tiny golden models with llama.cpp's names.
 */
import assert from "node:assert/strict";
import { encodeTestGguf, type TestMetadata } from "./formats/gguf/testing.ts";
import { readModelFolder } from "./model_folder.ts";
import { readSafetensors } from "./formats/safetensors/safetensors.ts";
import { goldenPath } from "../tests/golden.ts";

/** Replaced one after the other. */
const NAMES: readonly [RegExp, string][] = [
  [/^model\.embed_tokens/, "token_embd"],
  [/^model\.norm/, "output_norm"],
  [/^model\.layers\.(\d+)\./, "blk.$1."],
  [/self_attn\.([qk])_norm/, "attn_$1_norm"],
  [/self_attn\.o_proj/, "attn_output"],
  [/self_attn\.([qkv])_proj/, "attn_$1"],
  [/input_layernorm/, "attn_norm"],
  [/post_attention_layernorm/, "ffn_norm"],
  [/mlp\.(\w+)_proj/, "ffn_$1"],
];

for (const family of ["qwen2", "qwen3"]) {
  const folder = goldenPath(`tiny-models/${family}`);
  Deno.test({
    name: `a GGUF file of the tiny ${family} model has the folder's configuration and weights`,
    async fn() {
      const original = await readModelFolder(folder!), { config } = original;
      const stored = await readSafetensors(`${folder}/model.safetensors`);
      const tensors = await Promise.all(
        [...stored.tensors].map(async ([name, { shape }]) => ({
          name: NAMES.reduce((text, [from, to]) => text.replace(from, to), name),
          shape,
          typeId: 0,
          data: new Uint8Array((await stored.float32(name)).buffer),
        })),
      );
      const counts = {
        "block_count": config.numLayers,
        "context_length": config.maxPositions,
        "embedding_length": config.hiddenSize,
        "feed_forward_length": config.intermediateSize,
        "attention.head_count": config.numHeads,
        "attention.head_count_kv": config.numKvHeads,
        // Qwen2's converter leaves out the head width, which readers compute.
        ...family === "qwen3" ? { "attention.key_length": config.headDim } : {},
      };
      const metadata: TestMetadata = {
        "general.architecture": ["string", family],
        [`${family}.attention.layer_norm_rms_epsilon`]: ["f32", config.rmsNormEps],
        [`${family}.rope.freq_base`]: ["f32", config.ropeTheta],
      };
      for (const [key, n] of Object.entries(counts)) metadata[`${family}.${key}`] = ["u32", n];
      const path = await Deno.makeTempFile({ suffix: ".gguf" });
      try {
        await Deno.writeFile(path, encodeTestGguf(metadata, tensors));
        const read = await readModelFolder(path);
        assert.deepEqual(read.config, config);
        assert.equal(read.tokenizer, null);
        for (const [name, { shape }] of stored.tensors) {
          assert.deepEqual(
            await read.weights(name, shape),
            await original.weights(name, shape),
            name,
          );
        }
      } finally {
        await Deno.remove(path);
      }
    },
  });
}
