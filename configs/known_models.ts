/**
 * The sizes of models on the Hub that have no file in `models/`: further sizes of its families, and
 * the base models beside the instruct ones. Source: the config.json of each model.
 */

/** Fields of a `config.json`. */
export type ModelShape = Readonly<Record<string, unknown>>;

export interface KnownModel {
  names: readonly string[];
  shape: ModelShape;
}

type Sizes = [hidden: number, ffn: number, layers: number, heads: number, kvHeads: number];

function family(
  type: string,
  vocab_size: number,
  [hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, kv]: Sizes,
  max_position_embeddings: number,
  more: ModelShape = {},
): ModelShape {
  return {
    model_type: type,
    torch_dtype: "bfloat16",
    vocab_size,
    hidden_size,
    intermediate_size,
    num_hidden_layers,
    num_attention_heads,
    num_key_value_heads: kv,
    max_position_embeddings,
    tie_word_embeddings: false,
    ...more,
  };
}

function gpt2(n_embd: number, n_layer: number, n_head: number): ModelShape {
  return { model_type: "gpt2", vocab_size: 50257, n_embd, n_layer, n_head, n_positions: 1024 };
}

const LLAMA_8B: Sizes = [4096, 14336, 32, 32, 8], LLAMA_70B: Sizes = [8192, 28672, 80, 64, 8];
const QWEN_14B: Sizes = [5120, 13824, 48, 40, 8], QWEN_32B: Sizes = [5120, 27648, 64, 40, 8];
const QWEN_72B: Sizes = [8192, 29568, 80, 64, 8], MISTRAL_7B = LLAMA_8B;
const QWEN3_14B: Sizes = [5120, 17408, 40, 40, 8];
const HEADS_OF_128 = { head_dim: 128 }, TIED = { tie_word_embeddings: true };
const GEMMA = { ...TIED, head_dim: 256, sliding_window: 512 };

export const KNOWN_MODELS: readonly KnownModel[] = [
  ...([["14B", QWEN_14B], ["32B", QWEN_32B], ["72B", QWEN_72B]] as const).flatMap((
    [size, sizes],
  ) => [
    {
      names: [`Qwen/Qwen2.5-${size}-Instruct`],
      shape: family("qwen2", 152064, sizes, 32768),
    },
    { names: [`Qwen/Qwen2.5-${size}`], shape: family("qwen2", 152064, sizes, 131072) },
  ]),
  { names: ["Qwen/Qwen3-14B"], shape: family("qwen3", 151936, QWEN3_14B, 40960, HEADS_OF_128) },
  {
    names: ["Qwen/Qwen3-14B-Base"],
    shape: family("qwen3", 151936, QWEN3_14B, 32768, HEADS_OF_128),
  },
  {
    names: ["Qwen/Qwen3-32B"],
    shape: family("qwen3", 151936, [5120, 25600, 64, 64, 8], 40960, HEADS_OF_128),
  },
  {
    names: ["meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"],
    shape: family("llama", 128256, LLAMA_8B, 8192),
  },
  {
    names: ["meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-70B"]
      .concat("meta-llama/Llama-3.3-70B-Instruct"),
    shape: family("llama", 128256, LLAMA_70B, 131072),
  },
  {
    names: ["mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.1"],
    shape: family("mistral", 32000, MISTRAL_7B, 32768, { sliding_window: 4096 }),
  },
  {
    names: ["mistralai/Mistral-7B-Instruct-v0.2"],
    shape: family("mistral", 32000, MISTRAL_7B, 32768, { sliding_window: null }),
  },
  {
    names: ["HuggingFaceTB/SmolLM3-3B", "HuggingFaceTB/SmolLM3-3B-Base"],
    shape: family("smollm3", 128256, [2048, 11008, 36, 16, 4], 65536, TIED),
  },
  ...([["270m", [640, 2048, 18, 4, 1], 32768], ["1b", [1152, 6912, 26, 4, 1], 32768]] as const)
    .map(([size, [...sizes], positions]) => ({
      names: [`google/gemma-3-${size}-it`, `google/gemma-3-${size}-pt`]
        .concat(size === "270m" ? ["google/functiongemma-270m-it"] : []),
      shape: family("gemma3_text", 262144, sizes as Sizes, positions, GEMMA),
    })),
  {
    names: ["google/gemma-3-4b-it", "google/gemma-3-4b-pt"],
    shape: family("gemma3_text", 262208, [2560, 10240, 34, 8, 4], 131072, {
      ...GEMMA,
      sliding_window: 1024,
    }),
  },
  ...([["2b", [2304, 9216, 26, 8, 4]], ["9b", [3584, 14336, 42, 16, 8]]] as const)
    .map(([size, [...sizes]]) => ({
      names: [`google/gemma-2-${size}-it`, `google/gemma-2-${size}`],
      shape: family("gemma2", 256000, sizes as Sizes, 8192, { ...GEMMA, sliding_window: 4096 }),
    })),
  ...([
    ["350M", [1024, 6656, 16, 16, 8]],
    ["700M", [1536, 10240, 16, 24, 8]],
    ["1.2B", [2048, 12288, 16, 32, 8]],
  ] as const)
    .map(([size, [...sizes]]) => ({
      names: [`LiquidAI/LFM2-${size}`].concat(
        size === "1.2B" ? ["LiquidAI/LFM2.5-1.2B-Instruct", "LiquidAI/LFM2.5-1.2B-Base"] : [],
      ),
      shape: family("lfm2", 65536, sizes as Sizes, 128000, {
        ...TIED,
        full_attn_idxs: [2, 5, 8, 10, 12, 14],
      }),
    })),
  ...([
    ["0.8B", [1024, 3584, 24, 8, 2], 16],
    ["2B", [2048, 6144, 24, 8, 2], 16],
    ["4B", [2560, 9216, 32, 16, 4], 32],
  ] as const)
    .map(([size, [...sizes], linear_num_value_heads]) => ({
      names: [`Qwen/Qwen3.5-${size}`, `Qwen/Qwen3.5-${size}-Base`],
      shape: family("qwen3_5_text", 248320, sizes as Sizes, 262144, {
        ...TIED,
        linear_num_value_heads,
      }),
    })),
  {
    names: ["microsoft/Phi-4-mini-instruct"],
    shape: family("phi3", 200064, [3072, 8192, 32, 24, 8], 131072, {
      ...TIED,
      partial_rotary_factor: 0.75,
    }),
  },
  {
    names: ["microsoft/Phi-3-mini-4k-instruct"],
    shape: family("phi3", 32064, [3072, 8192, 32, 32, 32], 4096, { sliding_window: 2047 }),
  },
  {
    names: ["allenai/OLMo-2-0425-1B", "allenai/OLMo-2-0425-1B-Instruct"],
    shape: family("olmo2", 100352, [2048, 8192, 16, 16, 16], 4096),
  },
  {
    names: ["allenai/Olmo-3-1025-7B", "allenai/Olmo-3-7B-Instruct"],
    shape: family("olmo3", 100278, [4096, 11008, 32, 32, 32], 65536, { sliding_window: 4096 }),
  },
  {
    names: ["ibm-granite/granite-3.3-2b-instruct", "ibm-granite/granite-3.3-2b-base"],
    shape: family("granite", 49159, [2048, 8192, 40, 32, 8], 131072, TIED),
  },
  ...([["1b", [2048, 4096, 40, 16, 4]], ["micro", [2560, 8192, 40, 40, 8]]] as const)
    .map(([size, [hidden, ffn, layers, heads, kv]]) => ({
      names: [`ibm-granite/granite-4.0-${size}`, `ibm-granite/granite-4.0-${size}-base`],
      shape: family("granitemoehybrid", 100352, [hidden, ffn, layers, heads, kv], 131072, {
        ...TIED,
        shared_intermediate_size: ffn,
        num_local_experts: 0,
        position_embedding_type: "rope",
        layer_types: Array(layers).fill("attention"),
      }),
    })),
  { names: ["openai-community/gpt2"], shape: gpt2(768, 12, 12) },
  { names: ["openai-community/gpt2-medium"], shape: gpt2(1024, 24, 16) },
  { names: ["openai-community/gpt2-large"], shape: gpt2(1280, 36, 20) },
  { names: ["openai-community/gpt2-xl"], shape: gpt2(1600, 48, 25) },
];

/** Base models with the sizes of a model in `models/`, and their fields that differ. */
export const SAME_SIZES: readonly [name: string, as: string, different: ModelShape][] = [
  ...["0.5B", "1.5B", "3B"].map((size): [string, string, ModelShape] => [
    `Qwen/Qwen2.5-${size}`,
    `Qwen/Qwen2.5-${size}-Instruct`,
    {},
  ]),
  ["Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct", { max_position_embeddings: 131072 }],
  ...["0.6B", "1.7B", "4B", "8B"].map((size): [string, string, ModelShape] => [
    `Qwen/Qwen3-${size}-Base`,
    `Qwen/Qwen3-${size}`,
    { max_position_embeddings: 32768 },
  ]),
  ...["135M", "360M", "1.7B"].map((size): [string, string, ModelShape] => [
    `HuggingFaceTB/SmolLM2-${size}`,
    `HuggingFaceTB/SmolLM2-${size}-Instruct`,
    {},
  ]),
  ["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct", {}],
  ["meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-1B-Instruct", {}],
  ["meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.2-3B-Instruct", {}],
  ["mistralai/Mistral-7B-v0.3", "mistralai/Mistral-7B-Instruct-v0.3", {}],
];
