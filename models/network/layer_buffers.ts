/** The buffers of passes over a layer: activations of the forward, scratch of the backward. */
import type { Tensor } from "../../kernels/tensor.ts";
import type { Module } from "../architectures/architecture.ts";
import { architectureOf, hasPart, modulesOf } from "../architectures/mod.ts";
import { type LinearBackward, linearBackward, linearForward } from "./linear.ts";
import type { LayerWeights } from "./weights/model_weights.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { Workspace } from "./workspace.ts";
import type { Device } from "../../kernels/device.ts";
import type { AdapterDropout } from "./dropout.ts";

/** Activations of one layer; the backward reads all of them. */
export interface LayerActivations {
  h: Tensor; // [rows, d], the layer's input
  n1: Tensor; // [rows, d], normed input
  mean1: Tensor | null; // [rows], with LayerNorm
  rho1: Tensor; // [rows]
  /**
   * Query and key heads before their norm, and the norm's ρ, where the architecture has such norms.
   */
  rawQ: Tensor | null; // [rows, heads·headDim]
  rawK: Tensor | null; // [rows, kvHeads·headDim]
  rhoQ: Tensor | null; // [rows, heads]
  rhoK: Tensor | null; // [rows, kvHeads]
  q: Tensor; // [rows, heads·headDim], after RoPE
  k: Tensor; // [rows, kvHeads·headDim], after RoPE
  v: Tensor; // [rows, kvHeads·headDim]
  attn: Tensor; // [rows, heads·headDim]
  lse: Tensor; // [rows, heads]
  mid: Tensor; // [rows, d], after attention
  n2: Tensor; // [rows, d]
  mean2: Tensor | null; // [rows]
  rho2: Tensor; // [rows]
  /** Input of the nonlinearity. */
  gate: Tensor; // [rows, f]
  /** Second input of SwiGLU; null with GELU. */
  up: Tensor | null; // [rows, f]
  /** x·Aᵀ [rows, r] of the modules with an active adapter. */
  u: Partial<Record<Module, Tensor>>;
}

type Stored = Exclude<keyof LayerActivations, "u">;

/** Elements per row of each activation that the architecture has, except `u`. */
export function activationWidths(config: ModelConfig): Partial<Record<Stored, number>> {
  const { layerNorm, activation } = architectureOf(config);
  const d = config.hiddenSize, f = config.intermediateSize;
  const { numHeads: heads, numKvHeads: kvHeads, headDim } = config;
  const q = heads * headDim, kv = kvHeads * headDim;
  return {
    h: d,
    n1: d,
    rho1: 1,
    q,
    k: kv,
    v: kv,
    attn: q,
    lse: heads,
    mid: d,
    n2: d,
    rho2: 1,
    gate: f,
    ...(activation === "swiglu" ? { up: f } : {}),
    ...(layerNorm ? { mean1: 1, mean2: 1 } : {}),
    ...(hasPart(config, "qNorm") ? { rawQ: q, rawK: kv, rhoQ: heads, rhoK: kvHeads } : {}),
  };
}

export type ActivationName = Stored | `u.${Module}`;

export interface ActivationOptions {
  /** False leaves `u` empty. */
  adapter: boolean;
  /** Name of a buffer. Layers with equal names share it. */
  name: (activation: ActivationName) => string;
  /**
   * Largest rank of the model's adapters, so that a shared buffer has the same size for all layers.
   */
  maxRank: number;
  /** Tensors that are used instead of the workspace's. */
  provided: Partial<LayerActivations>;
}

const ABSENT = {
  mean1: null,
  mean2: null,
  rawQ: null,
  rawK: null,
  rhoQ: null,
  rhoK: null,
  up: null,
};

/** Takes a layer's activations from a workspace. */
export function layerActivations(
  workspace: Workspace,
  config: ModelConfig,
  weights: LayerWeights,
  rows: number,
  { adapter, name, maxRank, provided }: ActivationOptions,
): LayerActivations {
  const widths = Object.entries(activationWidths(config)) as [Stored, number][];
  const tensors = widths.map(([activation, width]) => [
    activation,
    provided[activation] ?? workspace.get(name(activation), rows * width),
  ]);
  const adapted = modulesOf(config).filter((module) => adapter && weights[module].lora !== null);
  const u = adapted.map((module) => [module, workspace.get(name(`u.${module}`), rows * maxRank)]);
  return { ...ABSENT, ...Object.fromEntries(tensors), u: Object.fromEntries(u) };
}

/** Elements per row of the scratch that all forward passes share (LayerPass). */
function passWidths(
  config: ModelConfig,
): { projected: number; activated: number; qkv?: number } {
  const { numHeads, numKvHeads, headDim, hiddenSize, intermediateSize } = config;
  const widths = { projected: hiddenSize, activated: intermediateSize };
  return hasPart(config, "qkv")
    ? { ...widths, qkv: (numHeads + 2 * numKvHeads) * headDim }
    : widths;
}

/** Scratch of the backward pass, shared by all layers. */
export interface BackwardScratch {
  /** [rows, d]: derivative by the layer's output, later replaced by the one by its input */
  dh: Tensor;
  dnormed: Tensor; // [rows, d]
  dactivated: Tensor; // [rows, f]
  dattn: Tensor; // [rows, heads·headDim]
  dq: Tensor; // [rows, heads·headDim]
  dk: Tensor; // [rows, kvHeads·headDim]
  dv: Tensor; // [rows, kvHeads·headDim]
  /** [rows, largest r]; null without adapters. */
  du: Tensor | null;
}

/** Elements per row of the backward's scratch, except `du`. */
export function backwardWidths(
  config: ModelConfig,
): Record<Exclude<keyof BackwardScratch, "du">, number> {
  const d = config.hiddenSize, f = config.intermediateSize;
  const q = config.numHeads * config.headDim, kv = config.numKvHeads * config.headDim;
  return { dh: d, dnormed: d, dactivated: f, dattn: q, dq: q, dk: kv, dv: kv };
}

// What the parts of a decoder layer (attention inputs, MLP) get from the pass that runs them: the
// device, the sizes, the attention, and the buffers that all layers share.

/** A part of a layer. */
export type LayerPart = "attention" | "mlp";

export interface LayerPass {
  device: Device;
  config: ModelConfig;
  rows: number;
  /** q, k, v → attn, lse; includes RoPE. */
  attend(activations: LayerActivations): void;
  /** Output of the last projection of the attention and of the MLP, [rows, d]. */
  projected: Tensor;
  /** Input of the MLP's last projection, [rows, f]. */
  activated: Tensor;
  /**
   * For architectures where one module computes q, k and v: its output, and the indices of the rows
   * of d elements that are q, k and v.
   */
  fused: { qkv: Tensor; index: readonly Tensor[] } | null;
  /** Dropout of the adapters' inputs; null = none. */
  dropout: AdapterDropout | null;
  /** Keeps the results of a part of a layer for the training pass (activation_store.ts). */
  save?: ((part: LayerPart, activations: LayerActivations) => void) | undefined;
}

export interface LayerBackwardPass extends LayerPass {
  /** attn, lse, dattn → dq, dk, dv, the derivatives by q, k, v before their rotation. */
  attendBackward(activations: LayerActivations, scratch: BackwardScratch): void;
  scratch: BackwardScratch;
}

/** The scratch that all layers of a pass share. */
export function passScratch(
  workspace: Workspace,
  config: ModelConfig,
  rows: number,
): Pick<LayerPass, "projected" | "activated" | "fused"> {
  const widths = passWidths(config);
  const part = (i: number) => Uint32Array.from({ length: rows }, (_, row) => 3 * row + i);
  return {
    projected: workspace.get("projected", rows * widths.projected),
    activated: workspace.get("activated", rows * widths.activated),
    fused: widths.qkv === undefined ? null : {
      qkv: workspace.get("qkv", rows * widths.qkv),
      index: ["q", "k", "v"].map((name, i) => workspace.upload(`qkv.${name}`, part(i))),
    },
  };
}

/** out = the output of a linear module for x [rows, in], with its adapter where that is active. */
export function project(
  { device, rows, dropout }: LayerPass,
  weights: LayerWeights,
  { u }: LayerActivations,
  module: Module,
  x: Tensor,
  out: Tensor,
): void {
  linearForward(device, weights[module], x, out, u[module] ?? null, rows, dropout);
}

/** The backward of `project`. */
export function projectBackward(
  { device, rows, dropout, scratch: { du } }: LayerBackwardPass,
  weights: LayerWeights,
  { u }: LayerActivations,
  module: Module,
  args: Pick<LinearBackward, "x" | "dy" | "dx" | "accumulate" | "beforeX">,
): void {
  linearBackward(device, weights[module], { ...args, u: u[module] ?? null, du, rows, dropout });
}
