import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { readHfConfig, readTokenIds, writeHfConfig } from "./hf_config.ts";
import { layerRope, ropesOf } from "./model_config.ts";
import type { RopeScaling } from "./rope_scaling.ts";

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
  assert.deepEqual(readHfConfig(v5, "c").modelConfig.ropeScaling, {
    type: "llama3",
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 64,
  });
  const old = readHfConfig({ ...minimal, rope_scaling: { type: "linear", factor: 2 } }, "c");
  assert.deepEqual(old.modelConfig.ropeScaling, { type: "linear", factor: 2 });
  assert.equal(old.modelConfig.ropeTheta, 10000);
});

Deno.test("a written config.json is read back and has the keys of transformers 4", () => {
  const llama3 = { type: "llama3", factor: 8, lowFreqFactor: 1, highFreqFactor: 4 } as const;
  const yarn: Extract<RopeScaling, { type: "yarn" }> = {
    type: "yarn",
    factor: 4,
    originalMaxPositions: 16,
    attentionFactor: null,
    mscale: 1,
    mscaleAllDim: 0.5,
    betaFast: 16,
    betaSlow: 2,
    truncate: false,
  };
  const factors = Array.from({ length: 12 }, (_, j) => 1 + j / 4);
  const longrope: Extract<RopeScaling, { type: "longrope" }> = {
    type: "longrope",
    factor: 2,
    originalMaxPositions: 32,
    attentionFactor: 1.1,
    shortFactors: factors,
    longFactors: factors.map((x) => 2 * x),
  };
  const scalings: [RopeScaling | null, length: object][] = [
    [null, { maxPositions: 77 }],
    [{ type: "linear", factor: 2 }, { maxPositions: 154, statedPositions: 77 }],
    [
      { type: "dynamic", factor: 2.5, originalMaxPositions: 77 },
      { maxPositions: 192, statedPositions: 77 },
    ],
    [{ ...llama3, originalMaxPositions: 64 }, { maxPositions: 77 }],
    [yarn, { maxPositions: 77 }],
    [{ ...yarn, originalMaxPositions: 32 }, { maxPositions: 128, statedPositions: 77 }],
    [longrope, { maxPositions: 77 }],
    [{ type: "proportional", factor: 2, rotaryShare: 0.5 }, { maxPositions: 77 }],
  ];
  for (const [ropeScaling, length] of scalings) {
    const config = {
      modelConfig: {
        ...readHfConfig(minimal, "c").modelConfig,
        numKvHeads: 2,
        headDim: 24,
        ...length,
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
      { model_type: "starcoder2" },
      /model_type is "starcoder2", .* \(only llama, mistral, qwen2, qwen3, gpt2, smollm3, /,
    ],
    [{ model_type: "qwen2_moe" }, /model_type is "qwen2_moe"/],
    [
      { model_type: "mixtral", num_local_experts: 2, num_experts_per_tok: 3 },
      /a position takes 3 of 2 experts/,
    ],
    [{ model_type: "mixtral", num_local_experts: 0 }, /num_local_experts is 0, expected a whole/],
    [{ model_type: "qwen3_moe", mlp_only_layers: [1] }, /mlp_only_layers is \[1\]/],
    [{ architectures: ["LlamaForSequenceClassification"] }, /architectures is \["LlamaForSeq/],
    [{ model_type: "mistral", attention_bias: true }, /attention_bias is true/],
    [{ model_type: "qwen2", mlp_bias: true }, /mlp_bias is true/],
    [{ final_logit_softcapping: 30 }, /a key is not understood: final_logit_softcapping \(30\)/],
    [{ toString: Infinity }, /a key is not understood: toString \(Infinity\)/],
    [{ query_scale: 2, new_part: {} }, /keys are not understood: query_scale \(2\), new_part/],
    [{ rope_scaling: { type: "linear", factor: 2, mscale: 1 } }, /rope_scaling: a key .* mscale/],
    [{ add_cross_attention: true }, /add_cross_attention is true/],
    [
      { model_type: "mistral", layer_types: ["full_attention", "sliding_attention"] },
      /layer_types is \["full_attention","sliding_attention"\], which is not supported/,
    ],
    [
      { model_type: "qwen3", layer_types: ["full_attention", "linear_attention"] },
      /layer_types has "linear_attention", which is not supported/,
    ],
    [{ model_type: "smollm3", use_sliding_window: true }, /use_sliding_window is true/],
    [{ model_type: "smollm3", no_rope_layers: [1] }, /no_rope_layers is \[1\], expected 2 times/],
    [{ model_type: "granite", residual_multiplier: -1 }, /residual_multiplier is -1, expected/],
    [HYBRID, /layer_types is missing, expected "attention" for each layer/],
    [{ ...HYBRID, layer_types: ["mamba", "attention"] }, /layer_types has "mamba"/],
    [{ ...HYBRID, num_local_experts: 8 }, /num_local_experts is 8/],
    [
      { model_type: "olmo3", layer_types: ["full_attention"] },
      /layer_types has 1 types, expected 2/,
    ],
    [{ model_type: "gemma3_text", hidden_activation: "gelu" }, /hidden_activation is "gelu"/],
    [{ model_type: "gemma3_text", attn_logit_softcapping: 50 }, /attn_logit_softcapping is 50/],
    [
      { model_type: "gemma3_text", use_bidirectional_attention: true },
      /use_bidirectional_attention is true/,
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
    [{ model_type: "gemma3", text_config: null }, /keys are not understood: .*hidden_size/],
    [
      { model_type: "ministral3", rope_parameters: { llama_4_scaling_beta: 1 } },
      /rope_parameters: original_max_position_embeddings is missing/,
    ],
    [{ model_type: "ministral3" }, /rope_parameters: llama_4_scaling_beta is missing/],
    [{ model_type: "phi3", partial_rotary_factor: 2 }, /32 of 16 elements of a head are rotated/],
    [{ model_type: "mistral", sliding_window: 0 }, /sliding_window is 0, expected a whole/],
    [{ model_type: undefined }, /model_type is undefined/],
    [{ hidden_act: "gelu" }, /hidden_act is "gelu"/],
    [{ partial_rotary_factor: 0.5 }, /partial_rotary_factor is 0\.5/],
    [{ quantization_config: { bits: 4 } }, /quantization_config is set/],
    [{ rope_scaling: { rope_type: "axial" } }, /rope_scaling: rope type "axial" is not supported/],
    [{ rope_parameters: { rope_type: "linear" } }, /rope_parameters: factor is missing/],
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
    [{ activation_function: "relu" }, /activation_function is "relu"/],
    [{ scale_attn_by_inverse_layer_idx: true }, /scale_attn_by_inverse_layer_idx is true/],
    [{ n_head: 5 }, /n_embd 48 is no multiple of n_head 5/],
    [{ n_ctx: 32 }, /n_ctx is 32, n_positions 64/],
    [{ rope_theta: 1e4 }, /a key is not understood: rope_theta/],
  ];
  for (const [change, message] of refusals) {
    assert.throws(() => readHfConfig({ ...gpt2, ...change }, "c"), message);
  }
});

Deno.test("further keys of published models are accepted", () => {
  const ofMany = {
    _name_or_path: "x",
    architectures: ["LlamaForCausalLM"],
    attention_dropout: 0.0,
    initializer_range: 0.02,
    torch_dtype: "bfloat16",
    transformers_version: "4.42.3",
    use_cache: true,
    pretraining_tp: 1,
    rope_interleaved: false,
    is_llama_config: true,
    rope_scaling: null,
    unsloth_fixed: true,
    "transformers.js_config": { dtype: "q4" },
  };
  assert.deepEqual(readHfConfig({ ...minimal, ...ofMany }, "c"), readHfConfig(minimal, "c"));
  const ofGpt2 = {
    architectures: ["GPT2LMHeadModel"],
    attn_pdrop: 0.1,
    embd_pdrop: 0.1,
    resid_pdrop: 0.1,
    activation_function: "gelu_new",
    n_ctx: 64,
    summary_first_dropout: 0.1,
    _num_labels: 1,
    summary_proj_to_labels: true,
    summary_type: "cls_index",
    summary_use_proj: true,
    id2label: { "0": "LABEL_0" },
    label2id: { "LABEL_0": 0 },
    summary_activation: null,
    task_specific_params: { "text-generation": { do_sample: true, max_length: 50 } },
  };
  assert.deepEqual(readHfConfig({ ...gpt2, ...ofGpt2 }, "c"), readHfConfig(gpt2, "c"));
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
    assert.deepEqual(readHfConfig(JSON.parse(writeHfConfig(config)), "c"), config);
  }
});

Deno.test("token ids may be a number, a list, or absent", () => {
  assert.deepEqual(readTokenIds({ e: 5 }, "e", "c"), [5]);
  assert.deepEqual(readTokenIds({ e: [5, 6] }, "e", "c"), [5, 6]);
  assert.deepEqual(readTokenIds({ e: null }, "e", "c"), []);
  assert.deepEqual(readTokenIds({}, "e", "c"), []);
  assert.deepEqual(readTokenIds({ e: -1 }, "e", "c"), []);
});
