import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { readHfConfig, readTokenIds, writeHfConfig } from "./hf_config.ts";
import { layerRope, ropesOf } from "./model_config.ts";

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
    modelConfig: {
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

const HYBRID = {
  model_type: "granitemoehybrid",
  shared_intermediate_size: 64,
  num_local_experts: 0,
};

Deno.test("unsupported, missing and impossible values are refused by their key", () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [
      { model_type: "gemma5" },
      /^dir\/config\.json: model_type is "gemma5", which is not supported/,
    ],
    [
      { model_type: "mixtral", num_local_experts: 2, num_experts_per_tok: 3 },
      /a position takes 3 of 2 experts/,
    ],
    [{ model_type: "mixtral", num_local_experts: 0 }, /num_local_experts is 0, expected a whole/],
    [{ architectures: ["LlamaForSequenceClassification"] }, /architectures is \["LlamaForSeq/],
    [{ final_logit_softcapping: 30 }, /a key is not understood: final_logit_softcapping \(30\)/],
    [{ toString: Infinity }, /a key is not understood: toString \(Infinity\)/],
    [{ query_scale: 2, new_part: {} }, /keys are not understood: query_scale \(2\), new_part/],
    [
      { model_type: "mistral", layer_types: ["full_attention", "sliding_attention"] },
      /layer_types is \["full_attention","sliding_attention"\], which is not supported/,
    ],
    [
      { model_type: "qwen3", layer_types: ["full_attention", "linear_attention"] },
      /layer_types has "linear_attention", which is not supported/,
    ],
    [{ model_type: "smollm3", no_rope_layers: [1] }, /no_rope_layers is \[1\], expected 2 times/],
    [{ model_type: "granite", residual_multiplier: -1 }, /residual_multiplier is -1, expected/],
    [HYBRID, /layer_types is missing, expected "attention" for each layer/],
    [{ ...HYBRID, layer_types: ["mamba", "attention"] }, /layer_types has "mamba"/],
    [
      { model_type: "olmo3", layer_types: ["full_attention"] },
      /layer_types has 1 types, expected 2/,
    ],
    [
      { model_type: "gemma3_text", rope_parameters: { rope_theta: 10000 } },
      /rope_parameters has rope_theta \(10000\), expected sections full_attention and/,
    ],
    [
      { model_type: "gemma2", final_logit_softcapping: 0 },
      /final_logit_softcapping is 0, expected a number above 0, or null/,
    ],
    [
      { model_type: "qwen3_5_text", linear_num_key_heads: 5 },
      /linear_num_value_heads is 32, expected a multiple of linear_num_key_heads \(5\)/,
    ],
    [
      { model_type: "ministral3", rope_parameters: { llama_4_scaling_beta: 1 } },
      /rope_parameters: original_max_position_embeddings is missing/,
    ],
    [{ model_type: "phi3", partial_rotary_factor: 2 }, /32 of 16 elements of a head are rotated/],
    [{ model_type: undefined }, /model_type is undefined/],
    [{ quantization_config: { bits: 4 } }, /quantization_config is set/],
    [{ rope_scaling: "linear" }, /rope_scaling is "linear", expected an object/],
    [{ vocab_size: undefined }, /vocab_size is missing/],
    [{ hidden_size: "64" }, /hidden_size is "64", expected a number/],
    [{ num_hidden_layers: 0 }, /num_hidden_layers is 0, expected a whole number/],
    [{ num_attention_heads: 5 }, /hidden_size 64 is no multiple of num_attention_heads 5/],
    [{ num_key_value_heads: 3 }, /4 attention heads cannot share 3 key\/value heads/],
    [{ head_dim: 15 }, /headDim is 15, only even widths are supported/],
    [{ rms_norm_eps: -1 }, /rmsNormEps is -1/],
    [{ eos_token_id: "</s>" }, /eos_token_id is "<\/s>", expected token ids/],
  ];
  for (const [change, message] of cases) {
    const read = () => readHfConfig({ ...minimal, ...change }, "dir/config.json");
    assert.throws(read, refusal(message, UsageError));
  }
});

Deno.test("sliding layers of a Gemma 4 turn by angles of their own, also where sections are equal", () => {
  const section = { rope_type: "default", rope_theta: 100 };
  const rope_parameters = { full_attention: section, sliding_attention: section };
  const json = { ...minimal, model_type: "gemma4_text", head_dim: 16, rope_parameters };
  const { modelConfig } = readHfConfig(json, "c");
  assert.deepEqual(ropesOf(modelConfig).map(({ headDim }) => headDim), [512, 16]);
  assert.equal(layerRope(modelConfig, 0), 1);
});

const gpt2 = {
  model_type: "gpt2",
  vocab_size: 96,
  n_embd: 48,
  n_layer: 2,
  n_head: 4,
  n_positions: 64,
};

Deno.test("GPT-2's keys give the same sizes", () => {
  assert.deepEqual(readHfConfig({ ...gpt2, n_ctx: 64, resid_pdrop: 0.1 }, "c").modelConfig, {
    architecture: "gpt2",
    vocabSize: 96,
    hiddenSize: 48,
    intermediateSize: 192,
    numLayers: 2,
    numHeads: 4,
    numKvHeads: 4,
    headDim: 12,
    maxPositions: 64,
    ropeTheta: 10000,
    ropeScaling: null,
    rmsNormEps: 1e-5,
    tieWordEmbeddings: true,
  });
  const refusals: [Record<string, unknown>, RegExp][] = [
    [{ n_head: 5 }, /n_embd 48 is no multiple of n_head 5/],
    [{ n_ctx: 32 }, /n_ctx is 32, n_positions 64/],
  ];
  for (const [change, message] of refusals) {
    assert.throws(() => readHfConfig({ ...gpt2, ...change }, "c"), message);
  }
});

Deno.test("every architecture's configuration is written and read back", () => {
  const mistral = { ...minimal, model_type: "mistral" };
  const qwen2 = { ...minimal, model_type: "qwen2" }, qwen3 = { ...minimal, model_type: "qwen3" };
  const window = { sliding_window: 8, use_sliding_window: true, max_window_layers: 0 };
  const cases: [Record<string, unknown>, object][] = [
    [{ ...minimal, attention_bias: true }, { biases: ["q", "k", "v", "o"] }],
    [{ ...minimal, mlp_bias: true }, { biases: ["gate", "up", "down"] }],
    [mistral, { architecture: "mistral", slidingWindow: 4096 }],
    [{ ...mistral, sliding_window: null }, { architecture: "mistral", slidingWindow: undefined }],
    [{ ...qwen2, sliding_window: 8 }, { architecture: "qwen2", slidingWindow: undefined }],
    [{ ...qwen2, ...window }, { architecture: "qwen2", slidingWindow: 8 }],
    [{ ...qwen2, ...window, max_window_layers: 28 }, { slidingWindow: undefined }],
    // The defaults of transformers, when a file that was written by hand leaves keys out.
    [{ ...qwen3, ...window, max_window_layers: undefined }, { slidingWindow: undefined }],
    [{ ...qwen2, use_sliding_window: true, max_window_layers: 0 }, { slidingWindow: 4096 }],
    [{ ...qwen3, attention_bias: true }, { biases: ["q", "k", "v", "o"] }],
    [{ ...gpt2, n_inner: 100, tie_word_embeddings: false }, { intermediateSize: 100 }],
  ];
  for (const [json, expected] of cases) {
    const config = readHfConfig(json, "c");
    for (const [key, value] of Object.entries(expected)) {
      assert.deepEqual(config.modelConfig[key as keyof typeof config.modelConfig], value, key);
    }
    const written = JSON.parse(writeHfConfig(config, "bfloat16"));
    assert.deepEqual(readHfConfig(written, "c"), config);
    assert.equal(written.torch_dtype, "bfloat16", "transformers 4 reads it");
  }
});

Deno.test("token ids may be a number, a list, or absent", () => {
  assert.deepEqual(readTokenIds({ e: 5 }, "e", "c"), [5]);
  assert.deepEqual(readTokenIds({ e: [5, 6] }, "e", "c"), [5, 6]);
  assert.deepEqual(readTokenIds({ e: null }, "e", "c"), []);
  assert.deepEqual(readTokenIds({}, "e", "c"), []);
  assert.deepEqual(readTokenIds({ e: -1 }, "e", "c"), []);
});
