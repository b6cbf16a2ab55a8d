/**
 * A training pass whose forward was computed while its tokens were sampled: the activations of the
 * layers come from an activation store. Before a layer's backward, its part of the store is
 * read, and what was not kept is computed again. All layers share one set of buffers.
 */
import type { ActivationStore } from "./activation_store.ts";
import { headNormsForward } from "./attention_inputs.ts";
import {
  bufferName,
  type Keep,
  layerPass,
  type Network,
  packedAttention,
  type TrunkPass,
} from "./forward_pass.ts";
import {
  type LayerActivations,
  layerActivations,
  type LayerPass,
  mixerOutput,
} from "./layer_buffers.ts";
import { linearProduct, lowRankInput } from "./linear.ts";
import { attentionOutput } from "./decoder_layer.ts";
import { activate, mlpInputs, mlpOutput } from "./mlp.ts";
import { type NormForward, normForward, type NormWeights } from "./norm.ts";
import type { Module } from "../architectures/architecture.ts";
import type { PackedBatch } from "./packing.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { Group } from "./types.ts";
import type { LayerWeights } from "./weights/model_weights.ts";
import type { Workspace } from "./workspace.ts";

/** Store row of each row of a packed batch. Every group has its `promptId`. */
function storeRows(store: ActivationStore, groups: readonly Group[], rows: number): Uint32Array {
  const result = new Uint32Array(rows);
  let row = 0;
  const add = (part: Uint32Array) => {
    result.set(part, row);
    row += part.length;
  };
  for (const { promptId = 0, firstBranch = 0, branches } of groups) {
    add(store.rowsOf(promptId));
    branches.forEach(({ length }, b) => {
      if (length > 1) add(store.rowsOf(promptId, firstBranch + b, length - 1));
    });
  }
  return result;
}

/** The trunk of a batch whose activations are in `store`. No layer is computed. */
export function trunkRestored(
  network: Network,
  workspace: Workspace,
  packed: PackedBatch,
  { store, groups, keep }: { store: ActivationStore; groups: readonly Group[]; keep: Keep },
): TrunkPass {
  const { weights } = network, { rows } = packed;
  const index = workspace.upload("kept.rows", storeRows(store, groups, rows));
  const positions = workspace.upload("positions", packed.positions);
  const attention = packedAttention(network, workspace, packed, positions);
  const pass = layerPass(network, workspace, rows, attention.forward);
  const layers = weights.layers.map((_, l) =>
    layerActivations(workspace, network, l, rows, {
      adapter: true,
      // Those of the first layer of a pass that keeps its own.
      name: (activation) => bufferName(keep, 0, activation),
      provided: {},
    })
  );
  const restore = (layer: number) => {
    const activations = layers[layer]!, linears = weights.layers[layer]!;
    store.load(layer, activations, index, rows);
    restoreLayer(pass, linears, activations);
  };
  const output = store.loadOutput(pass.projected, index, rows);
  return { packed, layers, pass, attention, output, keep: "store", restore };
}

/** Computes what is not kept of a layer. */
function restoreLayer(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, config, rows, activated } = pass;
  const { h, mid, n1, n2 } = activations;
  const lowRank = (x: Tensor, ...modules: Module[]) => {
    for (const module of modules) {
      const u = activations.u[module];
      if (u === undefined) continue;
      const { lora, inDim } = weights[module], y = activations.y[module];
      if (lora === null) continue;
      const args = { x, u, rows, dropout: null };
      if (y === undefined) lowRankInput(device, lora, { ...args, inDim });
      else linearProduct(device, weights[module], { ...args, out: y });
    }
  };
  const norm = (
    weights: NormWeights | null,
    { rho, ...args }: Pick<NormForward, "x" | "out" | "mean"> & { rho: Tensor | null },
  ) => {
    const shape = { rows, d: config.hiddenSize, eps: config.rmsNormEps };
    if (weights !== null) normForward(device, weights, { ...args, rho: rho!, ...shape });
  };
  const to1 = { out: n1, mean: activations.mean1, rho: activations.rho1 };
  norm(weights.inputNorm, { x: h, ...to1 });
  lowRank(n1, "q", "k", "v", "qkv", "convIn", "deltaQkv", "deltaZ", "deltaB", "deltaA");
  headNormsForward(pass, weights, activations);
  pass.attend(activations);
  const [module, left] = mixerOutput(activations);
  if (weights.attentionOutNorm !== null) attentionOutput(pass, weights, activations);
  else lowRank(left, module);
  const to2 = { out: n2, mean: activations.mean2, rho: activations.rho2 };
  norm(weights.postNorm, { x: mid, ...to2 });
  if (activations.routing !== null) {
    mlpInputs(pass, weights, activations);
    return mlpOutput(pass, weights, activations);
  }
  lowRank(n2, "gate", "up", "gateUp");
  if (weights.mlpOutNorm !== null) return mlpOutput(pass, weights, activations);
  if (activations.u.down === undefined) return;
  activate(pass, activations);
  lowRank(activated, "down");
}
