/** The names of a model's tensors in GGUF files, and the order of their values there. */
import {
  LAYER_NORMS,
  type LayerPart,
  type Module,
  MODULES,
  type OncePart,
} from "../../architectures/architecture.ts";
import { architectureOf, type ModelTensor } from "../../architectures/mod.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

/** A part of a model → its name, in a layer behind "blk.3.". */
const PARTS: Readonly<Record<LayerPart | OncePart, string>> = {
  embedding: "token_embd",
  positions: "position_embd",
  finalNorm: "output_norm",
  head: "output",
  inputNorm: "attn_norm",
  q: "attn_q",
  k: "attn_k",
  v: "attn_v",
  qkv: "attn_qkv",
  qNorm: "attn_q_norm",
  kNorm: "attn_k_norm",
  o: "attn_output",
  attentionOutNorm: "post_attention_norm",
  postNorm: "ffn_norm",
  mlpOutNorm: "post_ffw_norm",
  gate: "ffn_gate",
  up: "ffn_up",
  gateUp: "ffn_up",
  down: "ffn_down",
};

/** The name of a tensor in a GGUF file. */
export function ggufName({ part, layer, kind }: ModelTensor): string {
  return `${layer === null ? "" : `blk.${layer}.`}${PARTS[part]}.${kind}`;
}

/** Whether a GGUF file has the transpose of Hugging Face's tensor: linear weights are [out, in]. */
export function isTransposed(config: ModelConfig, { part, kind }: ModelTensor): boolean {
  return architectureOf(config).inOut && kind === "weight" && MODULES.includes(part as Module);
}

/**
 * The heads of a tensor whose rows are interleaved pair by pair in a GGUF file, as llama.cpp's
 * converter does; null for all others.
 */
export function interleavedHeads(config: ModelConfig, { part }: ModelTensor): number | null {
  if (!architectureOf(config).interleavedInGguf) return null;
  return part === "q" ? config.numHeads : part === "k" ? config.numKvHeads : null;
}

/** What llama.cpp's converter adds to the values of a tensor: 1 to differences from 1. */
export function addedInGguf(config: ModelConfig, { part, kind }: ModelTensor): number {
  const isNorm = part === "finalNorm" || (LAYER_NORMS as readonly string[]).includes(part);
  return architectureOf(config).norm1 && isNorm && kind === "weight" ? 1 : 0;
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
