/**
 * The sizes of models on the Hub that have no file in `models/`: further sizes of its families, and
 * the base models beside the instruct ones. Source: the config.json of each model.
 */

/** Fields of a `config.json`. */
export type ModelShape = Readonly<Record<string, unknown>>;

export interface KnownModel {
  names: readonly string[];
  shape: ModelShape;
  /** For a model that can be planned but not run: why a run is refused. */
  note?: string;
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
const HEADS_OF_128 = { head_dim: 128 };

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
    shape: family("llama", 128256, [2048, 11008, 36, 16, 4], 65536, { tie_word_embeddings: true }),
    note: "SmolLM3 has no RoPE in every fourth layer, which rgx does not compute: this is a plan " +
      "of its sizes, and a run would be refused",
  },
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
