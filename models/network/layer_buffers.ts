/** The buffers of passes over a layer: activations of the forward, scratch of the backward. */
import type { RouteArgs } from "../../kernels/ops/experts/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { LayerNorm, Module } from "../architectures/architecture.ts";
import {
  architectureOf,
  convWidth,
  hasAttention,
  hasPart,
  modulesOf,
  normWidth,
  scalarOf,
} from "../architectures/mod.ts";
import { isOfExperts } from "../architectures/mixtures.ts";
import { type LinearBackward, linearBackward, linearForward } from "./linear.ts";
import type { LayerWeights, ModelWeights } from "./weights/model_weights.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { DeltaSizes } from "../../kernels/ops/delta_rule/spec.ts";
import type { Workspace } from "./workspace.ts";
import type { Device } from "../../kernels/device.ts";
import type { AdapterDropout } from "./dropout.ts";
import { normBackward, normForward, type NormWeights } from "./norm.ts";

/**
 * Activations of one layer; the backward reads all of them. A layer with a convolution or a delta
 * rule does not have those of attention, which must not be read.
 */
export interface LayerActivations {
  /** The layer's number. */
  layer: number;
  h: Tensor; // [rows, d], the layer's input
  n1: Tensor; // [rows, d], normed input; h without a norm
  mean1: Tensor | null; // [rows], with LayerNorm
  rho1: Tensor | null; // [rows]
  /**
   * Query and key heads before their norm, and the norm's ρ, where the architecture has such norms.
   */
  rawQ: Tensor | null; // [rows, heads·headDim]
  rawK: Tensor | null; // [rows, kvHeads·headDim]
  rhoQ: Tensor | null; // [rows, heads], or [rows]
  rhoK: Tensor | null; // [rows, kvHeads], or [rows]
  q: Tensor; // [rows, heads·headDim], after RoPE
  k: Tensor; // [rows, kvHeads·headDim], after RoPE
  v: Tensor; // [rows, kvHeads·headDim]
  attn: Tensor; // [rows, heads·headDim]
  lse: Tensor; // [rows, heads]
  /** Of a convolution: its two gates and its input, the gated input, and what the gates leave. */
  convB: Tensor | null; // [rows, d]
  convC: Tensor | null; // [rows, d]
  convX: Tensor | null; // [rows, d]
  convBx: Tensor | null; // [rows, d]
  /** What a convolution or a delta rule leaves, the input of the last projection. */
  mixed: Tensor | null; // [rows, d] or [rows, valueHeads·valueDim]
  /**
   * Of a delta rule (delta_layer.ts): the input of its convolution and its output, the inputs of
   * its gates, and what it computes, before and after the norm.
   */
  deltaQkv: Tensor | null; // [rows, convWidth]
  deltaX: Tensor | null; // [rows, convWidth]
  deltaZ: Tensor | null; // [rows, valueHeads·valueDim]
  deltaB: Tensor | null; // [rows, valueHeads]
  deltaA: Tensor | null; // [rows, valueHeads]
  deltaOut: Tensor | null; // [rows, valueHeads·valueDim]
  deltaNormed: Tensor | null; // [rows, valueHeads·valueDim]
  rhoDelta: Tensor | null; // [rows, valueHeads]
  /** The gate of attention, and what it leaves, where the architecture has it. */
  attnGate: Tensor | null; // [rows, heads·headDim]
  gated: Tensor | null; // [rows, heads·headDim]
  /** Outputs of the last projection of attention and MLP, where a norm follows, and its ρ. */
  attentionOut: Tensor | null; // [rows, d]
  mlpOut: Tensor | null; // [rows, d]
  rhoAttentionOut: Tensor | null; // [rows]
  rhoMlpOut: Tensor | null; // [rows]
  mid: Tensor; // [rows, d], after attention
  n2: Tensor; // [rows, d]; mid without a norm
  mean2: Tensor | null; // [rows]
  rho2: Tensor | null; // [rows]
  /** Input of the nonlinearity. */
  gate: Tensor; // [rows, f]
  /** Second input of SwiGLU and GeGLU; null with GELU. */
  up: Tensor | null; // [rows, f]
  /**
   * Which experts each row goes through; null = there are none. With experts, `gate`, `up` and the
   * `u` of their modules have rows·chosen rows, in the order of experts.
   */
  routing: Routing | null;
  /** x·Aᵀ [rows, r] of the modules with an active adapter. */
  u: Partial<Record<Module, Tensor>>;
  /** The products [rows, out] of the modules with DoRA, where it is trained. */
  y: Partial<Record<Module, Tensor>>;
}

type Stored = Exclude<keyof LayerActivations, "u" | "y" | "layer" | "routing">;

/** The choice of experts (kernels/ops/experts/spec.ts). */
export type Routing = Pick<
  RouteArgs,
  "logits" | "gates" | "rowOf" | "placeOf" | "expertOf" | "begin"
>;

/** Experts of a row; 1 where the MLP is not a mixture. */
export function chosenExperts({ experts }: ModelConfig): number {
  return experts?.chosen ?? 1;
}

/** How often a module reads each row: once for each of its experts, or once. */
function timesRead(config: ModelConfig, module: Module): number {
  return isOfExperts(config, module) ? chosenExperts(config) : 1;
}

function routingBuffers(
  workspace: Workspace,
  { count, chosen }: NonNullable<ModelConfig["experts"]>,
  rows: number,
  name: ActivationOptions["name"],
): Routing {
  const get = (part: keyof Routing, length: number, dtype?: "u32") =>
    workspace.get(name(`routing.${part}`), length, dtype);
  const places = rows * chosen;
  return {
    logits: get("logits", rows * count),
    gates: get("gates", places),
    rowOf: get("rowOf", places, "u32"),
    placeOf: get("placeOf", places, "u32"),
    expertOf: get("expertOf", places, "u32"),
    begin: get("begin", count + 1, "u32"),
  };
}

/** Elements per row of each activation that a layer has, except `u` and `y`. */
export function activationWidths(
  config: ModelConfig,
  layer: number,
): Partial<Record<Stored, number>> {
  const { layerNorm, activation, attentionGate } = architectureOf(config);
  const d = config.hiddenSize, f = chosenExperts(config) * config.intermediateSize;
  const { numHeads: heads, numKvHeads: kvHeads, headDim } = config;
  const q = heads * headDim, kv = kvHeads * headDim;
  const has = (part: LayerNorm) => hasPart(config, part, layer);
  return {
    h: d,
    ...(has("inputNorm") ? { n1: d, rho1: 1 } : {}),
    ...(hasAttention(config, layer)
      ? {
        q,
        k: kv,
        v: kv,
        attn: q,
        lse: heads,
        ...(attentionGate ? { attnGate: q, gated: q } : {}),
      }
      : config.delta === undefined
      ? { convB: d, convC: d, convX: d, convBx: d, mixed: d }
      : deltaWidths(config, config.delta)),
    ...(has("attentionOutNorm") ? { attentionOut: d, rhoAttentionOut: 1 } : {}),
    ...(has("mlpOutNorm") ? { mlpOut: d, rhoMlpOut: 1 } : {}),
    mid: d,
    ...(has("postNorm") ? { n2: d, rho2: 1 } : {}),
    gate: f,
    ...(activation === "gelu" ? {} : { up: f }),
    ...(layerNorm ? { mean1: 1, mean2: 1 } : {}),
    ...(has("qNorm")
      ? {
        rawQ: q,
        rawK: kv,
        rhoQ: q / normWidth(config, "qNorm"),
        rhoK: kv / normWidth(config, "kNorm"),
      }
      : {}),
  };
}

function deltaWidths(config: ModelConfig, { valueHeads, valueDim }: DeltaSizes) {
  const width = convWidth(config), out = valueHeads * valueDim;
  return {
    deltaQkv: width,
    deltaX: width,
    deltaZ: out,
    deltaB: valueHeads,
    deltaA: valueHeads,
    deltaOut: out,
    deltaNormed: out,
    rhoDelta: valueHeads,
    mixed: out,
  };
}

export type ActivationName = Stored | `${"u" | "y"}.${Module}` | `routing.${keyof Routing}`;

export interface ActivationOptions {
  /** False leaves `u` and `y` empty. */
  adapter: boolean;
  /** Name of a buffer. Layers with equal names share it. */
  name: (activation: ActivationName) => string;
  /** Tensors that are used instead of the workspace's. */
  provided: Partial<LayerActivations>;
}

const ABSENT = {
  mean1: null,
  mean2: null,
  rho1: null,
  rho2: null,
  attentionOut: null,
  mlpOut: null,
  rhoAttentionOut: null,
  rhoMlpOut: null,
  convB: null,
  convC: null,
  convX: null,
  convBx: null,
  mixed: null,
  deltaQkv: null,
  deltaX: null,
  deltaZ: null,
  deltaB: null,
  deltaA: null,
  deltaOut: null,
  deltaNormed: null,
  rhoDelta: null,
  attnGate: null,
  gated: null,
  rawQ: null,
  rawK: null,
  rhoQ: null,
  rhoK: null,
  up: null,
};

/** Takes the activations of layer `layer` from a workspace. */
export function layerActivations(
  workspace: Workspace,
  { config, weights, maxRank }: {
    config: ModelConfig;
    weights: Pick<ModelWeights, "layers">;
    maxRank: number;
  },
  layer: number,
  rows: number,
  { adapter, name, provided }: ActivationOptions,
): LayerActivations {
  const widths = Object.entries(activationWidths(config, layer)) as [Stored, number][];
  const tensors = widths.map(([activation, width]) => [
    activation,
    provided[activation] ?? workspace.get(name(activation), rows * width),
  ]);
  const linears = weights.layers[layer]!;
  const adapted = modulesOf(config, layer).filter((module) =>
    adapter && linears[module].lora !== null
  );
  // A shared buffer has the same size for all layers, so it has room for the largest rank.
  const u = adapted.map((module) => [
    module,
    workspace.get(name(`u.${module}`), rows * timesRead(config, module) * maxRank),
  ]);
  const y = adapted.filter((module) => linears[module].lora?.dora?.dmagnitude != null)
    .map((module) => [
      module,
      workspace.get(name(`y.${module}`), rows * linears[module].outDim),
    ]);
  const own = Object.fromEntries(tensors);
  const inputs = { n1: own.n1 ?? own.h, n2: own.n2 ?? own.mid };
  return {
    ...ABSENT,
    ...own,
    ...inputs,
    layer,
    routing: config.experts === undefined
      ? null
      : routingBuffers(workspace, config.experts, rows, name),
    u: Object.fromEntries(u),
    y: Object.fromEntries(y),
  };
}

/** The last projection of a layer's mixer, and its input. */
export function mixerOutput({ attn, gated, mixed, deltaZ }: LayerActivations): [Module, Tensor] {
  if (mixed === null) return ["o", gated ?? attn];
  return [deltaZ === null ? "convOut" : "deltaOut", mixed];
}

/** The output of a module that computes several parts, and where these are in it. */
export interface FusedOutput {
  out: Tensor; // [rows, Σ widths]
  /** The parts are in pieces of this number of elements. */
  piece: number;
  parts: readonly { index: Tensor; pieces: number }[];
  /** How often a row has all parts: once, or for each head. */
  repeats: number;
}

/** The buffer of a fused module, whose rows are parts of these widths. */
function fusedOutput(
  workspace: Workspace,
  name: string,
  rows: number,
  widths: readonly number[],
  repeats = 1,
): FusedOutput {
  const piece = widths.reduce(commonDivisor), total = widths.reduce((sum, w) => sum + w) / piece;
  let first = 0;
  const parts = widths.map((width, part) => {
    const pieces = width / piece, from = first;
    first += pieces;
    const index = Uint32Array.from(
      { length: rows * repeats * pieces },
      (_, i) => Math.floor(i / pieces) * total + from + i % pieces,
    );
    return { index: workspace.upload(`${name}.${part}`, index), pieces };
  });
  return { out: workspace.get(name, rows * repeats * total * piece), piece, parts, repeats };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** Copies the parts of a fused module's output to tensors of their own. */
export function splitParts(
  { device, rows }: Pick<LayerPass, "device" | "rows">,
  { out: table, piece: d, parts, repeats }: FusedOutput,
  to: readonly Tensor[],
): void {
  parts.forEach(({ index, pieces }, i) => {
    device.run("gather_rows", { table, index, out: to[i]!, rows: rows * repeats * pieces, d });
  });
}

/** The reverse. */
export function joinParts(
  { device, rows }: Pick<LayerPass, "device" | "rows">,
  { out: table, piece: d, parts, repeats }: FusedOutput,
  from: readonly Tensor[],
): void {
  parts.forEach(({ index, pieces }, i) => {
    device.run("scatter_rows", { src: from[i]!, index, table, rows: rows * repeats * pieces, d });
  });
}

/** Scratch of the backward pass, shared by all layers; what no layer needs is not there. */
export interface BackwardScratch {
  /** [rows, d]: derivative by the layer's output, later replaced by the one by its input */
  dh: Tensor;
  dnormed: Tensor; // [rows, d]
  dactivated: Tensor; // [rows, f]
  dattn: Tensor; // [rows, heads·headDim]
  dq: Tensor; // [rows, heads·headDim]
  dk: Tensor; // [rows, kvHeads·headDim]
  dv: Tensor; // [rows, kvHeads·headDim]
  /** Of attention with a gate: the derivatives by what the gate leaves, and by the gate. */
  dgated: Tensor; // [rows, heads·headDim]
  dattnGate: Tensor; // [rows, heads·headDim]
  /** Of a convolution: the derivatives by its output, its gate and its gated input. */
  dmixed: Tensor; // [rows, d], or of a delta rule [rows, valueHeads·valueDim]
  dgate: Tensor; // [rows, d]
  dconv: Tensor; // [rows, d]
  /** Of a delta rule: the derivatives by its activations, and by aLog of each row. */
  dqkv: Tensor; // [rows, convWidth]
  ddeltaX: Tensor; // [rows, convWidth]
  dz: Tensor; // [rows, valueHeads·valueDim]
  ddelta: Tensor; // [rows, valueHeads·valueDim]
  db: Tensor; // [rows, valueHeads]
  da: Tensor; // [rows, valueHeads]
  dlog: Tensor; // [rows, valueHeads]
  /** [rows, largest r]; null without adapters. */
  du: Tensor | null;
}

/** Elements per row of the backward's scratch, except `du`. */
export function backwardWidths(
  config: ModelConfig,
): Partial<Record<Exclude<keyof BackwardScratch, "du">, number>> {
  const d = config.hiddenSize, f = chosenExperts(config) * config.intermediateSize;
  const q = config.numHeads * config.headDim, kv = config.numKvHeads * config.headDim;
  const { delta } = config, { valueHeads = 0, valueDim = 0 } = delta ?? {};
  const out = valueHeads * valueDim, width = convWidth(config);
  const ofMixer = delta !== undefined
    ? {
      dqkv: width,
      ddeltaX: width,
      dz: out,
      ddelta: out,
      dmixed: out,
      db: valueHeads,
      da: valueHeads,
      dlog: valueHeads,
    }
    : hasPart(config, "conv")
    ? { dmixed: d, dgate: d, dconv: d }
    : {};
  const ofGate = architectureOf(config).attentionGate ? { dgated: q, dattnGate: q } : {};
  const ofAttention = { dattn: q, dq: q, dk: kv, dv: kv, ...ofGate };
  return { dh: d, dnormed: d, dactivated: f, ...ofAttention, ...ofMixer };
}

// What the parts of a decoder layer (attention inputs, MLP) get from the pass that runs them: the
// device, the sizes, the attention, and the buffers that all layers share.

/** A part of a layer. */
export type LayerPart = "attention" | "mlp";

export interface LayerPass {
  device: Device;
  config: ModelConfig;
  rows: number;
  /** q, k, v → attn, lse; includes RoPE. Or a convolution's inputs → mixed. */
  attend(activations: LayerActivations): void;
  /** Output of the last projection of the attention and of the MLP, [rows, d]. */
  projected: Tensor;
  /** Input of the MLP's last projection, [rows, f]. */
  activated: Tensor;
  /**
   * Where one module computes several things (q, k and v; gate and up; q and its gate): its output;
   * else null.
   */
  fused: Record<"qkv" | "gateUp" | "convIn" | "q", FusedOutput | null>;
  /** Null where the MLP is not a mixture of experts. */
  experts: ExpertScratch | null;
  /** Dropout of the adapters' inputs; null = none. */
  dropout: AdapterDropout | null;
  /** Keeps the results of a part of a layer for the training pass (activation_store.ts). */
  save?: ((part: LayerPart, activations: LayerActivations) => void) | undefined;
}

export interface LayerBackwardPass extends LayerPass {
  /**
   * attn, lse, dattn → dq, dk, dv, the derivatives by q, k, v before their rotation. Or dmixed →
   * those by a convolution's parts, in dmixed, dgate and dconv.
   */
  attendBackward(activations: LayerActivations, scratch: BackwardScratch): void;
  scratch: BackwardScratch;
}

/** Buffers of a mixture of experts. A place is a row in the order of experts. */
export interface ExpertScratch {
  x: Tensor; // [places, d]
  out: Tensor; // [places, d]
  dgates: Tensor; // [places]
  dlogits: Tensor; // [rows, experts]
  ones: Tensor; // [f]
  /** Sums the places of each row: the first place of rows in `placeOf`, and the rows. */
  runs: Tensor; // u32 [rows + 1]
  target: Tensor; // u32 [rows]
  workspace: Workspace;
}

function expertScratch(workspace: Workspace, config: ModelConfig, rows: number): ExpertScratch {
  const { hiddenSize: d, intermediateSize: f } = config, { count, chosen } = config.experts!;
  const each = (length: number, of: (i: number) => number) =>
    Uint32Array.from({ length }, (_, i) => of(i));
  return {
    x: workspace.get("experts.x", rows * chosen * d),
    out: workspace.get("experts.out", rows * chosen * d),
    dgates: workspace.get("experts.dgates", rows * chosen),
    dlogits: workspace.get("experts.dlogits", rows * count),
    ones: workspace.uploadFloats("experts.ones", new Float32Array(f).fill(1)),
    runs: workspace.upload("experts.runs", each(rows + 1, (row) => row * chosen)),
    target: workspace.upload("experts.target", each(rows, (row) => row)),
    workspace,
  };
}

/** The scratch that all layers of a pass share. */
export function passScratch(
  workspace: Workspace,
  config: ModelConfig,
  rows: number,
): Pick<LayerPass, "projected" | "activated" | "fused" | "experts"> {
  const { numHeads, numKvHeads, headDim, hiddenSize, intermediateSize: f } = config;
  const q = numHeads * headDim, kv = numKvHeads * headDim;
  const fused = (module: "qkv" | "gateUp" | "convIn", ...widths: number[]) =>
    hasPart(config, module)
      ? fusedOutput(workspace, module, rows * timesRead(config, module), widths)
      : null;
  return {
    projected: workspace.get("projected", rows * hiddenSize),
    activated: workspace.get("activated", rows * chosenExperts(config) * f),
    experts: config.experts === undefined ? null : expertScratch(workspace, config, rows),
    fused: {
      qkv: fused("qkv", q, kv, kv),
      gateUp: fused("gateUp", f, f),
      convIn: fused("convIn", hiddenSize, hiddenSize, hiddenSize),
      q: architectureOf(config).attentionGate
        ? fusedOutput(workspace, "q", rows, [headDim, headDim], numHeads)
        : null,
    },
  };
}

/** out = the output of a linear module for x [rows, in], with its adapter where that is active. */
export function project(
  { device, rows, dropout }: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
  module: Module,
  x: Tensor,
  out: Tensor,
): void {
  const u = activations.u[module] ?? null, y = activations.y[module] ?? null;
  linearForward(device, weights[module], { x, out, u, y, rows, dropout });
}

/** The backward of `project`. */
export function projectBackward(
  { device, rows, dropout, scratch: { du } }: LayerBackwardPass,
  weights: LayerWeights,
  activations: LayerActivations,
  module: Module,
  args: Pick<LinearBackward, "x" | "dy" | "dx" | "accumulate" | "beforeX">,
): void {
  const u = activations.u[module] ?? null, y = activations.y[module] ?? null;
  linearBackward(device, weights[module], { ...args, u, y, du, rows, dropout });
}

/**
 * What a part adds to the residual stream: the output of its last projection, which is in `raw`
 * where a norm follows and else in pass.projected → pass.projected.
 */
export function branchForward(
  { device, config, rows, projected: out }: LayerPass,
  norm: NormWeights | null,
  raw: Tensor | null,
  rho: Tensor | null,
): void {
  const d = config.hiddenSize, scale = scalarOf(config, "residual");
  if (norm !== null) {
    const shape = { rows, d, eps: config.rmsNormEps };
    normForward(device, norm, { x: raw!, out, mean: null, rho: rho!, ...shape });
  }
  if (scale !== 1) device.run("add", { b: out, out, n: rows * d, scale });
}

/** The derivative by that output, from scratch.dh. It is dh, or in scratch.dnormed. */
export function branchBackward(
  { device, config, rows, scratch: { dh, dnormed } }: LayerBackwardPass,
  norm: NormWeights | null,
  raw: Tensor | null,
  rho: Tensor | null,
): Tensor {
  const d = config.hiddenSize, scale = scalarOf(config, "residual");
  if (scale !== 1) device.run("add", { b: dh, out: dnormed, n: rows * d, scale });
  const dout = scale === 1 ? dh : dnormed;
  if (norm === null) return dout;
  normBackward(device, norm, { dout, x: raw!, mean: null, rho: rho!, dx: dnormed, rows, d });
  return dnormed;
}
