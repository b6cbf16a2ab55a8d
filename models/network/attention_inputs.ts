/**
 * Computes queries, keys and values from a layer's normed input, and the gradients. There are three
 * projections (and a norm of every query and key head where the architecture has it), or one
 * projection for all three. A row of its output is q·k·v, which is split into three rows of d
 * elements.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { Module } from "../architectures/architecture.ts";
import {
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  project,
  projectBackward,
} from "./layer_buffers.ts";
import type { LayerWeights } from "./weights/model_weights.ts";
import { normBackward, normForward, type NormWeights } from "./norm.ts";

/** n1 → q, k, v, before rotation. */
export function attentionInputs(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, rows } = pass, x = activations.n1;
  if (pass.fused !== null) {
    const { qkv } = pass.fused;
    project(pass, weights, activations, "qkv", x, qkv);
    moveParts(pass, activations, (index, out) => {
      device.run("gather_rows", { table: qkv, index, out, rows, d: pass.config.hiddenSize });
    });
    return;
  }
  project(pass, weights, activations, "q", x, activations.rawQ ?? activations.q);
  project(pass, weights, activations, "k", x, activations.rawK ?? activations.k);
  project(pass, weights, activations, "v", x, activations.v);
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
  const { device, rows, scratch, config } = pass, { headDim } = config;
  const dx = needsInput ? scratch.dnormed : null;
  const backward = (module: Module, dy: Tensor, accumulate = false) =>
    projectBackward(pass, weights, activations, module, { x: activations.n1, dy, dx, accumulate });
  if (pass.fused !== null) {
    const { qkv } = pass.fused;
    moveParts(pass, { q: scratch.dq, k: scratch.dk, v: scratch.dv }, (index, src) => {
      device.run("scatter_rows", { src, index, table: qkv, rows, d: config.hiddenSize });
    });
    backward("qkv", qkv);
    return;
  }
  const { headNorms } = weights;
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
  backward("q", dq);
  backward("k", dk, true);
  backward("v", scratch.dv, true);
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
