/**
 * Computes queries, keys and values from a layer's normed input, and the gradients. There are three
 * projections (and norms of heads where the architecture has them), or one projection for all
 * three, whose rows are q·k·v. A layer that uses the keys of another one has queries only.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { Module } from "../architectures/architecture.ts";
import {
  joinParts,
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  project,
  projectBackward,
  splitParts,
} from "./layer_buffers.ts";
import { normBackward, normForward } from "./norm.ts";

/** The modules before a delta rule, which are also the names of their outputs. */
const DELTA_INPUTS = ["deltaQkv", "deltaZ", "deltaB", "deltaA"] as const;

/** n1 → q, k, v, before rotation; or the inputs of a convolution or a delta rule. */
export function attentionInputs(pass: LayerPass, activations: LayerActivations): void {
  const { n1: x, convB, convC, convX, attnGate, q, k, v, rawQ = q, rawK = k, rawV = v } =
    activations;
  const { fused: { qkv, convIn, q: queries } } = pass;
  const to = (module: Module, out: Tensor) => project(pass, activations, module, x, out);
  if (activations.deltaQkv !== undefined) {
    for (const module of DELTA_INPUTS) to(module, activations[module]!);
    return;
  }
  if (convX !== undefined) {
    to("convIn", convIn!.out);
    return splitParts(pass, convIn!, [convB!, convC!, convX]);
  }
  if (qkv !== null) {
    to("qkv", qkv.out);
    return splitParts(pass, qkv, [q, k, v]);
  }
  to("q", queries?.out ?? rawQ);
  if (queries !== null) splitParts(pass, queries, [rawQ, attnGate!]);
  if (ownsKeys(activations)) {
    to("k", rawK);
    to("v", rawV);
  }
  headNormsForward(pass, activations);
}

/** Whether a layer computes keys and values, and does not use those of an earlier one. */
export function ownsKeys({ weights }: LayerActivations): boolean {
  return weights.k !== undefined || weights.qkv !== undefined;
}

/** The norms of heads, where the architecture has them: rawQ, rawK, rawV → q, k, v. */
export function headNormsForward(
  { device, rows }: LayerPass,
  { q, k, v, rawQ, rawK, rawV, norms: { qNorm, kNorm, vNorm } }: LayerActivations,
): void {
  if (qNorm !== undefined) normForward(device, qNorm, { x: rawQ!, out: q, rows });
  if (kNorm !== undefined) normForward(device, kNorm, { x: rawK!, out: k, rows });
  if (vNorm !== undefined) normForward(device, vNorm, { x: rawV!, out: v, rows });
}

/**
 * dq, dk, dv (before rotation), or those of another mixer's inputs → dnormed, adding the gradients
 * of trained weights. Without `needsInput` only these gradients are computed. Overwrites dattn and
 * dq.
 */
export function attentionInputsBackward(
  pass: LayerBackwardPass,
  activations: LayerActivations,
  needsInput: boolean,
): void {
  const { device, rows, scratch, fused: { qkv, convIn, q: queries } } = pass;
  const { n1: x, rawQ, rawK, rawV, norms: { qNorm, kNorm, vNorm } } = activations;
  const dx = needsInput ? scratch.dnormed : null;
  const backward = (module: Module, dy: Tensor, accumulate = false) =>
    projectBackward(pass, activations, module, { x, dy, dx, accumulate });
  if (activations.deltaQkv !== undefined) {
    const { dqkv, dz, db, da } = scratch;
    return [dqkv, dz, db, da].forEach((dy, i) => backward(DELTA_INPUTS[i]!, dy, i > 0));
  }
  if (activations.convX !== undefined) {
    joinParts(pass, convIn!, [scratch.dmixed, scratch.dgate, scratch.dconv]);
    return backward("convIn", convIn!.out);
  }
  if (qkv !== null) {
    joinParts(pass, qkv, [scratch.dq, scratch.dk, scratch.dv]);
    return backward("qkv", qkv.out);
  }
  let { dq, dk, dv } = scratch;
  // dattn is not needed any more, and after the norm of queries neither is dq.
  if (qNorm !== undefined) {
    normBackward(device, qNorm, { dout: dq, x: rawQ!, dx: scratch.dattn, rows });
    dq = scratch.dattn;
  }
  if (kNorm !== undefined) {
    normBackward(device, kNorm, { dout: dk, x: rawK!, dx: scratch.dq, rows });
    dk = scratch.dq;
  }
  if (vNorm !== undefined) {
    normBackward(device, vNorm, { dout: dv, x: rawV!, dx: scratch.dk, rows });
    dv = scratch.dk;
  }
  if (queries !== null) joinParts(pass, queries, [dq, scratch.dattnGate]);
  backward("q", queries?.out ?? dq);
  if (!ownsKeys(activations)) return;
  backward("k", dk, true);
  backward("v", dv, true);
}
