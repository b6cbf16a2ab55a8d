/**
 * One Llama layer: h_mid = h + o(attention(norm(h))), h_next = h_mid + down(silu(gate)·up of norm(h_mid)),
 * with an explicit backward. The second addition is fused into whatever comes next, so a layer hands over
 * the pair (mid, down). Attention itself is given by the caller: packed batches and decoding differ in
 * nothing else. Formulas: spec.ts of each operation in kernels/.
 */
import type { Device, Tensor } from "../kernels/device.ts";
import type { AdapterDropout } from "./dropout.ts";
import { type Linear, linearBackward, linearForward } from "./linear.ts";
import { LORA_MODULES, type LoraModule } from "./lora.ts";
import type { LayerWeights } from "./llama_weights.ts";
import type { LlamaConfig } from "./types.ts";
import type { Workspace } from "./workspace.ts";

/** What a forward pass leaves of one layer; all of it is read by the backward. */
export interface LayerActivations {
  h: Tensor; // [rows, d], the layer's input
  n1: Tensor; // [rows, d], normed input
  rho1: Tensor; // [rows]
  q: Tensor; // [rows, heads·headDim], after RoPE
  k: Tensor; // [rows, kvHeads·headDim], after RoPE
  v: Tensor; // [rows, kvHeads·headDim]
  attn: Tensor; // [rows, heads·headDim]
  lse: Tensor; // [rows, heads]
  mid: Tensor; // [rows, d], after attention
  n2: Tensor; // [rows, d]
  rho2: Tensor; // [rows]
  gate: Tensor; // [rows, f]
  up: Tensor; // [rows, f]
  /** x·Aᵀ [rows, r] of modules with an active adapter. */
  u: Record<LoraModule, Tensor | null>;
}

/** Elements per row of each activation; `u` apart. */
export function activationWidths(
  config: LlamaConfig,
): Record<Exclude<keyof LayerActivations, "u">, number> {
  const d = config.hiddenSize, f = config.intermediateSize;
  const q = config.numHeads * config.headDim, kv = config.numKvHeads * config.headDim;
  return {
    h: d,
    n1: d,
    rho1: 1,
    q,
    k: kv,
    v: kv,
    attn: q,
    lse: config.numHeads,
    mid: d,
    n2: d,
    rho2: 1,
    gate: f,
    up: f,
  };
}

export type ActivationName = Exclude<keyof LayerActivations, "u"> | `u.${LoraModule}`;

export interface ActivationOptions {
  /** False leaves `u` empty. */
  adapter: boolean;
  /** Name of a buffer: equal names are shared by layers. */
  name: (activation: ActivationName) => string;
  /** Largest rank of the model's adapters: shared buffers must not grow from layer to layer. */
  maxRank: number;
  /** Tensors to use instead of the workspace's. */
  given: Partial<LayerActivations>;
}

/** Takes a layer's activations from a workspace. */
export function layerActivations(
  workspace: Workspace,
  config: LlamaConfig,
  weights: LayerWeights,
  rows: number,
  { adapter, name, maxRank, given }: ActivationOptions,
): LayerActivations {
  const widths = Object.entries(activationWidths(config)) as [
    Exclude<keyof LayerActivations, "u">,
    number,
  ][];
  const tensors = widths.map(([activation, width]) => [
    activation,
    given[activation] ?? workspace.get(name(activation), rows * width),
  ]);
  const u = LORA_MODULES.map((module) => {
    const wanted = adapter && weights[module].lora !== null;
    return [module, wanted ? workspace.get(name(`u.${module}`), rows * maxRank) : null];
  });
  return { ...Object.fromEntries(tensors), u: Object.fromEntries(u) };
}

/** Sum that the previous layer left to be added: x + add. */
export interface Residual {
  x: Tensor; // [rows, d]
  add: Tensor; // [rows, d]
}

export interface LayerPass {
  device: Device;
  config: LlamaConfig;
  rows: number;
  /** q, k, v → attn, lse; RoPE included. */
  attend(activations: LayerActivations): void;
  /** Output of the last projection of attention and MLP, [rows, d]. */
  projected: Tensor;
  /** silu(gate)·up, [rows, f]. */
  activated: Tensor;
  /** Of what adapters read; null = none. */
  dropout: AdapterDropout | null;
}

/**
 * The layer up to its gate and up projections. `input` null: `h` is there already (first layer, or a
 * recomputation); otherwise h = input.x + input.add is stored first.
 */
export function layerForwardInner(
  pass: LayerPass,
  weights: LayerWeights,
  saved: LayerActivations,
  input: Residual | null,
): void {
  const { device, config, rows } = pass;
  const d = config.hiddenSize, eps = config.rmsNormEps;
  const linear = (module: LoraModule, x: Tensor, out: Tensor) =>
    linearForward(device, weights[module], x, out, saved.u[module], rows, pass.dropout);

  device.run("rmsnorm", {
    ...(input === null ? { x: saved.h } : { x: input.x, add: input.add, sum: saved.h }),
    weight: weights.inputNorm.value,
    out: saved.n1,
    rho: saved.rho1,
    rows,
    d,
    eps,
  });
  linear("q_proj", saved.n1, saved.q);
  linear("k_proj", saved.n1, saved.k);
  linear("v_proj", saved.n1, saved.v);
  pass.attend(saved);
  linear("o_proj", saved.attn, pass.projected);
  device.run("rmsnorm", {
    x: saved.h,
    add: pass.projected,
    sum: saved.mid,
    weight: weights.postNorm.value,
    out: saved.n2,
    rho: saved.rho2,
    rows,
    d,
    eps,
  });
  linear("gate_proj", saved.n2, saved.gate);
  linear("up_proj", saved.n2, saved.up);
}

/** The whole layer; returns the sum that is its output. */
export function layerForward(
  pass: LayerPass,
  weights: LayerWeights,
  saved: LayerActivations,
  input: Residual | null,
): Residual {
  layerForwardInner(pass, weights, saved, input);
  const { device, rows, activated, projected } = pass;
  activate(pass, saved);
  linearForward(
    device,
    weights.down_proj,
    activated,
    projected,
    saved.u.down_proj,
    rows,
    pass.dropout,
  );
  return { x: saved.mid, add: projected };
}

function activate({ device, config, rows, activated }: LayerPass, saved: LayerActivations): void {
  const n = rows * config.intermediateSize;
  device.run("swiglu", { gate: saved.gate, up: saved.up, out: activated, n });
}

/** Scratch of the backward pass, shared by all layers. */
export interface BackwardScratch {
  /** [rows, d]: derivative by the layer's output, replaced by the one by its input. */
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

/** Elements per row of the backward's scratch; `du` apart. */
export function backwardWidths(
  config: LlamaConfig,
): Record<Exclude<keyof BackwardScratch, "du">, number> {
  const d = config.hiddenSize, f = config.intermediateSize;
  const q = config.numHeads * config.headDim, kv = config.numKvHeads * config.headDim;
  return { dh: d, dnormed: d, dactivated: f, dattn: q, dq: q, dk: kv, dv: kv };
}

export interface LayerBackwardPass extends LayerPass {
  /** attn, lse, dattn → dq, dk, dv by the projections' outputs (RoPE undone). */
  attendBackward(activations: LayerActivations, scratch: BackwardScratch): void;
  scratch: BackwardScratch;
}

/**
 * Adds the layer's gradients and turns scratch.dh from the derivative by its output into the one by its
 * input. Consumes gate and up. Without `needsInput` dh is left meaningless: nothing below is trained.
 */
export function layerBackward(
  pass: LayerBackwardPass,
  weights: LayerWeights,
  saved: LayerActivations,
  needsInput: boolean,
): void {
  const { device, config, rows, scratch, dropout } = pass;
  const { dh, dnormed, dactivated, dattn, dq, dk, dv, du } = scratch;
  const { gate, up, mid, rho2, h, rho1, n1, n2, attn, u } = saved;
  const d = config.hiddenSize;
  const backward = (
    module: LoraModule,
    x: Tensor,
    dy: Tensor,
    dx: Tensor | null,
    accumulate = false,
    beforeX = () => {},
  ) => {
    const args = { x, u: u[module], dy, dx, accumulate, du, rows, dropout, beforeX };
    linearBackward(device, weights[module], args);
  };

  // What the down projection reads was not kept: it comes out of SwiGLU's backward once more.
  const { activated } = pass, n = rows * config.intermediateSize;
  const swiglu = { dout: dactivated, gate, up, dgate: gate, dup: up, n };
  const wanted = readsInput(weights.down_proj) ? { activated } : {};
  backward("down_proj", activated, dh, dactivated, false, () => {
    device.run("swiglu_backward", { ...swiglu, ...wanted });
  });
  backward("gate_proj", n2, gate, dnormed);
  backward("up_proj", n2, up, dnormed, true);
  const { postNorm, inputNorm } = weights;
  device.run("rmsnorm_backward", {
    dout: dnormed,
    x: mid,
    weight: postNorm.value,
    rho: rho2,
    dx: dh,
    accumulate: true,
    ...(postNorm.grad === null ? {} : { dweight: postNorm.grad }),
    rows,
    d,
  });

  backward("o_proj", attn, dh, dattn);
  pass.attendBackward(saved, scratch);
  backward("q_proj", n1, dq, needsInput ? dnormed : null);
  backward("k_proj", n1, dk, needsInput ? dnormed : null, true);
  backward("v_proj", n1, dv, needsInput ? dnormed : null, true);
  if (!needsInput) return;
  device.run("rmsnorm_backward", {
    dout: dnormed,
    x: h,
    weight: inputNorm.value,
    rho: rho1,
    dx: dh,
    accumulate: true,
    ...(inputNorm.grad === null ? {} : { dweight: inputNorm.grad }),
    rows,
    d,
  });
}

/** Whether the linear's backward reads its input. */
function readsInput({ dweight, lora }: Linear): boolean {
  return dweight !== null || lora?.da != null;
}
