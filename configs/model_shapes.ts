/**
 * The sizes of models that need not be on disk: of the model that the configuration describes in
 * `model.shape`, of the embedded ones in `models/*.yaml`, and of further known ones. They are
 * fields of the config.json of the model. The reader of the sizes checks them.
 */
import { parse } from "yaml";
import { modelName } from "../hub/repository.ts";
import { EMBEDDED } from "./documents/embedded.ts";
import type { RunConfig } from "./schema/run_config.ts";

/** Fields of a `config.json`. */
export type ModelShape = Readonly<Record<string, unknown>>;

/**
 * Models on the Hub that have no file in `models/`. A line has the type; the numbers of tokens,
 * hidden_size, intermediate_size, layers, heads, key-value heads and positions; the names, of one
 * organisation; and further fields, where `tied` says that the head is the embedding. Source: the
 * config.json of each model.
 */
const KNOWN_MODELS = `
qwen2 152064 5120 13824 48 40 8 32768 | Qwen/Qwen2.5-14B-Instruct
qwen2 152064 5120 13824 48 40 8 131072 | Qwen/Qwen2.5-14B
qwen2 152064 5120 27648 64 40 8 32768 | Qwen/Qwen2.5-32B-Instruct
qwen2 152064 5120 27648 64 40 8 131072 | Qwen/Qwen2.5-32B
qwen2 152064 8192 29568 80 64 8 32768 | Qwen/Qwen2.5-72B-Instruct
qwen2 152064 8192 29568 80 64 8 131072 | Qwen/Qwen2.5-72B
qwen3 151936 5120 17408 40 40 8 40960 | Qwen/Qwen3-14B | head_dim: 128
qwen3 151936 5120 17408 40 40 8 32768 | Qwen/Qwen3-14B-Base | head_dim: 128
qwen3 151936 5120 25600 64 64 8 40960 | Qwen/Qwen3-32B | head_dim: 128
llama 128256 4096 14336 32 32 8 8192 | meta-llama/Meta-Llama-3-8B Meta-Llama-3-8B-Instruct
llama 128256 8192 28672 80 64 8 131072
  | meta-llama/Llama-3.1-70B-Instruct Llama-3.1-70B Llama-3.3-70B-Instruct
mistral 32000 4096 14336 32 32 8 32768
  | mistralai/Mistral-7B-v0.1 Mistral-7B-Instruct-v0.1 | sliding_window: 4096
mistral 32000 4096 14336 32 32 8 32768 | mistralai/Mistral-7B-Instruct-v0.2 | sliding_window: null
smollm3 128256 2048 11008 36 16 4 65536 | HuggingFaceTB/SmolLM3-3B SmolLM3-3B-Base | tied
gemma3_text 262144 640 2048 18 4 1 32768
  | google/gemma-3-270m-it gemma-3-270m-pt functiongemma-270m-it | tied, head_dim: 256, sliding_window: 512
gemma3_text 262144 1152 6912 26 4 1 32768
  | google/gemma-3-1b-it gemma-3-1b-pt | tied, head_dim: 256, sliding_window: 512
gemma3_text 262208 2560 10240 34 8 4 131072
  | google/gemma-3-4b-it gemma-3-4b-pt | tied, head_dim: 256, sliding_window: 1024
gemma2 256000 2304 9216 26 8 4 8192
  | google/gemma-2-2b-it gemma-2-2b | tied, head_dim: 256, sliding_window: 4096
gemma2 256000 3584 14336 42 16 8 8192
  | google/gemma-2-9b-it gemma-2-9b | tied, head_dim: 256, sliding_window: 4096
lfm2 65536 1024 6656 16 16 8 128000 | LiquidAI/LFM2-350M | tied, full_attn_idxs: [2,5,8,10,12,14]
lfm2 65536 1536 10240 16 24 8 128000 | LiquidAI/LFM2-700M | tied, full_attn_idxs: [2,5,8,10,12,14]
lfm2 65536 2048 12288 16 32 8 128000
  | LiquidAI/LFM2-1.2B LFM2.5-1.2B-Instruct LFM2.5-1.2B-Base | tied, full_attn_idxs: [2,5,8,10,12,14]
qwen3_5_text 248320 1024 3584 24 8 2 262144
  | Qwen/Qwen3.5-0.8B Qwen3.5-0.8B-Base | tied, linear_num_value_heads: 16
qwen3_5_text 248320 2048 6144 24 8 2 262144
  | Qwen/Qwen3.5-2B Qwen3.5-2B-Base | tied, linear_num_value_heads: 16
qwen3_5_text 248320 2560 9216 32 16 4 262144
  | Qwen/Qwen3.5-4B Qwen3.5-4B-Base | tied, linear_num_value_heads: 32
phi3 200064 3072 8192 32 24 8 131072
  | microsoft/Phi-4-mini-instruct | tied, partial_rotary_factor: 0.75
phi3 32064 3072 8192 32 32 32 4096 | microsoft/Phi-3-mini-4k-instruct | sliding_window: 2047
olmo2 100352 2048 8192 16 16 16 4096 | allenai/OLMo-2-0425-1B OLMo-2-0425-1B-Instruct
olmo3 100278 4096 11008 32 32 32 65536
  | allenai/Olmo-3-1025-7B Olmo-3-7B-Instruct | sliding_window: 4096
granite 49159 2048 8192 40 32 8 131072
  | ibm-granite/granite-3.3-2b-instruct granite-3.3-2b-base | tied
granitemoehybrid 100352 2048 4096 40 16 4 131072
  | ibm-granite/granite-4.0-1b granite-4.0-1b-base | tied
granitemoehybrid 100352 2560 8192 40 40 8 131072
  | ibm-granite/granite-4.0-micro granite-4.0-micro-base | tied
gpt2 50257 768 - 12 12 - 1024 | openai-community/gpt2
gpt2 50257 1024 - 24 16 - 1024 | openai-community/gpt2-medium
gpt2 50257 1280 - 36 20 - 1024 | openai-community/gpt2-large
gpt2 50257 1600 - 48 25 - 1024 | openai-community/gpt2-xl
`;

/** Base models with the sizes of a model in `models/`, and the fields that differ. */
const SAME_SIZES = `
Qwen/Qwen2.5-0.5B Qwen/Qwen2.5-0.5B-Instruct
Qwen/Qwen2.5-1.5B Qwen/Qwen2.5-1.5B-Instruct
Qwen/Qwen2.5-3B Qwen/Qwen2.5-3B-Instruct
Qwen/Qwen2.5-7B Qwen/Qwen2.5-7B-Instruct max_position_embeddings: 131072
Qwen/Qwen3-0.6B-Base Qwen/Qwen3-0.6B max_position_embeddings: 32768
Qwen/Qwen3-1.7B-Base Qwen/Qwen3-1.7B max_position_embeddings: 32768
Qwen/Qwen3-4B-Base Qwen/Qwen3-4B max_position_embeddings: 32768
Qwen/Qwen3-8B-Base Qwen/Qwen3-8B max_position_embeddings: 32768
HuggingFaceTB/SmolLM2-135M HuggingFaceTB/SmolLM2-135M-Instruct
HuggingFaceTB/SmolLM2-360M HuggingFaceTB/SmolLM2-360M-Instruct
HuggingFaceTB/SmolLM2-1.7B HuggingFaceTB/SmolLM2-1.7B-Instruct
meta-llama/Llama-3.1-8B meta-llama/Llama-3.1-8B-Instruct
meta-llama/Llama-3.2-1B meta-llama/Llama-3.2-1B-Instruct
meta-llama/Llama-3.2-3B meta-llama/Llama-3.2-3B-Instruct
mistralai/Mistral-7B-v0.3 mistralai/Mistral-7B-Instruct-v0.3
`;

const linesOf = (table: string) => table.trim().replace(/\n\s+/g, " ").split("\n");

/** The fields of a line of {@link KNOWN_MODELS}. */
function shapeOfLine(sizes: string, more = ""): ModelShape {
  const [type, ...numbers] = sizes.split(" ");
  const [vocab_size, hidden, ffn, layers, heads, kv, positions] = numbers.map(Number);
  if (type === "gpt2") {
    return {
      model_type: type,
      vocab_size,
      n_embd: hidden,
      n_layer: layers,
      n_head: heads,
      n_positions: positions,
    };
  }
  return {
    model_type: type,
    torch_dtype: "bfloat16",
    vocab_size,
    hidden_size: hidden,
    intermediate_size: ffn,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kv,
    max_position_embeddings: positions,
    tie_word_embeddings: false,
    ...parse(`{${more.replace("tied", "tie_word_embeddings: true")}}`),
    // Without experts and without layers of state space.
    ...type === "granitemoehybrid" && {
      shared_intermediate_size: ffn,
      num_local_experts: 0,
      position_embedding_type: "rope",
      layer_types: Array(layers).fill("attention"),
    },
  };
}

/** The sizes of the models in `models/*.yaml` and of further known ones, by name. */
export function embeddedShapes(): Map<string, ModelShape> {
  const shapes = new Map<string, ModelShape>();
  for (const [path, text] of EMBEDDED) {
    if (!path.startsWith("models/")) continue;
    const shape = parse(text)?.model?.shape;
    if (shape !== undefined) add(shapes, shape);
  }
  for (const line of linesOf(KNOWN_MODELS)) {
    const [sizes, names, more] = line.split(" | ") as [string, string, string?];
    const shape = shapeOfLine(sizes, more), organisation = names.replace(/\/.*/, "/");
    for (const name of names.replace(organisation, "").split(" ")) {
      shapes.set(organisation + name, shape);
    }
  }
  for (const line of linesOf(SAME_SIZES)) {
    const [name, as, ...different] = line.split(" ") as [string, string, ...string[]];
    shapes.set(name, { ...shapes.get(as)!, ...parse(`{${different.join(" ")}}`) });
  }
  return shapes;
}

/**
 * The sizes of the model that is named; null when neither the configuration nor an embedded file
 * has them.
 */
export function shapeOf(
  { model_name_or_path: asked, shape }: RunConfig["model"],
): ModelShape | null {
  const shapes = embeddedShapes();
  if (shape !== null) add(shapes, shape);
  if (asked === null) return null;
  const name = modelName(asked);
  // The oldest models of the Hub are also known by a name without organisation.
  const found = shapes.get(name) ?? [...shapes].find(([of]) => of.endsWith(`/${name}`))?.[1];
  return found ?? null;
}

function add(shapes: Map<string, ModelShape>, { of, ...shape }: Record<string, unknown>): void {
  if (typeof of === "string") shapes.set(of, shape);
}
