/** The buffers of passes over a layer: activations of the forward, scratch of the backward. */
import type { RouteArgs } from "../../kernels/ops/experts/spec.ts";
import type { GateOptions } from "../../kernels/ops/swiglu/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { LayerNorm, LayerPart as WeightPart, Module } from "../architectures/architecture.ts";
import {
  architectureOf,
  convWidth,
  hasAttention,
  hasPart,
  linearDims,
  modulesOf,
  scalarOf,
} from "../architectures/mod.ts";
import { alternates, isOfExperts } from "../architectures/mixtures.ts";
import { type LinearBackward, linearBackward, linearForward } from "./linear.ts";
import type { LayerWeights, Network } from "./weights/model_weights.ts";
import { layerSizes, type ModelConfig } from "../architectures/model_config.ts";
import type { Workspace } from "./workspace.ts";
import type { Device } from "../../kernels/device.ts";
import type { AdapterDropout } from "./dropout.ts";
import { normBackward, normForward, type NormPass } from "./norm.ts";

/** A layer with a convolution or a delta rule does not have those of attention, not to be read. */
type Always = "h" | "n1" | "q" | "k" | "v" | "attn" | "lse" | "mid" | "n2" | "gate";
type Attention = "rawQ" | "rawK" | "rawV" | "attnGate" | "gated";
type Convolution = "convB" | "convC" | "convX" | "convBx";
type Delta = "deltaQkv" | "deltaX" | "deltaZ" | "deltaB" | "deltaA" | "deltaOut" | "deltaNormed";
type PerLayer = "mlpSum" | "ownGate" | "ownInput" | "ownOut";
type Others = "mixed" | "attentionOut" | "mlpOut" | "up";
type Sometimes = Attention | Convolution | Delta | PerLayer | Others;
type Stored = Always | Sometimes;

/**
 * Elements per row of each activation, or 0 where a layer does not have it; then the others.
 * @param sizes those of the layer, or larger ones
 */
function widthsOf(
  config: ModelConfig,
  layer: number,
  sizes = layerSizes(config, layer),
): Record<Stored, number> {
  const { activation, attentionGate } = architectureOf(config);
  const attends = hasAttention(config, layer);
  const { hiddenSize: d, numHeads, perLayer = 0 } = config;
  const has = (part: WeightPart, width: number) => hasPart(config, part, layer) ? width : 0;
  const heads = attends ? numHeads : 0, q = attends ? sizes.q : 0;
  const kv = attends ? sizes.kv : 0, gate = attentionGate ? q : 0;
  const f = chosenExperts(config) * sizes.f;
  const { valueHeads: valueHeadCount = 0, valueDim = 0 } = config.delta ?? {};
  const valueHeads = has("deltaQkv", valueHeadCount), out = valueHeads * valueDim;
  const conv = has("convIn", d), qkv = has("deltaQkv", convWidth(config));
  return {
    h: d, // the layer's input
    n1: has("inputNorm", d), // normed input; h without a norm
    // Query, key and value heads before their norm, where the architecture has it.
    rawQ: has("qNorm", q),
    rawK: has("kNorm", kv),
    rawV: has("vNorm", kv),
    q, // after RoPE
    k: kv, // after RoPE
    v: kv,
    attn: q,
    lse: heads,
    // The gate of attention, and what it leaves, where the architecture has it.
    attnGate: gate,
    gated: gate,
    // Of a convolution: its two gates and its input, and the gated input.
    convB: conv,
    convC: conv,
    convX: conv,
    convBx: conv,
    // Of a delta rule (delta_layer.ts): the input of its convolution and its output, the inputs of
    // its gates, and what it computes, before and after the norm.
    deltaQkv: qkv,
    deltaX: qkv,
    deltaZ: out,
    deltaB: valueHeads,
    deltaA: valueHeads,
    deltaOut: out,
    deltaNormed: out,
    mixed: conv + out, // what a convolution or a delta rule leaves, the last projection's input
    // Outputs of the last projection of attention and MLP, where a norm follows.
    attentionOut: has("attentionOutNorm", d),
    mlpOut: has("mlpOutNorm", d),
    mid: d, // after attention
    n2: has("postNorm", d), // mid without a norm
    gate: f, // the input of the nonlinearity
    up: activation === "gelu" ? 0 : f, // the second input of SwiGLU and GeGLU
    // Of inputs of its own (per_layer.ts): what the MLP leaves, the gate, the inputs, and the
    // output of the last projection before its norm.
    mlpSum: has("layerScalar", d),
    ownGate: has("perLayerGate", perLayer),
    ownInput: has("perLayerGate", perLayer),
    ownOut: has("perLayerGate", d),
  };
}

/** A layer in one pass: its weights and its activations, all of which the backward reads. */
export interface LayerActivations
  extends Record<Always, Tensor>, Partial<Record<Sometimes, Tensor>> {
  layer: number;
  weights: LayerWeights;
  norms: Partial<Record<LayerNorm, NormPass>>;
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

/** The choice of experts (kernels/ops/experts/spec.ts). */
export type Routing = Pick<
  RouteArgs,
  "logits" | "gates" | "rowOf" | "placeOf" | "expertOf" | "begin"
>;

/** Experts of a row; 1 where the MLP is not a mixture. */
export function chosenExperts({ experts }: ModelConfig): number {
  return experts?.chosen ?? 1;
}

/** The function of the gate of a model's MLP. */
export function gateOptions(config: ModelConfig): GateOptions {
  const { swigluLimit: limit } = config;
  if (limit !== undefined) return { limit };
  return architectureOf(config).activation === "geglu" ? { gelu: true } : {};
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

export function activationWidths(
  config: ModelConfig,
  layer: number,
): Partial<Record<Stored, number>> {
  return Object.fromEntries(
    Object.entries(widthsOf(config, layer)).filter(([, width]) => width > 0),
  );
}

export type ActivationName =
  | Stored
  | `${"u" | "y"}.${Module}`
  | `${"mean" | "rho"}.${LayerNorm}`
  | `routing.${keyof Routing}`;

export interface ActivationOptions {
  /** Name of a buffer. Layers with equal names share it. */
  name: (activation: ActivationName) => string;
  /** Whether the buffers are this layer's alone: others have room for the largest layer. */
  own?: boolean;
  /** Tensors that are used instead of the workspace's. */
  provided?: Partial<Record<Stored, Tensor>>;
}

export function layerActivations(
  workspace: Workspace,
  { config, weights: { layers }, maxRank }: Pick<Network, "config" | "weights" | "maxRank">,
  layer: number,
  rows: number,
  { name, own = false, provided = {} }: ActivationOptions,
): LayerActivations {
  const weights = layers[layer]!;
  const get = (activation: ActivationName, width: number) =>
    workspace.get(name(activation), rows * width);
  const sizes = layerSizes(config, own ? layer : null);
  const widths = Object.entries(widthsOf(config, layer, sizes)).filter(([, width]) => width > 0);
  const stored = Object.fromEntries(
    (widths as [Stored, number][])
      .map(([activation, width]) => [activation, provided[activation] ?? get(activation, width)]),
  ) as Record<Stored, Tensor>;
  const norms = (Object.entries(weights.norms) as [LayerNorm, NormPass["norm"]][])
    .map(([part, norm]) => [part, {
      norm,
      mean: norm.bias === null ? null : get(`mean.${part}`, norm.repeats),
      rho: get(`rho.${part}`, norm.repeats),
    }]);
  const adapted = modulesOf(config, layer).filter((module) => weights[module].lora !== null);
  // A shared buffer has the same size for all layers, so it has room for the largest rank.
  const u = adapted.map((module) => [
    module,
    get(`u.${module}`, timesRead(config, module) * maxRank),
  ]);
  const y = adapted.filter((module) => weights[module].lora?.dora?.dmagnitude != null)
    .map((module) => [
      module,
      get(`y.${module}`, linearDims(config, module, own ? layer : null)[1]),
    ]);
  const { experts } = config;
  return {
    ...stored,
    n1: stored.n1 ?? stored.h,
    n2: stored.n2 ?? stored.mid,
    layer,
    weights,
    norms: Object.fromEntries(norms),
    routing: experts === undefined ? null : routingBuffers(workspace, experts, rows, name),
    u: Object.fromEntries(u),
    y: Object.fromEntries(y),
  };
}

/** The last projection of a layer's mixer, and its input. */
export function mixerOutput({ attn, gated, mixed, deltaZ }: LayerActivations): [Module, Tensor] {
  if (mixed === undefined) return ["o", gated ?? attn];
  return [deltaZ === undefined ? "convOut" : "deltaOut", mixed];
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

/** Copies the parts of a fused module's output, from the first on, to tensors of their own. */
export function splitParts(
  { device, rows }: Pick<LayerPass, "device" | "rows">,
  { out: table, piece: d, parts, repeats }: FusedOutput,
  to: readonly Tensor[],
  first = 0,
): void {
  to.forEach((out, i) => {
    const { index, pieces } = parts[first + i]!;
    device.run("gather_rows", { table, index, out, rows: rows * repeats * pieces, d });
  });
}

/** The reverse. */
export function joinParts(
  { device, rows }: Pick<LayerPass, "device" | "rows">,
  { out: table, piece: d, parts, repeats }: FusedOutput,
  from: readonly Tensor[],
  first = 0,
): void {
  from.forEach((src, i) => {
    const { index, pieces } = parts[first + i]!;
    device.run("scatter_rows", { src, index, table, rows: rows * repeats * pieces, d });
  });
}

/** Elements per row of each part of the backward's scratch; 0 where a model does not need it. */
function backwardWidths({ config, maxRank }: Pick<Network, "config" | "maxRank">) {
  const { hiddenSize: d, delta, perLayer = 0 } = config;
  const { q, kv, f } = layerSizes(config, null), chosen = chosenExperts(config);
  const gate = architectureOf(config).attentionGate ? q : 0, { valueHeads = 0 } = delta ?? {};
  const conv = hasPart(config, "convIn") ? d : 0;
  const width = delta === undefined ? 0 : convWidth(config);
  const out = valueHeads * (delta?.valueDim ?? 0);
  return {
    dh: d, // the derivative by the layer's output, later replaced by the one by its input
    dnormed: d,
    dactivated: Math.max(chosen * f, perLayer),
    dattn: q,
    dq: q,
    dk: kv,
    dv: kv,
    // Of attention with a gate: the derivatives by what the gate leaves, and by the gate.
    dgated: gate,
    dattnGate: gate,
    // Of a convolution: the derivatives by its output, its gate and its gated input.
    dmixed: conv + out, // or by a delta rule's output
    dgate: conv,
    dconv: conv,
    // Of a delta rule: the derivatives by its activations, and by aLog of each row.
    dqkv: width,
    ddeltaX: width,
    dz: out,
    ddelta: out,
    db: valueHeads,
    da: valueHeads,
    dlog: valueHeads,
    du: chosen * maxRank, // by an adapter's low-rank part
  };
}

type Scratch = Record<keyof ReturnType<typeof backwardWidths>, Tensor>;

/** Scratch of the backward pass, shared by all layers; what no layer needs is not there. */
export type BackwardScratch = Omit<Scratch, "du"> & Partial<Pick<Scratch, "du">>;

/** Takes the scratch from a workspace. The caller fills `dh` with the derivative by the output. */
export function backwardScratch(
  network: Network,
  workspace: Workspace,
  rows: number,
): BackwardScratch {
  const widths = Object.entries(backwardWidths(network)).filter(([, width]) => width > 0);
  const buffers = widths.map(([name, width]) => [name, workspace.get(name, rows * width)]);
  return Object.fromEntries(buffers);
}

/** What mixes positions in a packed batch: attention with RoPE, a convolution, a delta rule. */
export interface PackedMixer {
  /** q, k, v → attn, lse, gated; or the inputs of another mixer → mixed. */
  forward(activations: LayerActivations): void;
  /** dattn or dgated → dq, dk, dv before their rotation; or dmixed → those by a mixer's inputs. */
  backward(activations: LayerActivations, scratch: BackwardScratch): void;
}

// What the parts of a decoder layer (attention inputs, MLP) get from the pass that runs them: the
// device, the sizes, the attention, and the buffers that all layers share.

export type LayerPart = "attention" | "mlp";

export interface LayerPass {
  device: Device;
  config: ModelConfig;
  rows: number;
  attend: PackedMixer["forward"];
  /** Output of the last projection of the attention and of the MLP, [rows, d]. */
  projected: Tensor;
  /** Input of the MLP's last projection, [rows, f]. */
  activated: Tensor;
  /** The output of a module that computes several things (q, k and v; gate and up); else null. */
  fused: Record<"qkv" | "gateUp" | "convIn" | "q", FusedOutput | null>;
  /** Null where the MLP is not a mixture of experts. */
  experts: ExpertScratch | null;
  /** The inputs that each layer has of its own, [rows, layers·width]; null = there are none. */
  perLayer: FusedOutput | null;
  /** Dropout of the adapters' inputs; null = none. */
  dropout: AdapterDropout | null;
  /** Keeps the results of a part of a layer for the training pass (activation_store.ts). */
  save?: ((part: LayerPart, activations: LayerActivations) => void) | undefined;
}

export interface LayerBackwardPass extends LayerPass {
  /** Derivatives by the probabilities of experts in each row, [experts]; null = 0. */
  balance: Tensor | null;
  attendBackward: PackedMixer["backward"];
  /** The derivatives by `perLayer`; null = nothing needs them. */
  dPerLayer: FusedOutput | null;
  scratch: BackwardScratch;
}

/** Buffers of a mixture of experts. A place is a row in the order of experts. */
export interface ExpertScratch {
  x: Tensor; // [places, d]
  out: Tensor; // [places, d]
  dgates: Tensor; // [places]
  dlogits: Tensor; // [rows, experts]
  ones: Tensor; // [max(f, places)]
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
    ones: workspace.uploadFloats(
      "experts.ones",
      new Float32Array(Math.max(f, rows * chosen)).fill(1),
    ),
    runs: workspace.upload("experts.runs", each(rows + 1, (row) => row * chosen)),
    target: workspace.upload("experts.target", each(rows, (row) => row)),
    workspace,
  };
}

export function passScratch(
  workspace: Workspace,
  config: ModelConfig,
  rows: number,
): Pick<LayerPass, "projected" | "activated" | "fused" | "experts" | "perLayer"> {
  const { numHeads, headDim, hiddenSize, numLayers, perLayer } = config;
  const { q, kv, f } = layerSizes(config, null);
  const fused = (module: "qkv" | "gateUp" | "convIn", ...widths: number[]) =>
    hasPart(config, module)
      ? fusedOutput(workspace, module, rows * timesRead(config, module), widths)
      : null;
  return {
    projected: workspace.get("projected", rows * hiddenSize),
    activated: workspace.get(
      "activated",
      rows * Math.max(chosenExperts(config) * f, perLayer ?? 0),
    ),
    experts: config.experts === undefined ? null : expertScratch(workspace, config, rows),
    perLayer: perLayer === undefined
      ? null
      : fusedOutput(workspace, "perLayer", rows, new Array(numLayers).fill(perLayer)),
    fused: {
      qkv: fused("qkv", q, kv, kv),
      gateUp: alternates(architectureOf(config))
        ? fusedOutput(workspace, "gateUp", rows * chosenExperts(config), [1, 1], f)
        : fused("gateUp", f, f),
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
  { weights, u, y }: LayerActivations,
  module: Module,
  x: Tensor,
  out: Tensor,
): void {
  const low = { u: u[module] ?? null, y: y[module] ?? null };
  linearForward(device, weights[module], { x, out, ...low, rows, dropout });
}

/** The backward of `project`. */
export function projectBackward(
  { device, rows, dropout, scratch }: LayerBackwardPass,
  { weights, u, y }: LayerActivations,
  module: Module,
  args: Pick<LinearBackward, "x" | "dy" | "dx" | "accumulate" | "beforeX">,
): void {
  const low = { u: u[module] ?? null, y: y[module] ?? null, du: scratch.du ?? null };
  linearBackward(device, weights[module], { ...args, ...low, rows, dropout });
}

/**
 * What a part adds to the residual stream: the output of its last projection, which is in `raw`
 * where a norm follows and else in pass.projected → pass.projected.
 */
export function branchForward(
  { device, config, rows, projected: out }: LayerPass,
  norm: NormPass | undefined,
  raw: Tensor | undefined,
): void {
  const n = rows * config.hiddenSize, scale = scalarOf(config, "residual");
  if (norm !== undefined) normForward(device, norm, { x: raw!, out, rows });
  if (scale !== 1) device.run("add", { b: out, out, n, scale });
}

/** The derivative by that output, from scratch.dh. It is dh, or in scratch.dnormed. */
export function branchBackward(
  { device, config, rows, scratch: { dh, dnormed } }: LayerBackwardPass,
  norm: NormPass | undefined,
  raw: Tensor | undefined,
): Tensor {
  const n = rows * config.hiddenSize, scale = scalarOf(config, "residual");
  if (scale !== 1) device.run("add", { b: dh, out: dnormed, n, scale });
  const dout = scale === 1 ? dh : dnormed;
  if (norm === undefined) return dout;
  normBackward(device, norm, { dout, x: raw!, dx: dnormed, rows });
  return dnormed;
}
