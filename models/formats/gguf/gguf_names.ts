/** The names of a model's tensors in GGUF files, and the order of their values there. */
import {
  LAYER_NORMS,
  type LayerPart,
  type Module,
  MODULES,
  type OncePart,
} from "../../architectures/architecture.ts";
import { architectureOf, type ModelTensor } from "../../architectures/mod.ts";
import type { DeltaSizes } from "../../../kernels/ops/delta_rule/spec.ts";
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
  convIn: "shortconv.in_proj",
  conv: "shortconv.conv",
  convOut: "shortconv.out_proj",
  router: "ffn_gate_inp",
  deltaQkv: "attn_qkv",
  deltaZ: "attn_gate",
  deltaB: "ssm_beta",
  deltaA: "ssm_alpha",
  aLog: "ssm_a",
  dtBias: "ssm_dt",
  deltaNorm: "ssm_norm",
  deltaOut: "ssm_out",
  sinks: "attn_sinks",
  vNorm: "", // has no weight
  layerScalar: "layer_output_scale",
  perLayerTable: "per_layer_token_embd",
  perLayerModel: "per_layer_model_proj",
  perLayerModelNorm: "per_layer_proj_norm",
  perLayerGate: "inp_gate",
  perLayerOut: "proj",
  perLayerNorm: "post_norm",
};
/** Names that differ in files of one architecture. */
const OTHERS: Readonly<Record<string, Partial<typeof PARTS>>> = {
  "gpt-oss": { postNorm: "post_attention_norm" },
  lfm2: { finalNorm: "token_embd_norm" },
  qwen35: { postNorm: "post_attention_norm", conv: "ssm_conv1d" },
};

/** Parts that are tensors of all experts, in a model that has some. */
const EXPERT_PARTS: readonly (LayerPart | OncePart)[] = ["gate", "up", "gateUp", "down"];

export function ggufName(config: ModelConfig, { part, layer, kind }: ModelTensor): string {
  const name = OTHERS[architectureOf(config).gguf ?? ""]?.[part] ?? PARTS[part];
  const isOfAll = config.experts !== undefined && EXPERT_PARTS.includes(part);
  const ending = part === "aLog" ? "" : part === "dtBias" ? ".bias" : `.${kind}`;
  const suffix = `${isOfAll ? "_exps" : ""}${ending}`;
  return `${layer === null || layer < 0 ? "" : `blk.${layer}.`}${name}${suffix}`;
}

/** The dimensions of a tensor in a GGUF file: those of 1 of a convolution are left out. */
export function ggufShape(config: ModelConfig, tensor: ModelTensor): readonly number[] {
  if (tensor.part === "conv") return tensor.shape.filter((n) => n !== 1);
  return isTransposed(config, tensor) ? tensor.shape.toReversed() : tensor.shape;
}

/**
 * The parts of a tensor that are tensors of their own in a GGUF file, each with as many rows: gate
 * and up of a Granite 4, and of experts. Null for all others.
 */
export function splitInGguf(config: ModelConfig, { part }: ModelTensor): LayerPart[] | null {
  const isSplit = config.experts !== undefined || architectureOf(config).gguf === "granite";
  return isSplit && part === "gateUp" ? ["gate", "up"] : null;
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
  if (part === "deltaNorm") return 0;
  const isNorm = part === "finalNorm" || (LAYER_NORMS as readonly string[]).includes(part);
  return architectureOf(config).norm1 && isNorm && kind === "weight" ? 1 : 0;
}

/** Where a tensor has the value heads of a delta rule. */
export interface HeadOrder extends DeltaSizes {
  /** Rows before those of the first head, and rows of a head; or columns of one. */
  first: number;
  width: number;
  columns: boolean;
}

/**
 * Where the value heads are whose order is another one in a GGUF file: there the first value heads
 * of all key heads come first, then the second ones. Null where it is the same.
 */
export function headOrder({ delta }: ModelConfig, { part }: ModelTensor): HeadOrder | null {
  if (delta === undefined || delta.keyHeads === delta.valueHeads) return null;
  const keys = 2 * delta.keyHeads * delta.keyDim, { valueDim } = delta;
  const order = (width: number, first = 0, columns = false) => ({
    ...delta,
    first,
    width,
    columns,
  });
  switch (part) {
    case "deltaQkv":
    case "conv":
      return order(valueDim, keys);
    case "deltaZ":
      return order(valueDim);
    case "deltaB":
    case "deltaA":
    case "aLog":
    case "dtBias":
      return order(1);
    case "deltaOut":
      return order(valueDim, 0, true);
    default:
      return null;
  }
}

/** The values of a tensor, or their bytes, with the heads in the order of a GGUF file, or back. */
export function orderHeads<T extends Float32Array | Float64Array | Uint8Array>(
  values: T,
  rows: number,
  { keyHeads, valueHeads, first, width, columns }: HeadOrder,
  toFile: boolean,
): T {
  const out = values.slice() as T, row = values.length / rows, shared = valueHeads / keyHeads;
  const head = columns ? row / valueHeads : width * row;
  for (let line = 0; line < (columns ? rows : 1); line++) {
    const begin = columns ? line * row : first * row;
    for (let h = 0; h < valueHeads; h++) {
      const there = (h % shared) * keyHeads + Math.floor(h / shared);
      const [from, to] = toFile ? [h, there] : [there, h], at = begin + from * head;
      out.set(values.subarray(at, at + head), begin + to * head);
    }
  }
  return out;
}
