/**
 * Names of a model's tensors in GGUF files and in Hugging Face's format. For each architecture
 * there is a table of tensors that exist once and one of the tensors of a layer.
 */

interface NameTable {
  /** Prefix of a layer's tensors in Hugging Face's names, before the layer's number. */
  layers: string;
  once: Readonly<Record<string, string>>;
  inLayer: Readonly<Record<string, string>>;
  /** Parts whose matrix is [in, out] in Hugging Face's weights and [out, in] in a GGUF file. */
  transposed: readonly string[];
}

const LLAMA_FAMILY: NameTable = {
  layers: "model.layers.",
  once: {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
  },
  inLayer: {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
  },
  transposed: [],
};

const GPT2: NameTable = {
  layers: "transformer.h.",
  once: {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
  },
  inLayer: {
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
  },
  transposed: ["attn_qkv", "attn_output", "ffn_up", "ffn_down"],
};

function tableOf(architecture: string): NameTable {
  return architecture === "gpt2" ? GPT2 : LLAMA_FAMILY;
}

/** Splits a name: "blk.3.attn_q.weight" has layer "3", part "attn_q" and kind "weight". */
function parts(name: string): { layer?: string | undefined; part: string; kind: string } | null {
  const [, layer, part, kind] = /^(?:blk\.(\d+)\.)?([a-z_]+)\.(weight|bias)$/.exec(name) ?? [];
  return part === undefined ? null : { layer, part, kind: kind! };
}

/**
 * The Hugging Face name of a tensor in a GGUF file, or null when the architecture has no such
 * tensor.
 */
export function hfName(architecture: string, name: string): string | null {
  const found = parts(name), { layers, once, inLayer } = tableOf(architecture);
  if (found === null) return null;
  const { layer, part, kind } = found, table = layer === undefined ? once : inLayer;
  if (!Object.hasOwn(table, part)) return null;
  return `${layer === undefined ? "" : `${layers}${layer}.`}${table[part]}.${kind}`;
}

/** The reverse: the GGUF name of a Hugging Face tensor, or null when there is none. */
export function ggufName(architecture: string, name: string): string | null {
  const { layers, once, inLayer } = tableOf(architecture);
  const inside = name.startsWith(layers);
  const [, layer, path, kind] = inside
    ? /^(\d+)\.(.+)\.(weight|bias)$/.exec(name.slice(layers.length)) ?? []
    : /^()(.+)\.(weight|bias)$/.exec(name) ?? [];
  const table = inside ? inLayer : once;
  const part = Object.keys(table).find((key) => table[key] === path);
  if (part === undefined) return null;
  return `${inside ? `blk.${layer}.` : ""}${part}.${kind}`;
}

/** Whether a GGUF file has the transpose of Hugging Face's tensor. */
export function isTransposed(architecture: string, name: string): boolean {
  const found = parts(name);
  return found !== null && found.kind === "weight" &&
    tableOf(architecture).transposed.includes(found.part);
}

/** The transpose of a [rows, columns] matrix. */
export function transpose<T extends Float32Array | Float64Array>(
  values: T,
  rows: number,
  columns: number,
): T {
  const out = values.slice() as T;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      out[column * rows + row] = values[row * columns + column]!;
    }
  }
  return out;
}
