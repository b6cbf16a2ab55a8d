/**
 * Inputs that each layer has of its own, and a factor of its output (Gemma 4). For all layers at
 * once, from the embedding h and the tokens' rows in a table:
 *   own = (norm(W·h/√d) + √p·row)/√2, layer by layer p wide
 * and at the end of a layer, with s = h_mid + mlp:
 *   h_next = scalar·(s + norm(out(gelu(gate(s)) ⊙ own)))
 * The table is large. Unless it is trained, the rows of a pass come from its file.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import { weightType } from "../formats/stored_weight.ts";
import {
  type FusedOutput,
  joinParts,
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  project,
  projectBackward,
  splitParts,
} from "./layer_buffers.ts";
import { linearBackward, linearForward } from "./linear.ts";
import { readsInput } from "./mlp.ts";
import { normBackward, normForward } from "./norm.ts";
import type { Network } from "./weights/model_weights.ts";
import type { Workspace } from "./workspace.ts";

/** The buffers of own inputs, the same in a forward and its backward. @param room most rows */
function buffers({ config, weights, maxRank }: Network, workspace: Workspace, room: number) {
  const width = config.numLayers * config.perLayer!, { lora } = weights.perLayer!.model;
  const get = (name: string, size: number) => workspace.get(`perLayer.${name}`, room * size);
  return {
    width,
    rows: get("rows", width), // of the table
    raw: get("raw", width), // before the norm
    rho: get("rho", config.numLayers),
    u: lora === null ? null : get("u", maxRank),
    y: lora?.dora?.dmagnitude == null ? null : get("y", width),
  };
}

/** The rows of tokens that a pass needs from a file; null = none. */
export async function ownRowsOf(
  { tokenRows }: Pick<Network, "tokenRows">,
  ids: () => Uint32Array | Promise<Uint32Array>,
): Promise<Float32Array | null> {
  return tokenRows === null ? null : await tokenRows(await ids());
}

/** Puts them where `ownInputs` reads them. @param room most rows with the workspace */
export function uploadOwnRows(
  network: Network,
  workspace: Workspace,
  rows: Float32Array | null,
  room: number,
): void {
  if (rows === null) return;
  const { width } = buffers(network, workspace, room);
  workspace.uploadFloats("perLayer.rows", rows.subarray(0, room * width));
}

/** The embedding h and tokens → pass.perLayer. */
export function ownInputs(
  network: Network,
  workspace: Workspace,
  { rows, dropout, perLayer }: LayerPass,
  { h, tokens, room }: { h: Tensor; tokens: Tensor; room: number },
): void {
  if (perLayer === null) return;
  const { device, config: { hiddenSize }, weights } = network, { out, piece } = perLayer;
  const { model, norm, table } = weights.perLayer!, all = buffers(network, workspace, room);
  const { raw, rho, width: d } = all, n = rows * d;
  if (table !== null) {
    const { value, storage } = table, place = { index: tokens, out: all.rows, rows, d };
    device.run("gather_rows", { table: value, ...weightType(storage), ...place });
  }
  linearForward(device, model, { x: h, out: raw, u: all.u, y: all.y, rows, dropout });
  device.run("add", { b: raw, out: raw, n, scale: hiddenSize ** -0.5 });
  normForward(device, { norm, mean: null, rho }, { x: raw, out, rows });
  device.run("add", { a: out, b: all.rows, out, n, scale: piece ** 0.5 });
  device.run("add", { b: out, out, n, scale: 0.5 ** 0.5 });
}

/** What the backward of layers fills with the derivatives by own inputs; null = it need not. */
export function ownGradients(
  { weights }: Network,
  workspace: Workspace,
  { rows, perLayer }: LayerPass,
): FusedOutput | null {
  if (perLayer === null || weights.lowestTrained >= 0) return null;
  const { piece, parts } = perLayer;
  return { ...perLayer, out: workspace.get("perLayer.d", rows * parts.length * piece) };
}

/** Those derivatives → the gradients of the table and of what makes own inputs; adds to dh. */
export function ownInputsBackward(
  network: Network,
  workspace: Workspace,
  { rows, dropout, dPerLayer, scratch }: LayerBackwardPass,
  { h, scatter }: {
    h: Tensor;
    scatter: (src: Tensor, table: Tensor | null, width: number) => void;
  },
): void {
  if (dPerLayer === null) return;
  const { dh, du = null } = scratch, { out: dout, piece } = dPerLayer;
  const { device, config: { hiddenSize } } = network,
    { model, norm, table } = network.weights.perLayer!;
  const { raw: x, rho, u, y, width, rows: dy } = buffers(network, workspace, rows),
    n = rows * width;
  device.run("add", { b: dout, out: dout, n, scale: 0.5 ** 0.5 });
  // The table's rows are not needed any more.
  device.run("add", { b: dout, out: dy, n, scale: piece ** 0.5 });
  scatter(dy, table?.grad ?? null, width);
  normBackward(device, { norm, mean: null, rho }, { dout, x, dx: dy, rows });
  device.run("add", { b: dy, out: dy, n, scale: hiddenSize ** -0.5 });
  const args = { x: h, u, y, dy, dx: dh, du, rows, dropout };
  linearBackward(device, model, { ...args, accumulate: true });
}

/** The end of a layer whose output has a factor; others return the sum as it is. */
export function layerEnd(
  pass: LayerPass,
  activations: LayerActivations,
): { x: Tensor; add: Tensor | null } {
  const { device, config, rows, projected: add, activated: out, perLayer } = pass;
  const { layer, mid, mlpSum, ownGate: gate, ownInput, ownOut, norms, weights } = activations;
  if (mlpSum === undefined) return { x: mid, add };
  const n = rows * config.hiddenSize;
  device.run("add", { a: mid, b: add, out: mlpSum, n });
  let sum = mlpSum;
  if (perLayer !== null) {
    splitParts(pass, perLayer, [ownInput!], layer);
    project(pass, activations, "perLayerGate", mlpSum, gate!);
    const size = { n: rows * perLayer.piece, gelu: true };
    device.run("swiglu", { gate: gate!, up: ownInput!, out, ...size });
    project(pass, activations, "perLayerOut", out, ownOut!);
    normForward(device, norms.perLayerNorm!, { x: ownOut!, out: add, rows });
    device.run("add", { a: mlpSum, b: add, out: sum = add, n });
  }
  scale(pass, weights.scalar!.value, sum, add);
  return { x: add, add: null };
}

/** out = x times the one number of `gain`. */
function scale({ device, config, rows }: LayerPass, gain: Tensor, x: Tensor, out: Tensor): void {
  device.run("scale_columns", { x, gain, out, rows: rows * config.hiddenSize, d: 1 });
}

/** The backward of `layerEnd`: scratch.dh becomes the derivative by what the MLP leaves. */
export function layerEndBackward(pass: LayerBackwardPass, activations: LayerActivations): void {
  const { device, rows, activated, perLayer, dPerLayer, scratch } = pass;
  const { mlpSum, ownGate: gate, ownInput: up, ownOut: x, norms, weights, layer } = activations;
  if (mlpSum === undefined) return;
  const { dh, dnormed, dactivated: dout } = scratch;
  scale(pass, weights.scalar!.value, dh, dh);
  if (perLayer === null) return;
  normBackward(device, norms.perLayerNorm!, { dout: dh, x: x!, dx: dnormed, rows });
  const beforeX = () => {
    const size = { n: rows * perLayer.piece, gelu: true };
    const wanted = readsInput(weights.perLayerOut) ? { activated } : {};
    const to = { dgate: gate!, dup: up!, ...wanted };
    device.run("swiglu_backward", { dout, gate: gate!, up: up!, ...to, ...size });
  };
  projectBackward(pass, activations, "perLayerOut", {
    x: activated,
    dy: dnormed,
    dx: dout,
    beforeX,
  });
  projectBackward(pass, activations, "perLayerGate", {
    x: mlpSum,
    dy: gate!,
    dx: dh,
    accumulate: true,
  });
  if (dPerLayer !== null) joinParts(pass, dPerLayer, [up!], layer);
}
