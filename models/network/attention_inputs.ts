/**
 * Computes queries, keys and values from a layer's normed input, and the gradients. There are three
 * projections (and a norm of every query and key head where the architecture has it), or one
 * projection for all three. A row of its output is q·k·v, which is split into three rows of d
 * elements.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { LayerActivations, LayerBackwardPass, LayerPass } from "./layer_buffers.ts";
import { type Linear, type LinearBackward, linearBackward, linearForward } from "./linear.ts";
import type { LayerWeights } from "./weights/model_weights.ts";
import { normBackward, normForward, type NormWeights } from "./norm.ts";

/** n1 → q, k, v, before rotation. */
export function attentionInputs(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, rows, dropout } = pass;
  if (pass.fused !== null) {
    const { qkv } = pass.fused, u = activations.u.qkv ?? null;
    linearForward(device, weights.qkv, activations.n1, qkv, u, rows, dropout);
    moveParts(pass, activations, (index, out) => {
      device.run("gather_rows", { table: qkv, index, out, rows, d: pass.config.hiddenSize });
    });
    return;
  }
  const project = (module: "q" | "k" | "v", out: Tensor) =>
    linearForward(
      device,
      weights[module],
      activations.n1,
      out,
      activations.u[module] ?? null,
      rows,
      dropout,
    );
  project("q", activations.rawQ ?? activations.q);
  project("k", activations.rawK ?? activations.k);
  project("v", activations.v);
  headNormsForward(pass, weights, activations);
}

/** The norm of every query and key head, where the architecture has it: rawQ, rawK → q, k. */
export function headNormsForward(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, rows } = pass;
  if (weights.headNorms === null) return;
  for (const { norm, raw, out, rho, count } of headParts(pass, weights.headNorms, activations)) {
    const shape = { rows: rows * count, d: pass.config.headDim, eps: pass.config.rmsNormEps };
    normForward(device, norm, { x: raw, out, rho, mean: null, ...shape });
  }
}

/**
 * dq, dk, dv (before rotation) → dnormed, adding the gradients of trained weights. Without
 * `needsInput` only these gradients are computed. Overwrites dattn and dq.
 */
export function attentionInputsBackward(
  pass: LayerBackwardPass,
  weights: LayerWeights,
  activations: LayerActivations,
  needsInput: boolean,
): void {
  const { device, rows, dropout, scratch, config } = pass, { headDim } = config;
  const dx = needsInput ? scratch.dnormed : null;
  const backward = (linear: Linear, args: Pick<LinearBackward, "u" | "dy" | "accumulate">) =>
    linearBackward(device, linear, {
      ...args,
      x: activations.n1,
      dx,
      du: scratch.du,
      rows,
      dropout,
    });
  if (pass.fused !== null) {
    const { qkv } = pass.fused;
    moveParts(pass, { q: scratch.dq, k: scratch.dk, v: scratch.dv }, (index, src) => {
      device.run("scatter_rows", { src, index, table: qkv, rows, d: config.hiddenSize });
    });
    backward(weights.qkv, { u: activations.u.qkv ?? null, dy: qkv });
    return;
  }
  const { headNorms } = weights, { u } = activations;
  let { dq, dk } = scratch;
  if (headNorms !== null) {
    const [q, k] = headParts(pass, headNorms, activations);
    const through = ({ norm, raw, rho, count }: HeadPart, dout: Tensor, dx: Tensor) => {
      const shape = { rows: rows * count, d: headDim };
      normBackward(device, norm, { dout, x: raw, mean: null, rho, dx, ...shape });
      return dx;
    };
    // dattn is not needed any more, and then neither is dq.
    dq = through(q, scratch.dq, scratch.dattn);
    dk = through(k, scratch.dk, scratch.dq);
  }
  backward(weights.q, { u: u.q ?? null, dy: dq });
  backward(weights.k, { u: u.k ?? null, dy: dk, accumulate: true });
  backward(weights.v, { u: u.v ?? null, dy: scratch.dv, accumulate: true });
}

interface HeadPart {
  norm: NormWeights;
  raw: Tensor;
  out: Tensor;
  rho: Tensor;
  /** Heads per row. */
  count: number;
}

function headParts(
  { config }: LayerPass,
  norms: { q: NormWeights; k: NormWeights },
  { q, k, rawQ, rawK, rhoQ, rhoK }: LayerActivations,
): [HeadPart, HeadPart] {
  return [
    { norm: norms.q, raw: rawQ!, out: q, rho: rhoQ!, count: config.numHeads },
    { norm: norms.k, raw: rawK!, out: k, rho: rhoK!, count: config.numKvHeads },
  ];
}

/** Calls `move` for q, k and v with the indices of their rows in the fused projection. */
function moveParts(
  { fused }: LayerPass,
  parts: { q: Tensor; k: Tensor; v: Tensor },
  move: (index: Tensor, part: Tensor) => void,
): void {
  [parts.q, parts.k, parts.v].forEach((part, i) => move(fused!.index[i]!, part));
}
