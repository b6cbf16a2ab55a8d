/**
 * The trunk of a model over one packed batch: embedding, layers, and their backward. Activations
 * come from a workspace. For the backward, every layer keeps its own activations, or only its input
 * when they are recomputed; for inference nothing is kept.
 */
import type { AttentionForwardArgs } from "../../kernels/ops/attention/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { layerWindow, scalarOf } from "../architectures/mod.ts";
import type { AdapterDropout } from "./dropout.ts";
import { addToEmbedding, embeddingBackward, isTrained } from "./embedding_adapter.ts";
import {
  type ActivationName,
  type BackwardScratch,
  type LayerActivations,
  layerActivations,
  type LayerPass,
  type PackedMixer,
  passScratch,
} from "./layer_buffers.ts";
import { ownsKeys } from "./attention_inputs.ts";
import { layerBackward, layerForward, layerForwardInner, type Residual } from "./decoder_layer.ts";
import type { Network } from "./weights/model_weights.ts";
import { mlpOutput } from "./mlp.ts";
import {
  layerEnd,
  ownGradients,
  ownInputs,
  ownInputsBackward,
  uploadOwnRows,
} from "./per_layer.ts";
import { packedConvolution, type StoreConvolved } from "./convolution.ts";
import { packedDelta, type PromptStates } from "./delta_layer.ts";
import { type PackedBatch, tokenRuns } from "./packing.ts";
import type { LayerAngles } from "./rope_table.ts";
import { weightType } from "../formats/stored_weight.ts";
import { kvSource, layerSizes, type ModelConfig } from "../architectures/model_config.ts";
import type { Parameter } from "./types.ts";
import type { Workspace } from "./workspace.ts";

/** Which activations are kept after their layer: all, only the layers' inputs, or none. */
export type Keep = "all" | "inputs" | "none";

export type SaveLayer = NonNullable<LayerPass["save"]>;

export interface TrunkOptions {
  keep: Keep;
  /** Dropout of the adapters' inputs; absent or null = none. */
  dropout?: AdapterDropout | null;
  /** Tensors for a layer's keys, values or gated inputs: views of a prompt cache. */
  cached?: (layer: number) => Partial<Pick<LayerActivations, "k" | "v" | "convBx">>;
  /** Stores the rotated keys and values and returns where attention reads them. */
  store?: (layer: number, k: Tensor, v: Tensor) => Pick<AttentionForwardArgs, "k" | "v" | "keys">;
  storeConvolved?: StoreConvolved;
  /** Where the states of prompts stay, in models with delta rules. */
  states?: PromptStates;
  /** The rows of the batch's tokens in a table that stays in its file (per_layer.ts). */
  ownRows?: Float32Array | null;
  /** Keeps the layers' results for a later training pass. */
  save?: SaveLayer | undefined;
}

/** A finished forward pass, with what its backward needs. */
export interface TrunkPass {
  packed: PackedBatch;
  layers: LayerActivations[];
  pass: LayerPass;
  attention: PackedMixer;
  /** The output of the last layer, as a sum that is still to be computed. */
  output: Residual;
  keep: Keep | "store";
  /** Fills a layer's activations right before its backward; absent = they are there already. */
  restore?: (layer: number) => void;
}

/** The sliding window and the soft cap of a layer as arguments of operations, where it has them. */
export function scoreOptions(
  config: ModelConfig,
  layer: number,
): { window?: number; softCap?: number } {
  const window = layerWindow(config, layer), softCap = config.softCaps?.attention;
  return { ...(window === null ? {} : { window }), ...(softCap === undefined ? {} : { softCap }) };
}

/** The sinks of a layer as an argument of attention, where it has them. */
export function sinksOf({ weights: { sinks } }: LayerActivations): { sinks?: Tensor } {
  return sinks === null ? {} : { sinks: sinks.value };
}

/** Rotates the queries and keys of a layer in place, or back. Keys of another layer are null. */
export function rotate(
  { device, config }: Pick<Network, "device" | "config">,
  angles: LayerAngles | null,
  { layer, q, k }: { layer: number; q: Tensor; k: Tensor | null },
  rows: number,
  inverse = false,
): void {
  if (angles === null) return;
  const { headDim } = layerSizes(config, layer), shape = { rows, headDim, inverse };
  device.run("rope", { x: q, ...angles.q, heads: config.numHeads, ...shape });
  if (k !== null) device.run("rope", { x: k, ...angles.k, heads: config.numKvHeads, ...shape });
}

export function bufferName(
  config: ModelConfig,
  keep: Keep,
  layer: number,
  activation: ActivationName,
): string {
  if (config.sharedKv !== undefined && (activation === "k" || activation === "v")) {
    return `layers.${kvSource(config, layer)}.${activation}`;
  }
  // A layer's recomputation stops before its last projection, so `u` and `y` of that one are kept.
  // The logits of routers are read after the forward (experts.ts).
  const input = ["h", "u.down", "y.down", "routing.logits"].includes(activation);
  if (keep === "all" || (keep === "inputs" && input)) {
    return `layers.${layer}.${activation}`;
  }
  // Without a backward the residual stream is summed in place.
  return keep === "none" && activation === "mid" ? "h" : activation;
}

/** Embeds the tokens and runs all layers over a packed batch of at least one row. */
export function trunkForward(
  network: Network,
  workspace: Workspace,
  packed: PackedBatch,
  options: TrunkOptions,
): TrunkPass {
  const { config, weights } = network, { rows } = packed, { keep } = options;
  const positions = workspace.upload("positions", packed.positions);
  const attention = packedAttention(network, workspace, packed, positions, options);
  const pass: LayerPass = {
    ...layerPass(network, workspace, rows, attention.forward),
    dropout: options.dropout ?? null,
    save: options.save,
  };
  const layers = weights.layers.map((_, l) =>
    layerActivations(workspace, network, l, rows, {
      name: (activation) => bufferName(config, keep, l, activation),
      own: keep === "all",
      provided: options.cached?.(l) ?? {},
    })
  );
  const tokens = workspace.upload("tokens", packed.tokens);
  uploadOwnRows(network, workspace, options.ownRows ?? null, rows);
  embed(network, workspace, pass, { tokens, positions, h: layers[0]!.h, room: rows });
  let output: Residual | null = null;
  for (const layer of layers) output = layerForward(pass, layer, output);
  return { packed, layers, pass, attention, output: output!, keep };
}

/** What the layers of a pass over `rows` rows share; without dropout. */
export function layerPass(
  { device, config }: Network,
  workspace: Workspace,
  rows: number,
  attend: LayerPass["attend"],
): LayerPass {
  return { device, config, rows, attend, ...passScratch(workspace, config, rows), dropout: null };
}

/**
 * h[rows, d] = embedding of the tokens, times the model's factor, plus learned positions; and the
 * inputs that each layer has of its own. Overwrites pass.projected.
 */
export function embed(
  network: Network,
  workspace: Workspace,
  pass: LayerPass,
  { tokens, positions, h: out, room }: {
    tokens: Tensor; // u32 [rows]
    positions: Tensor; // u32 [rows]
    h: Tensor; // [rows, d]
    /** Most rows with the workspace. */
    room: number;
  },
): void {
  const { device, config, weights } = network, { rows, projected: spare } = pass;
  const d = config.hiddenSize, n = rows * d;
  const lookUp = ({ value: table, storage }: Parameter, index: Tensor, out: Tensor) =>
    device.run("gather_rows", { table, ...weightType(storage), index, out, rows, d });
  lookUp(weights.embedding, tokens, out);
  const { embeddingAdapter: low } = weights;
  if (low !== null) addToEmbedding(device, low, workspace, { tokens, out, rows, d });
  const scale = scalarOf(config, "embedding");
  if (scale !== 1) device.run("add", { b: out, out, n, scale });
  ownInputs(network, workspace, pass, { h: out, tokens, room });
  if (weights.positions === null) return;
  lookUp(weights.positions, positions, spare);
  device.run("add", { a: out, b: spare, out, n });
}

/** What mixes the positions of each layer of a packed batch. */
export function packedAttention(
  network: Network,
  workspace: Workspace,
  packed: PackedBatch,
  positions: Tensor,
  { store = (_, k, v) => ({ k, v }), storeConvolved, states }: Pick<
    TrunkOptions,
    "store" | "storeConvolved" | "states"
  > = {},
): PackedMixer {
  const { device, config } = network;
  const { rows, segmentCount } = packed;
  const { numHeads: heads, numKvHeads: kvHeads } = config;
  const segments = workspace.upload("segments", packed.segments);
  const rowSegment = workspace.upload("row_segment", packed.rowSegment);
  const angles = network.rope.ofBatch(packed, positions, workspace);
  const table = { segments, rowSegment, segmentCount, rows, heads, kvHeads };
  const scale = scalarOf(config, "attention");
  const shapeOf = (layer: number) => {
    const { headDim } = layerSizes(config, layer);
    return { ...table, headDim, scale, ...scoreOptions(config, layer) };
  };
  const addShared = sharedSums(network, workspace, rows);
  const attention: PackedMixer = {
    forward(activations) {
      const { layer, q, k, v, attn, lse } = activations, owns = ownsKeys(activations);
      rotate(network, angles(layer), { layer, q, k: owns ? k : null }, rows);
      const keys = owns ? store(layer, k, v) : { k, v };
      const of = { ...shapeOf(layer), ...sinksOf(activations) };
      device.run("attention", { q, ...keys, out: attn, lse, ...of });
      gateAttention(network, activations, rows);
    },
    backward(activations, scratch) {
      const { layer, weights, q, k, v, attn: out, lse, attnGate: gate } = activations;
      const { dattn: dout, dq, dk, dv, dgated, dattnGate } = scratch;
      if (gate !== undefined) {
        const n = rows * layerSizes(config, layer).q, to = { dgate: dattnGate, dup: dout };
        device.run("swiglu_backward", { dout: dgated, gate, up: out, ...to, n, sigmoid: true });
      }
      const { sinks } = weights;
      if (sinks?.grad != null) {
        const of = { dout, out, lse, sinks: sinks.value, dsinks: sinks.grad };
        device.run("sinks_backward", {
          ...of,
          rows,
          heads,
          headDim: layerSizes(config, layer).headDim,
        });
      }
      device.run("attention_backward", { q, k, v, out, lse, dout, dq, dk, dv, ...shapeOf(layer) });
      addShared(layer, { dk, dv });
      rotate(
        network,
        angles(layer),
        { layer, q: dq, k: ownsKeys(activations) ? dk : null },
        rows,
        true,
      );
    },
  };
  const convolution = packedConvolution(network, workspace, packed, storeConvolved);
  const delta = packedDelta(network, workspace, packed, states);
  const mixerOf = ({ mixed }: LayerActivations) =>
    mixed === undefined ? attention : delta ?? convolution!;
  return {
    forward: (activations) => mixerOf(activations).forward(activations),
    backward: (activations, scratch) => mixerOf(activations).backward(activations, scratch),
  };
}

/** Adds up the derivatives by keys and values that later layers use, too, from these on. */
function sharedSums({ device, config }: Network, workspace: Workspace, rows: number) {
  const begun = new Set<number>();
  return (layer: number, derivatives: { dk: Tensor; dv: Tensor }) => {
    const source = kvSource(config, layer), n = rows * layerSizes(config, layer).kv;
    if (source === layer && !begun.delete(layer)) return;
    for (const [name, d] of Object.entries(derivatives)) {
      const sum = workspace.get(`${name}.${source}`, n);
      if (source === layer) device.run("add", { a: d, b: sum, out: d, n });
      else if (begun.has(source)) device.run("add", { a: sum, b: d, out: sum, n });
      else device.run("copy", { src: d, out: sum, n });
    }
    if (source !== layer) begun.add(source);
  };
}

/** attn, attnGate → gated, where the architecture has such gates. */
export function gateAttention(
  { device, config }: Pick<Network, "device" | "config">,
  { layer, attn: up, attnGate: gate, gated }: LayerActivations,
  rows: number,
): void {
  if (gate === undefined) return;
  const n = rows * layerSizes(config, layer).q;
  device.run("swiglu", { gate, up, out: gated!, n, sigmoid: true });
}

/** Adds the gradients of all below the head; scratch.dh has the derivative by the output. */
export function trunkBackward(
  network: Network,
  workspace: Workspace,
  trunk: TrunkPass,
  scratch: BackwardScratch,
  balance: Tensor | null = null,
): void {
  const { device, config, weights } = network;
  const { packed, layers, keep } = trunk;
  const pass = {
    ...trunk.pass,
    scratch,
    balance,
    attendBackward: trunk.attention.backward,
    dPerLayer: ownGradients(network, workspace, trunk.pass),
  };
  const last = layers.length - 1;
  for (let l = last; l >= Math.max(0, weights.lowestTrained); l--) {
    const layer = layers[l]!;
    // The shared buffers still hold the last layer's activations from the forward.
    trunk.restore?.(l);
    if (keep === "inputs" && l < last) {
      layerForwardInner(pass, layer, null);
      // The backward of a norm after the MLP reads its input.
      if (layer.norms.mlpOutNorm !== undefined) mlpOutput(pass, layer);
      layerEnd(pass, layer);
    }
    layerBackward(pass, layer, l > weights.lowestTrained);
  }
  const addRows = (
    kind: string,
    grad: Tensor | null,
    ids: Uint32Array,
    src = scratch.dh,
    d = config.hiddenSize,
  ) => {
    if (grad === null) return;
    const { order, runs, target, runCount } = tokenRuns(ids);
    device.run("scatter_add_rows", {
      src,
      order: workspace.upload(`${kind}_order`, order),
      runs: workspace.upload(`${kind}_runs`, runs),
      target: workspace.upload(`${kind}_target`, target),
      table: grad,
      runCount,
      d,
    });
  };
  const scale = scalarOf(config, "embedding"), { dh } = scratch;
  const { rows, tokens: ids } = packed, { hiddenSize: d, vocabSize: vocab } = config;
  if (weights.positions !== null) addRows("position", weights.positions.grad, packed.positions);
  if (weights.lowestTrained >= 0) return;
  ownInputsBackward(network, workspace, pass, {
    h: layers[0]!.h,
    scatter: (src, table, width) => addRows("token", table, ids, src, width),
  });
  if (scale !== 1) device.run("add", { b: dh, out: dh, n: rows * d, scale });
  addRows("token", weights.embedding.grad, ids);
  const { embeddingAdapter: adapter } = weights;
  if (adapter === null || !isTrained(adapter)) return;
  const tokens = workspace.upload("tokens", ids);
  embeddingBackward(device, adapter, workspace, {
    tokens,
    dh,
    rows,
    d,
    vocab,
    scatter: (src, table, width) => addRows("token", table, ids, src, width),
  });
}
