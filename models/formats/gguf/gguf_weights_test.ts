/** Whole models in GGUF files: the tiny golden models, and made-up models that are refused. */
import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { assertWithin } from "../../../kernels/testing.ts";
import { parseGguf } from "./gguf.ts";
import { ggufConfig } from "./gguf_config.ts";
import { ggufWeights } from "./gguf_weights.ts";
import { ggufRopeScaling } from "./rope_scaling.ts";
import { encodeTestGguf, type TestMetadata } from "./testing.ts";
import { loadModel } from "../../load_model.ts";
import { readModelFolder } from "../../model_folder.ts";
import { ropeFrequencies } from "../../architectures/rope_frequencies.ts";
import { readSafetensors } from "../safetensors/safetensors.ts";
import { isEmulated, onEachDevice } from "../../each_device_testing.ts";
import { tinyConfig } from "../../testing.ts";
import { goldenPath, readGoldenJson } from "../../../tests/golden.ts";

const golden = goldenPath("ggml-blocks");

interface Expected {
  input_ids: number[][];
  files: Record<string, { greedy: number[][] }>;
  tokenize: Record<string, number[]>;
}

const expected = readGoldenJson<Expected>("ggml-blocks/expected.json");

for (const kind of ["f32", "q8_0"]) {
  Deno.test(`the tiny llama in ${kind} has the golden logits and greedy tokens`, () =>
    onEachDevice(async (device, exact) => {
      if (isEmulated(device) && kind === "f32") return;
      const tensors = await readSafetensors(`${golden}/expected.safetensors`);
      const path = `${golden}/tiny-llama.${kind}.gguf`;
      const { model } = await loadModel(path, device);
      for (const [s, ids] of expected.input_ids.entries()) {
        const logits = await tensors.float32(`${kind}.logits.${s}`);
        await model.positionLogits(ids, (position, found) => {
          const row = logits.subarray(position * 96, (position + 1) * 96);
          assertWithin(found, row, exact ? 1e-5 : 1e-4, `sequence ${s}, position ${position}`);
        });
        const [completions] = await model.generate(
          [{ promptId: 0, promptIds: ids, n: 1 }],
          { maxNewTokens: 16, temperature: 0, seed: 1, eosIds: [] },
        );
        assert.deepEqual(
          completions![0]!.ids,
          expected.files[`tiny-llama.${kind}.gguf`]!.greedy[s],
        );
      }
      model.dispose();
    }));
}

Deno.test("the tokenizer of a GGUF file gives the ids of llama.cpp and a chat template", async () => {
  const { tokenizer } = await readModelFolder(`${golden}/tiny-llama.f32.gguf`);
  for (const [text, ids] of Object.entries(expected.tokenize)) {
    assert.deepEqual(tokenizer!.encode(text, { addSpecialTokens: false }), ids, text);
    assert.equal(tokenizer!.decode(ids), text);
  }
  assert.equal(tokenizer!.encode("it's")[0], 1, "a begin token is asked for");
  assert.equal(tokenizer!.eosId, 2);
  assert.ok(tokenizer!.applyChatTemplate([{ role: "user", content: "it" }])!.includes("it"));
});

const f32 = (values: ArrayLike<number>) => new Uint8Array(Float32Array.from(values).buffer);
const CONFIG: TestMetadata = {
  "general.architecture": ["string", "llama"],
  "llama.block_count": ["u32", 1],
  "llama.context_length": ["u32", 64],
  "llama.embedding_length": ["u32", 8],
  "llama.feed_forward_length": ["u32", 8],
  "llama.attention.head_count": ["u32", 2],
  "llama.attention.layer_norm_rms_epsilon": ["f32", 1e-5],
};
const tensor = (name: string, shape: number[], data?: ArrayLike<number>) => ({
  name,
  shape,
  typeId: 0,
  data: f32(data ?? Array(shape.reduce((a, b) => a * b, 1)).fill(0.5)),
});
const EMBEDDING = tensor("token_embd.weight", [5, 8]);
const NO_TOKENS = { bosId: null, eosIds: [], padId: null };
const make = (metadata: TestMetadata, tensors = [EMBEDDING]) =>
  parseGguf(encodeTestGguf(metadata, tensors), "m.gguf");

Deno.test("unknown metadata and tensors of a GGUF model are refused by name", async () => {
  const cases: [TestMetadata, RegExp][] = [
    [{ "general.architecture": ["string", "gemma3n"] }, /architecture is "gemma3n".*only llama/],
    [{}, /architecture is undefined/],
    [
      { "general.architecture": ["string", "granite"], "granite.expert_count": ["u32", 4] },
      /"granite", and granite\.expert_count is 4, which do not go together/,
    ],
    [
      { ...CONFIG, "llama.expert_group_count": ["u32", 8] },
      /expert_group_count" \(8\) are not under/,
    ],
    [{ ...CONFIG, "llama.logit_scale": ["f32", 2] }, /"llama.logit_scale"/],
    [
      { "general.architecture": ["string", "gemma3"], "gemma3.altup.num_inputs": ["u32", 4] },
      /"gemma3.altup.num_inputs" \(4\) are not understood/,
    ],
    [{ ...CONFIG, "llama.rope.dimension_count": ["u32", 2] }, /dimension_count is 2.*head, 4/],
  ];
  for (const [metadata, message] of cases) {
    const file = await make(metadata);
    const read = () => ggufConfig(file, NO_TOKENS, null);
    assert.throws(read, refusal(message, RgxError, { where: "m.gguf: " }));
  }
  const config = { ...tinyConfig(true), vocabSize: 5, hiddenSize: 8, numLayers: 1 };
  const odd = await make(CONFIG, [EMBEDDING, tensor("blk.0.attn_sinks.weight", [2])]);
  assert.throws(() => ggufWeights(odd, config), /tensor "blk\.0\.attn_sinks\.weight" is not/);
  const weights = ggufWeights(await make(CONFIG), config);
  await assert.rejects(
    weights.values("model.embed_tokens.weight", [5, 9]),
    /"token_embd\.weight" has shape \[5, 8\], expected \[5, 9\]/,
  );
  assert.equal(await weights.values("lm_head.weight", [5, 8]), null);
});

Deno.test("frequency divisors are recognised as Llama 3's, or refused", async () => {
  const model = { headDim: 64, ropeTheta: 500000 };
  const scaling = {
    type: "llama3",
    factor: 32,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 8192,
  } as const;
  const plain = ropeFrequencies({ ...model, ropeScaling: null });
  const scaled = ropeFrequencies({ ...model, ropeScaling: scaling });
  const divisors = plain.map((theta, i) => theta / scaled[i]!);
  const metadata: TestMetadata = { ...CONFIG, "llama.rope.freq_base": ["f32", 500000] };
  const file = await make(metadata, [tensor("rope_freqs.weight", [32], divisors)]);
  assert.deepEqual(await ggufRopeScaling(file), {
    rope_type: "llama3",
    factor: 32,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  });
  assert.equal(await ggufRopeScaling(await make(metadata)), null);
  const noted = (note: string) =>
    make(
      { ...metadata, "rgx.rope_scaling": ["string", note] },
      [tensor("rope_freqs.weight", [32], divisors)],
    );
  for (const note of ["{", "[1]", `{"factor":8}`, `{"factor":"x"}`, `{"low_freq_factor":[]}`]) {
    await assert.rejects(async () => await ggufRopeScaling(await noted(note)), RgxError, note);
  }
  const kind = (await ggufRopeScaling(await noted(`{"factor":32,"rope_type":"linear"}`)))!;
  assert.equal(kind["rope_type"], "llama3");
  divisors[20]! *= 1.01;
  const other = await make(metadata, [tensor("rope_freqs.weight", [32], divisors)]);
  await assert.rejects(ggufRopeScaling(other), /not the frequency divisors of a Llama 3 model/);
});
