/**
 * Computes queries, keys and values from a layer's normed input, and the gradients. There are three
 * projections (and a norm of queries and keys where the architecture has it), or one projection for
 * all three, whose rows are q·k·v.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { Module } from "../architectures/architecture.ts";
import { normWidth } from "../architectures/mod.ts";
import {
  joinParts,
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  project,
  projectBackward,
  splitParts,
} from "./layer_buffers.ts";
import type { LayerWeights } from "./weights/model_weights.ts";
import { normBackward, normForward, type NormWeights } from "./norm.ts";

/** The modules before a delta rule, which are also the names of their outputs. */
const DELTA_INPUTS = ["deltaQkv", "deltaZ", "deltaB", "deltaA"] as const;

/** n1 → q, k, v, before rotation; or the inputs of a convolution or a delta rule. */
export function attentionInputs(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const x = activations.n1, { convB, convC, convX } = activations;
  const { fused: { qkv, convIn, q: queries } } = pass;
  if (activations.deltaQkv !== null) {
    for (const module of DELTA_INPUTS) {
      project(pass, weights, activations, module, x, activations[module]!);
    }
    return;
  }
  if (convX !== null) {
    project(pass, weights, activations, "convIn", x, convIn!.out);
    splitParts(pass, convIn!, [convB!, convC!, convX]);
    return;
  }
  if (qkv !== null) {
    project(pass, weights, activations, "qkv", x, qkv.out);
    splitParts(pass, qkv, [activations.q, activations.k, activations.v]);
    return;
  }
  const q = activations.rawQ ?? activations.q;
  project(pass, weights, activations, "q", x, queries?.out ?? q);
  if (queries !== null) splitParts(pass, queries, [q, activations.attnGate!]);
  project(pass, weights, activations, "k", x, activations.rawK ?? activations.k);
  project(pass, weights, activations, "v", x, activations.v);
  headNormsForward(pass, weights, activations);
}

/** The norm of queries and keys, where the architecture has it: rawQ, rawK → q, k. */
export function headNormsForward(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, rows } = pass;
  if (weights.headNorms === null) return;
  for (const { norm, raw, out, rho, d, count } of headParts(pass, weights.headNorms, activations)) {
    const shape = { rows: rows * count, d, eps: pass.config.rmsNormEps };
    normForward(device, norm, { x: raw, out, rho, mean: null, ...shape });
  }
}

/**
 * dq, dk, dv (before rotation), or those of another mixer's inputs → dnormed, adding the gradients
 * of trained weights. Without `needsInput` only these gradients are computed. Overwrites dattn and
 * dq.
 */
export function attentionInputsBackward(
  pass: LayerBackwardPass,
  weights: LayerWeights,
  activations: LayerActivations,
  needsInput: boolean,
): void {
  const { device, rows, scratch, fused: { qkv, convIn, q: queries } } = pass;
  const dx = needsInput ? scratch.dnormed : null;
  const backward = (module: Module, dy: Tensor, accumulate = false) =>
    projectBackward(pass, weights, activations, module, { x: activations.n1, dy, dx, accumulate });
  if (activations.deltaQkv !== null) {
    const { dqkv, dz, db, da } = scratch;
    [dqkv, dz, db, da].forEach((dy, i) => backward(DELTA_INPUTS[i]!, dy, i > 0));
    return;
  }
  if (activations.convX !== null) {
    joinParts(pass, convIn!, [scratch.dmixed, scratch.dgate, scratch.dconv]);
    backward("convIn", convIn!.out);
    return;
  }
  if (qkv !== null) {
    joinParts(pass, qkv, [scratch.dq, scratch.dk, scratch.dv]);
    backward("qkv", qkv.out);
    return;
  }
  const { headNorms } = weights;
  let { dq, dk } = scratch;
  if (headNorms !== null) {
    const [q, k] = headParts(pass, headNorms, activations);
    const through = ({ norm, raw, rho, d, count }: HeadPart, dout: Tensor, dx: Tensor) => {
      const shape = { rows: rows * count, d };
      normBackward(device, norm, { dout, x: raw, mean: null, rho, dx, ...shape });
      return dx;
    };
    // dattn is not needed any more, and then neither is dq.
    dq = through(q, scratch.dq, scratch.dattn);
    dk = through(k, scratch.dk, scratch.dq);
  }
  if (queries !== null) joinParts(pass, queries, [dq, scratch.dattnGate]);
  backward("q", queries?.out ?? dq);
  backward("k", dk, true);
  backward("v", scratch.dv, true);
}

interface HeadPart {
  norm: NormWeights;
  raw: Tensor;
  out: Tensor;
  rho: Tensor;
  /** Elements that the norm sees at once, and how often a row has them. */
  d: number;
  count: number;
}

function headParts(
  { config }: LayerPass,
  norms: { q: NormWeights; k: NormWeights },
  { q, k, rawQ, rawK, rhoQ, rhoK }: LayerActivations,
): [HeadPart, HeadPart] {
  const dQ = normWidth(config, "qNorm"), countQ = config.numHeads * config.headDim / dQ;
  const dK = normWidth(config, "kNorm"), countK = config.numKvHeads * config.headDim / dK;
  return [
    { norm: norms.q, raw: rawQ!, out: q, rho: rhoQ!, d: dQ, count: countQ },
    { norm: norms.k, raw: rawK!, out: k, rho: rhoK!, d: dK, count: countK },
  ];
}
