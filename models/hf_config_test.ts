import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { readHfConfig, readTokenIds, writeHfConfig } from "./hf_config.ts";

const minimal = {
  model_type: "llama",
  vocab_size: 96,
  hidden_size: 64,
  intermediate_size: 100,
  num_hidden_layers: 2,
  num_attention_heads: 4,
};

Deno.test("absent keys take transformers' defaults", () => {
  assert.deepEqual(readHfConfig(minimal, "c"), {
    llama: {
      vocabSize: 96,
      hiddenSize: 64,
      intermediateSize: 100,
      numLayers: 2,
      numHeads: 4,
      numKvHeads: 4,
      headDim: 16,
      maxPositions: 2048,
      ropeTheta: 10000,
      ropeScaling: null,
      rmsNormEps: 1e-6,
      tieWordEmbeddings: false,
    },
    bosId: null,
    eosIds: [],
    padId: null,
  });
});

Deno.test("both generations of rope keys mean the same", () => {
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 64,
  };
  const v4 = {
    ...minimal,
    rope_theta: 5e5,
    rope_scaling: { rope_type: "llama3", ...llama3 },
    torch_dtype: "bfloat16",
  };
  const v5 = {
    ...minimal,
    rope_parameters: { rope_theta: 5e5, rope_type: "llama3", ...llama3 },
    dtype: "bfloat16",
  };
  assert.deepEqual(readHfConfig(v4, "c"), readHfConfig(v5, "c"));
  assert.deepEqual(readHfConfig(v5, "c").llama.ropeScaling, {
    type: "llama3",
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 64,
  });
  const old = readHfConfig({ ...minimal, rope_scaling: { type: "linear", factor: 2 } }, "c");
  assert.deepEqual(old.llama.ropeScaling, { type: "linear", factor: 2 });
  assert.equal(old.llama.ropeTheta, 10000);
});

Deno.test("what is written is read back, and version 4 finds its keys", () => {
  for (
    const ropeScaling of [
      null,
      { type: "linear", factor: 2 },
      {
        type: "llama3",
        factor: 8,
        lowFreqFactor: 1,
        highFreqFactor: 4,
        originalMaxPositions: 64,
      },
    ] as const
  ) {
    const config = {
      llama: {
        ...readHfConfig(minimal, "c").llama,
        numKvHeads: 2,
        headDim: 24,
        maxPositions: 77,
        ropeTheta: 1e5,
        ropeScaling,
        rmsNormEps: 1e-5,
        tieWordEmbeddings: true,
      },
      bosId: 1,
      eosIds: [2, 3],
      padId: 0,
    };
    const json = JSON.parse(writeHfConfig(config, "bfloat16"));
    assert.deepEqual(readHfConfig(json, "c"), config);
    assert.deepEqual(Object.keys(json), Object.keys(json).sort());
    assert.equal(json.torch_dtype, "bfloat16");
    assert.equal(json.rope_theta, 1e5);
    assert.equal(json.rope_scaling?.rope_type, ropeScaling?.type);
    const v4 = { ...json };
    delete v4.rope_parameters;
    assert.deepEqual(readHfConfig(v4, "c"), config);
  }
});

Deno.test("what cannot be computed, is missing or impossible is refused by its key", () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ model_type: "mistral" }, /^dir\/config\.json: model_type is "mistral", only "llama"/],
    [{ model_type: undefined }, /model_type is undefined/],
    [{ attention_bias: true }, /attention_bias is true, which is not supported/],
    [{ mlp_bias: true }, /mlp_bias is true/],
    [{ hidden_act: "gelu" }, /hidden_act is "gelu"/],
    [{ partial_rotary_factor: 0.5 }, /partial_rotary_factor is 0\.5/],
    [{ quantization_config: { bits: 4 } }, /quantization_config is set/],
    [{ rope_scaling: { rope_type: "yarn", factor: 4 } }, /rope_scaling: rope type "yarn"/],
    [{ rope_parameters: { rope_type: "linear" } }, /rope_parameters: factor is missing/],
    [{ rope_scaling: "linear" }, /rope_scaling is "linear", expected an object/],
    [{ vocab_size: undefined }, /vocab_size is missing/],
    [{ hidden_size: "64" }, /hidden_size is "64", expected a number/],
    [{ num_hidden_layers: 0 }, /num_hidden_layers is 0, expected a whole number/],
    [{ num_attention_heads: 5 }, /hidden_size 64 is no multiple of num_attention_heads 5/],
    [{ num_key_value_heads: 3 }, /4 attention heads cannot share 3 key\/value heads/],
    [{ head_dim: 15 }, /headDim is 15, rotary embedding needs an even number/],
    [{ rms_norm_eps: -1 }, /rmsNormEps is -1/],
    [{ eos_token_id: "</s>" }, /eos_token_id is "<\/s>", expected token ids/],
  ];
  for (const [change, message] of cases) {
    assert.throws(
      () => readHfConfig({ ...minimal, ...change }, "dir/config.json"),
      (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      },
    );
  }
});

Deno.test("token ids come alone, as a list, or not at all", () => {
  assert.deepEqual(readTokenIds({ e: 5 }, "e", "c"), [5]);
  assert.deepEqual(readTokenIds({ e: [5, 6] }, "e", "c"), [5, 6]);
  assert.deepEqual(readTokenIds({ e: null }, "e", "c"), []);
  assert.deepEqual(readTokenIds({}, "e", "c"), []);
  assert.deepEqual(readTokenIds({ e: -1 }, "e", "c"), []);
});
