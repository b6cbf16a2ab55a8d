/**
 * One decoder layer: h_mid = h + o(attention(norm(h))), h_next = h_mid + mlp(norm(h_mid)), with an
 * explicit backward. Some architectures have a norm, or a factor, of what is added, in place of the
 * norm before or beside it. The second addition is fused into the operation that comes next, so a
 * layer returns the pair (mid, projected). The caller provides the attention, which is the only
 * difference between packed batches and decode steps. The parts are in attention_inputs.ts, mlp.ts
 * and norm.ts; the formulas are in the spec.ts of each operation in kernels/ops/.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import { attentionInputs, attentionInputsBackward } from "./attention_inputs.ts";
import {
  branchBackward,
  branchForward,
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  mixerOutput,
  project,
  projectBackward,
} from "./layer_buffers.ts";
import type { LayerWeights } from "./weights/model_weights.ts";
import { mlpBackward, mlpInputs, mlpOutput } from "./mlp.ts";
import { normBackward, type NormForward, normForward, type NormWeights } from "./norm.ts";

/** The output of a layer, as the sum x + add that the next operation computes. */
export interface Residual {
  x: Tensor; // [rows, d]
  /** Null when x is the sum already. */
  add: Tensor | null; // [rows, d]
}

/**
 * Runs the layer up to the input of the MLP's nonlinearity. With `input` null, `h` holds the
 * layer's input already (first layer, or recomputation); otherwise h = input.x + input.add is
 * stored first.
 */
export function layerForwardInner(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
  input: Residual | null,
): void {
  beforeAttention(pass, weights, activations, input);
  pass.attend(activations);
  afterAttention(pass, weights, activations);
}

function beforeAttention(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
  input: Residual | null,
): void {
  const { h } = activations;
  const first = input === null ? { x: h } : { x: input.x, add: input.add!, sum: h };
  const to1 = { out: activations.n1, mean: activations.mean1, rho: activations.rho1 };
  sumAndNorm(pass, weights.inputNorm, { ...first, ...to1 });
  attentionInputs(pass, weights, activations);
  pass.save?.("attention", activations);
}

/** sum = x + add, and the norm of it where the architecture has one. */
function sumAndNorm(
  pass: LayerPass,
  norm: NormWeights | null,
  args: Pick<NormForward, "x" | "add" | "sum" | "out" | "mean"> & { rho: Tensor | null },
): void {
  const { device, config, rows } = pass, { x: a, add: b, sum: out, rho } = args;
  const d = config.hiddenSize;
  if (norm !== null) {
    normForward(device, norm, { ...args, rho: rho!, rows, d, eps: config.rmsNormEps });
  } else if (b !== undefined) device.run("add", { a, b, out: out!, n: rows * d });
}

/** What attention or another mixer leaves → what it adds to the residual stream. */
export function attentionOutput(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { attentionOut: raw, rhoAttentionOut: rho } = activations;
  const [module, x] = mixerOutput(activations);
  project(pass, weights, activations, module, x, raw ?? pass.projected);
  branchForward(pass, weights.attentionOutNorm, raw, rho);
}

function afterAttention(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { projected } = pass, { h, mid } = activations;
  attentionOutput(pass, weights, activations);
  const to2 = { out: activations.n2, mean: activations.mean2, rho: activations.rho2 };
  sumAndNorm(pass, weights.postNorm, { x: h, add: projected, sum: mid, ...to2 });
  mlpInputs(pass, weights, activations);
  pass.save?.("mlp", activations);
}

/** Runs the whole layer and returns its output as a sum. */
export function layerForward(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
  input: Residual | null,
): Residual {
  layerForwardInner(pass, weights, activations, input);
  mlpOutput(pass, weights, activations);
  return { x: activations.mid, add: pass.projected };
}

/** Some rows of a pass, with their own activations. */
export interface SelectedRows {
  index: Tensor; // u32 [rows]
  rows: number;
  activations: LayerActivations;
  /** q, k, v of all rows → attn, lse of the selected rows; includes RoPE. */
  attend(all: LayerActivations, some: LayerActivations): void;
}

/**
 * Runs a layer of whose output only some rows are needed: everything after the attention's inputs
 * is computed for these rows only.
 */
export function layerForwardSelected(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
  input: Residual | null,
  { index, rows, activations: some, attend }: SelectedRows,
): Residual {
  beforeAttention(pass, weights, activations, input);
  attend(activations, some);
  const of = { ...pass, rows }, d = pass.config.hiddenSize;
  pass.device.run("gather_rows", { table: activations.h, index, out: some.h, rows, d });
  afterAttention(of, weights, some);
  mlpOutput(of, weights, some);
  return { x: some.mid, add: pass.projected };
}

/**
 * Adds the gradients of the layer's weights, and replaces the derivative by the layer's output in
 * scratch.dh with the one by its input. Overwrites gate and up. Without `needsInput` nothing below
 * is trained, and the contents of dh are undefined afterwards.
 */
export function layerBackward(
  pass: LayerBackwardPass,
  weights: LayerWeights,
  activations: LayerActivations,
  needsInput: boolean,
): void {
  const { scratch } = pass;
  const { mid, mean2, rho2, h, mean1, rho1, gated, mixed } = activations;
  const { attentionOut, rhoAttentionOut } = activations;

  mlpBackward(pass, weights, activations);
  throughNorm(pass, weights.postNorm, { x: mid, mean: mean2, rho: rho2 });

  const dy = branchBackward(pass, weights.attentionOutNorm, attentionOut, rhoAttentionOut);
  const { dattn, dgated, dmixed } = scratch, [module, x] = mixerOutput(activations);
  const dx = mixed !== null ? dmixed : gated !== null ? dgated : dattn;
  projectBackward(pass, weights, activations, module, { x, dy, dx });
  pass.attendBackward(activations, scratch);
  attentionInputsBackward(pass, weights, activations, needsInput);
  if (!needsInput) return;
  throughNorm(pass, weights.inputNorm, { x: h, mean: mean1, rho: rho1 });
}

/** Adds the derivative by the input of a norm, or of what has none, to scratch.dh. */
function throughNorm(
  { device, config, rows, scratch: { dh, dnormed } }: LayerBackwardPass,
  norm: NormWeights | null,
  { rho, ...given }: { x: Tensor; mean: Tensor | null; rho: Tensor | null },
): void {
  const d = config.hiddenSize;
  if (norm === null) {
    device.run("add", { a: dh, b: dnormed, out: dh, n: rows * d });
    return;
  }
  const shape = { dout: dnormed, dx: dh, accumulate: true, rows, d };
  normBackward(device, norm, { ...given, rho: rho!, ...shape });
}
