/**
 * What is supported of each family of models, for people: `rgx doctor --model` and the table of
 * docs/models.md (`deno task docs:models`) are made of it.
 */
import type { ArchitectureName } from "./architecture.ts";
import { architectureOf } from "./mod.ts";
import type { ModelConfig } from "./model_config.ts";

/** Where logits, gradients, texts and adapters of the architectures were recorded. */
const CHECKED = "transformers 5.23, PEFT 0.21";

interface Family {
  readonly title: string;
  readonly names: readonly ArchitectureName[];
  /** A further `model_type`: of models that also see. */
  readonly wrapper?: string;
  /**
   * Whose tokenizers were compared with Hugging Face's: of the family, or those that it has with
   * special tokens of its own; null = none.
   */
  readonly tokenizer: string | null;
  /** What differs from Llama, or is refused. */
  readonly special: string;
}

const FAMILIES: readonly Family[] = [
  {
    title: "Llama, SmolLM2",
    names: ["llama"],
    tokenizer: "Llama 3, SmolLM2",
    special: "",
  },
  {
    title: "Mistral",
    names: ["mistral"],
    tokenizer: "Mistral Nemo",
    special: "a window in all layers",
  },
  {
    title: "Qwen 2, 2.5 and 3",
    names: ["qwen2", "qwen3"],
    tokenizer: "Qwen 2.5",
    special: "layers with and without a window",
  },
  { title: "GPT-2", names: ["gpt2"], tokenizer: "GPT-2", special: "learned positions" },
  {
    title: "SmolLM3",
    names: ["smollm3"],
    tokenizer: "Llama 3",
    special: "no rotation in every fourth layer",
  },
  {
    title: "Ministral 3",
    names: ["ministral3"],
    wrapper: "mistral3",
    tokenizer: "Mistral Nemo",
    special: "queries grow with the position",
  },
  { title: "Granite 3", names: ["granite"], tokenizer: "StarCoder", special: "four multipliers" },
  {
    title: "Granite 4, dense",
    names: ["granitemoehybrid"],
    tokenizer: "cl100k",
    special: "experts and Mamba layers are refused",
  },
  {
    title: "OLMo 2 and 3",
    names: ["olmo2", "olmo3"],
    tokenizer: "cl100k",
    special: "norms after attention and MLP; a window in three of four layers of OLMo 3",
  },
  {
    title: "Phi-3, Phi-4-mini",
    names: ["phi3"],
    tokenizer: "Llama 2, o200k",
    special: "adapters on `qkv_proj` and `gate_up_proj`; a part of each head is rotated",
  },
  {
    title: "Gemma 3, FunctionGemma",
    names: ["gemma3_text"],
    wrapper: "gemma3",
    tokenizer: "Gemma 3",
    special: "two rotations; a window in five of six layers",
  },
  {
    title: "Gemma 4, E2B and E4B",
    names: ["gemma4_text"],
    wrapper: "gemma4",
    tokenizer: "Gemma 4",
    special: "inputs of each layer by token; shared keys; experts are refused",
  },
  {
    title: "Gemma 2",
    names: ["gemma2"],
    tokenizer: "Gemini",
    special: "soft caps of scores and logits; a window in every second layer",
  },
  {
    title: "LFM2, LFM2.5",
    names: ["lfm2"],
    tokenizer: null,
    special: "short convolutions in most layers",
  },
  {
    title: "Qwen3-MoE, Mixtral",
    names: ["qwen3_moe", "mixtral"],
    tokenizer: "Qwen 2.5",
    special: "a mixture of experts in all layers; adapters on them by `target_parameters`",
  },
  {
    title: "GPT-OSS",
    names: ["gpt_oss"],
    tokenizer: "o200k",
    special: "sinks in attention; experts with biases and clamped SwiGLU, also held as MXFP4",
  },
  {
    title: "Qwen3.5",
    names: ["qwen3_5_text"],
    wrapper: "qwen3_5",
    tokenizer: null,
    special: "gated delta rules in three of four layers; attention with gates in the others",
  },
];

/** The family of a model and what can be done with it, in words. */
export function familyText(config: ModelConfig): string {
  const { name, className } = architectureOf(config);
  const { title, special } = FAMILIES.find(({ names }) => names.includes(name))!;
  const part = config.wrapped ? ", its text part" : "";
  return `${title} (${className}${part}): generates, trains in full and with LoRA; ` +
    `safetensors and GGUF; checked against ${CHECKED}` + (special === "" ? "" : ` (${special})`);
}

export function familyTable(): string {
  const head = [
    "family",
    "`model_type`",
    "read, train, LoRA",
    "GGUF in and out",
    "tokenizer compared",
    "what is special",
  ];
  const rows = FAMILIES.map(({ title, names, wrapper, tokenizer, special }) => {
    const types = [...names, ...(wrapper === undefined ? [] : [wrapper])];
    return [
      title,
      types.map((type) => `\`${type}\``).join(", "),
      "yes",
      "yes",
      tokenizer ?? "no",
      special,
    ];
  });
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${lines.join("\n")}\n\nAll are checked against ${CHECKED}.`;
}
