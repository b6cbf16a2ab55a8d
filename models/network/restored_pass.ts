/**
 * A training pass whose forward was computed while its tokens were sampled: the activations of the
 * layers come from an activation store. Before a layer's backward, its part of the store is
 * read, and what was not kept is computed again. All layers share one set of buffers.
 */
import type { ActivationStore } from "./activation_store.ts";
import { headNormsForward } from "./attention_inputs.ts";
import {
  bufferName,
  embed,
  type Keep,
  layerPass,
  packedAttention,
  type TrunkPass,
} from "./forward_pass.ts";
import type { Network } from "./weights/model_weights.ts";
import {
  type LayerActivations,
  layerActivations,
  type LayerPass,
  mixerOutput,
} from "./layer_buffers.ts";
import { linearProduct, lowRankInput } from "./linear.ts";
import { attentionOutput } from "./decoder_layer.ts";
import { activate, mlpInputs, mlpOutput } from "./mlp.ts";
import { layerEnd, uploadOwnRows } from "./per_layer.ts";
import { normForward } from "./norm.ts";
import type { Module } from "../architectures/architecture.ts";
import type { PackedBatch } from "./packing.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { ForwardOptions, Group } from "./types.ts";
import type { Workspace } from "./workspace.ts";

export interface PassOptions extends ForwardOptions {
  /** What sampling kept of all tokens, under the present parameters; only the head is computed. */
  kept?: ActivationStore | undefined;
}

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
  { store, groups, keep, ownRows }: {
    store: ActivationStore;
    groups: readonly Group[];
    keep: Keep;
    ownRows: Float32Array | null;
  },
): TrunkPass {
  const { config, weights } = network, { rows } = packed;
  const index = workspace.upload("kept.rows", storeRows(store, groups, rows));
  const positions = workspace.upload("positions", packed.positions);
  const attention = packedAttention(network, workspace, packed, positions);
  const pass = layerPass(network, workspace, rows, attention.forward);
  const layers = weights.layers.map((_, l) =>
    layerActivations(workspace, network, l, rows, {
      // Those of the first layer of a pass that keeps its own.
      name: (activation) => bufferName(config, keep, 0, activation),
    })
  );
  if (pass.perLayer !== null) {
    const tokens = workspace.upload("tokens", packed.tokens);
    uploadOwnRows(network, workspace, ownRows, rows);
    embed(network, workspace, pass, {
      tokens,
      positions,
      h: layers[0]!.h,
      room: rows,
    });
  }
  const restore = (layer: number) => {
    store.load(layer, layers[layer]!, index, rows);
    restoreLayer(pass, layers[layer]!);
  };
  const output = store.loadOutput(pass.projected, index, rows);
  return { packed, layers, pass, attention, output, keep: "store", restore };
}

function restoreLayer(pass: LayerPass, activations: LayerActivations): void {
  const { device, rows, activated } = pass;
  const { weights, norms, h, mid, n1, n2, u: lows, y: products } = activations;
  const lowRank = (x: Tensor, ...modules: Module[]) => {
    for (const module of modules) {
      const u = lows[module], y = products[module];
      if (u === undefined) continue;
      const { lora, inDim } = weights[module], args = { x, u, rows, dropout: null };
      if (y === undefined) lowRankInput(device, lora!, { ...args, inDim });
      else linearProduct(device, weights[module], { ...args, out: y });
    }
  };
  if (norms.inputNorm !== undefined) normForward(device, norms.inputNorm, { x: h, out: n1, rows });
  lowRank(n1, "q", "k", "v", "qkv", "convIn", "deltaQkv", "deltaZ", "deltaB", "deltaA");
  headNormsForward(pass, activations);
  pass.attend(activations);
  const [module, left] = mixerOutput(activations);
  if (norms.attentionOutNorm !== undefined) attentionOutput(pass, activations);
  else lowRank(left, module);
  if (norms.postNorm !== undefined) normForward(device, norms.postNorm, { x: mid, out: n2, rows });
  if (activations.routing !== null) {
    mlpInputs(pass, activations);
    return mlpOutput(pass, activations);
  }
  lowRank(n2, "gate", "up", "gateUp");
  if (norms.mlpOutNorm !== undefined) {
    mlpOutput(pass, activations);
    layerEnd(pass, activations);
    return;
  }
  if (lows.down === undefined) return;
  activate(pass, activations);
  lowRank(activated, "down");
}
