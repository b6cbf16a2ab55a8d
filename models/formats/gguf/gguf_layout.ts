/** The names of a model's tensors in GGUF files, and how their values are there. */
import {
  LAYER_NORMS,
  type LayerPart,
  type Module,
  MODULES,
  type OncePart,
} from "../../architectures/architecture.ts";
import { architectureOf, type ModelTensor } from "../../architectures/mod.ts";
import { alternates } from "../../architectures/mixtures.ts";
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

/** The name of a tensor, in a layer behind "blk.3.". */
export function ggufName(config: ModelConfig, { part, layer, kind }: ModelTensor): string {
  const name = OTHERS[architectureOf(config).gguf]?.[part] ?? PARTS[part];
  const isOfAll = config.experts !== undefined && EXPERT_PARTS.includes(part);
  const ending = part === "aLog" ? "" : part === "dtBias" ? ".bias" : `.${kind}`;
  const suffix = `${isOfAll ? "_exps" : ""}${ending}`;
  return `${layer === null || layer < 0 ? "" : `blk.${layer}.`}${name}${suffix}`;
}

/** How a file has a tensor of a model. */
export interface GgufLayout {
  /** One tensor, or two that share its rows: gate and up. */
  readonly names: readonly string[];
  /** Dimensions of each. */
  readonly shape: readonly number[];
  /** Matrices whose rows are in an order of their own: one for each expert. */
  readonly count: number;
  /**
   * Blocks of rows of a matrix → where they are in the file, behind those of the first tensor in
   * the second; null where the order is the same.
   */
  readonly places: readonly number[] | null;
  /** Whether it is the columns that have an order: `count` is the number of rows. */
  readonly columns: boolean;
  /** Whether it is the transpose: linear weights are [out, in]. */
  readonly transposed: boolean;
  /** What llama.cpp's converter computes of each value, and back. */
  readonly change: { toFile(x: number): number; fromFile(x: number): number } | null;
}

const ONE_MORE = { toFile: (x: number) => x + 1, fromFile: (x: number) => x - 1 };
const RATE = { toFile: (x: number) => -Math.exp(x), fromFile: (x: number) => Math.log(-x) };

export function ggufLayout(config: ModelConfig, tensor: ModelTensor): GgufLayout {
  const { part, kind, shape } = tensor, architecture = architectureOf(config);
  const isLinear = kind === "weight" && MODULES.includes(part as Module);
  const transposed = architecture.inOut && isLinear;
  const isNorm = part === "finalNorm" || (LAYER_NORMS as readonly string[]).includes(part);
  const isOne = architecture.norm1 && isNorm && part !== "deltaNorm" && kind === "weight";
  const isOfAll = config.experts !== undefined && EXPERT_PARTS.includes(part);
  const isSplit = part === "gateUp" &&
    (config.experts !== undefined || architecture.gguf === "granite");
  const parts: readonly (LayerPart | OncePart)[] = isSplit ? ["gate", "up"] : [part];
  const columns = part === "deltaOut";
  const length = shape[columns || isOfAll ? 1 : 0]!, order = rowOrder(config, tensor, length);
  // Gate and up have half of the rows each. Dimensions of 1 of a convolution are left out.
  const written = transposed ? shape.toReversed() : shape.filter((n) => part !== "conv" || n !== 1);
  return {
    names: parts.map((part) => ggufName(config, { ...tensor, part })),
    shape: isSplit ? written.with(isOfAll ? 1 : 0, length / 2) : written,
    count: columns || isOfAll ? shape[0]! : 1,
    places: order === null && !isSplit ? null : blockPlaces(order, length, parts.length),
    columns,
    transposed,
    change: isOne ? ONE_MORE : part === "aLog" ? RATE : null,
  };
}

/**
 * Rows of a matrix (of an output of delta rules: columns) → where they are in the file, as
 * llama.cpp's converter orders them; null where the order is the same.
 * - The rows of Llama's queries and keys are interleaved in each head: the first of both halves,
 *   then their second.
 * - Value heads of a delta rule: the first ones of all key heads come first, then the second ones.
 * - Gate and up of gpt-oss alternate here, and are apart in the file.
 */
function rowOrder(
  config: ModelConfig,
  { part }: ModelTensor,
  rows: number,
): ((row: number) => number) | null {
  const architecture = architectureOf(config), { delta, numHeads, numKvHeads } = config;
  if (part === "gateUp" && alternates(architecture)) {
    return (row) => (row % 2) * (rows / 2) + (row >> 1);
  }
  if (architecture.interleavedInGguf && (part === "q" || part === "k")) {
    const width = rows / (part === "q" ? numHeads : numKvHeads), half = width / 2;
    return (row) => {
      const at = row % width;
      return row - at + 2 * (at % half) + (at < half ? 0 : 1);
    };
  }
  if (delta === undefined || delta.keyHeads === delta.valueHeads) return null;
  const { keyHeads, keyDim, valueHeads, valueDim } = delta, shared = valueHeads / keyHeads;
  const first = part === "deltaQkv" || part === "conv" ? 2 * keyHeads * keyDim : 0;
  const isOne = ["deltaB", "deltaA", "aLog", "dtBias"].includes(part);
  if (!isOne && first === 0 && part !== "deltaZ" && part !== "deltaOut") return null;
  const width = isOne ? 1 : valueDim;
  return (row) => {
    if (row < first) return row;
    const head = Math.floor((row - first) / width), at = (row - first) % width;
    return first + ((head % shared) * keyHeads + Math.floor(head / shared)) * width + at;
  };
}

/** The places of the longest blocks of rows that stay together, within one of `parts`. */
function blockPlaces(
  order: ((row: number) => number) | null,
  rows: number,
  parts: number,
): number[] {
  const divisor = (a: number, b: number): number => b === 0 ? a : divisor(b, a % b);
  const to = Array.from({ length: rows }, (_, row) => order?.(row) ?? row);
  let block = rows / parts;
  for (let row = 1; row < rows; row++) {
    if (to[row] !== to[row - 1]! + 1) block = divisor(divisor(block, row), to[row]!);
  }
  return to.filter((_, row) => row % block === 0).map((row) => row / block);
}

type Values = Float32Array | Float64Array | Uint8Array;

/** The tensor of a file, and the block in it, that block `index` of all matrices is. */
export function blockIn(
  { names, places }: Pick<GgufLayout, "names" | "places">,
  index: number,
): [tensor: number, block: number] {
  const each = places!.length / names.length, to = places![index % places!.length]!;
  return [Math.floor(to / each), Math.floor(index / places!.length) * each + to % each];
}

/** Copies the rows of a tensor, values or stored bytes, to where a file has them, or from there. */
function moveRows<T extends Values>(
  layout: Pick<GgufLayout, "names" | "places" | "count">,
  whole: T,
  parts: readonly T[],
  toFile: boolean,
): void {
  const blocks = layout.count * layout.places!.length, size = whole.length / blocks;
  for (let index = 0; index < blocks; index++) {
    const [tensor, block] = blockIn(layout, index);
    const here = whole.subarray(index * size, (index + 1) * size);
    const there = parts[tensor]!.subarray(block * size, (block + 1) * size);
    if (toFile) there.set(here);
    else here.set(there);
  }
}

/** The tensors of a file that a tensor of a model is there, but for transposing and `change`. */
export function rowsToFile<T extends Float32Array | Float64Array>(
  layout: Pick<GgufLayout, "names" | "places" | "count">,
  whole: T,
): T[] {
  if (layout.places === null) return [whole];
  const parts = layout.names.map(() => whole.slice(0, whole.length / layout.names.length) as T);
  moveRows(layout, whole, parts, true);
  return parts;
}

/** The reverse of {@link rowsToFile}, of values or of the bytes in which they are stored. */
export function rowsFromFile<T extends Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(
  layout: Pick<GgufLayout, "names" | "places" | "count">,
  parts: readonly T[],
): T {
  const [first] = parts as [T];
  if (layout.places === null) return first;
  const length = first.length * parts.length;
  const whole = first instanceof Float32Array ? new Float32Array(length) : new Uint8Array(length);
  moveRows(layout, whole as T, parts, false);
  return whole as T;
}
