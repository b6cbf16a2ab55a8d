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
import { mlpBackward, mlpInputs, mlpOutput } from "./mlp.ts";
import { layerEnd, layerEndBackward } from "./per_layer.ts";
import { normBackward, type NormForward, normForward, type NormPass } from "./norm.ts";

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
  activations: LayerActivations,
  input: Residual | null,
): void {
  const { h, n1, mid: sum, n2, norms: { inputNorm, postNorm } } = activations;
  if (input !== null && input.add === null) {
    pass.device.run("copy", { src: input.x, out: h, n: pass.rows * pass.config.hiddenSize });
  }
  const first = input === null || input.add === null
    ? { x: h }
    : { x: input.x, add: input.add, sum: h };
  sumAndNorm(pass, inputNorm, { ...first, out: n1 });
  attentionInputs(pass, activations);
  pass.save?.("attention", activations);
  pass.attend(activations);
  attentionOutput(pass, activations);
  sumAndNorm(pass, postNorm, { x: h, add: pass.projected, sum, out: n2 });
  mlpInputs(pass, activations);
  pass.save?.("mlp", activations);
}

/** sum = x + add, and the norm of it where the architecture has one. */
function sumAndNorm(
  { device, config, rows }: LayerPass,
  norm: NormPass | undefined,
  args: Omit<NormForward, "rows">,
): void {
  const { x: a, add: b, sum: out } = args, n = rows * config.hiddenSize;
  if (norm !== undefined) normForward(device, norm, { ...args, rows });
  else if (b !== undefined) device.run("add", { a, b, out: out!, n });
}

/** What attention or another mixer leaves → what it adds to the residual stream. */
export function attentionOutput(pass: LayerPass, activations: LayerActivations): void {
  const { attentionOut: raw, norms } = activations, [module, x] = mixerOutput(activations);
  project(pass, activations, module, x, raw ?? pass.projected);
  branchForward(pass, norms.attentionOutNorm, raw);
}

/** Runs the whole layer and returns its output as a sum. */
export function layerForward(
  pass: LayerPass,
  activations: LayerActivations,
  input: Residual | null,
): Residual {
  layerForwardInner(pass, activations, input);
  mlpOutput(pass, activations);
  return layerEnd(pass, activations);
}

/**
 * Adds the gradients of the layer's weights, and replaces the derivative by the layer's output in
 * scratch.dh with the one by its input. Overwrites gate and up. Without `needsInput` nothing below
 * is trained, and the contents of dh are undefined afterwards.
 */
export function layerBackward(
  pass: LayerBackwardPass,
  activations: LayerActivations,
  needsInput: boolean,
): void {
  const { scratch } = pass, { mid, h, gated, mixed, attentionOut, norms } = activations;
  layerEndBackward(pass, activations);
  mlpBackward(pass, activations);
  throughNorm(pass, norms.postNorm, mid);

  const dy = branchBackward(pass, norms.attentionOutNorm, attentionOut);
  const { dattn, dgated, dmixed } = scratch, [module, x] = mixerOutput(activations);
  const dx = mixed !== undefined ? dmixed : gated !== undefined ? dgated : dattn;
  projectBackward(pass, activations, module, { x, dy, dx });
  pass.attendBackward(activations, scratch);
  attentionInputsBackward(pass, activations, needsInput);
  if (needsInput) throughNorm(pass, norms.inputNorm, h);
}

/** Adds the derivative by x, the input of a norm or of what has none, to scratch.dh. */
function throughNorm(
  { device, config, rows, scratch: { dh: dx, dnormed: dout } }: LayerBackwardPass,
  norm: NormPass | undefined,
  x: Tensor,
): void {
  if (norm !== undefined) normBackward(device, norm, { dout, x, dx, accumulate: true, rows });
  else device.run("add", { a: dx, b: dout, out: dx, n: rows * config.hiddenSize });
}
