/**
 * The trunk of a Llama model over one packed batch: embedding, layers, and their backward. Activations come
 * from a workspace: every layer keeps its own for the backward, or only its input when they are recomputed,
 * or nothing at all (inference). Formulas are the layers' and the operations'.
 */
import type { Device, Tensor } from "../kernels/device.ts";
import type { AdapterDropout } from "./dropout.ts";
import {
  type ActivationName,
  type BackwardScratch,
  backwardWidths,
  type LayerActivations,
  layerActivations,
  layerBackward,
  layerForward,
  layerForwardInner,
  type LayerPass,
  type Residual,
} from "./llama_layer.ts";
import type { LlamaWeights } from "./llama_weights.ts";
import { type PackedBatch, tokenRuns } from "./packing.ts";
import type { RopeTable } from "./rope_table.ts";
import type { LlamaConfig } from "./types.ts";
import type { Workspace } from "./workspace.ts";

/** What every pass over a model needs. */
export interface LlamaCore {
  readonly device: Device;
  readonly config: LlamaConfig;
  readonly weights: LlamaWeights;
  readonly rope: RopeTable;
  /** Largest rank of an adapter; 0 without. */
  readonly maxRank: number;
}

/** Which activations outlive their layer: all, the inputs only, or none. */
export type Keep = "all" | "inputs" | "none";

export interface TrunkOptions {
  adapter: boolean;
  keep: Keep;
  /** Of what adapters read; absent or null = none. */
  dropout?: AdapterDropout | null;
  /** Where a layer's keys and values go instead of the workspace (a generation's prompt cache). */
  keysAndValues?: (layer: number) => { k: Tensor; v: Tensor };
}

/** A forward pass in flight: what its backward needs. */
export interface TrunkPass {
  packed: PackedBatch;
  layers: LayerActivations[];
  pass: LayerPass;
  attention: PackedAttention;
  /** The stream after the last layer, as a sum still to be taken. */
  output: Residual;
  keep: Keep;
}

/** Attention scores are divided by √headDim. */
export function attentionScale(config: LlamaConfig): number {
  return 1 / Math.sqrt(config.headDim);
}

/** Buffer name of an activation of a layer under a keeping rule. */
export function bufferName(keep: Keep, layer: number, activation: ActivationName): string {
  // The recomputation of a layer ends before its down projection, so that one's `u` is kept.
  const input = activation === "h" || activation === "u.down_proj";
  if (keep === "all" || (keep === "inputs" && input)) {
    return `layers.${layer}.${activation}`;
  }
  // Without a backward the stream is summed in place.
  return keep === "none" && activation === "mid" ? "h" : activation;
}

/** Embeds and runs all layers over a packed batch with at least one row. */
export function trunkForward(
  core: LlamaCore,
  workspace: Workspace,
  packed: PackedBatch,
  options: TrunkOptions,
): TrunkPass {
  const { device, config, weights } = core;
  const { rows } = packed;
  const attention = packedAttention(core, workspace, packed);
  const pass: LayerPass = {
    device,
    config,
    rows,
    attend: attention.forward,
    projected: workspace.get("projected", rows * config.hiddenSize),
    activated: workspace.get("activated", rows * config.intermediateSize),
    dropout: options.dropout ?? null,
  };
  const layers = weights.layers.map((layer, l) =>
    layerActivations(workspace, config, layer, rows, {
      adapter: options.adapter,
      name: (activation) => bufferName(options.keep, l, activation),
      maxRank: core.maxRank,
      given: options.keysAndValues?.(l) ?? {},
    })
  );
  device.run("gather_rows", {
    table: weights.embedding.value,
    index: workspace.upload("tokens", packed.tokens),
    out: layers[0]!.h,
    rows,
    d: config.hiddenSize,
  });
  let output: Residual | null = null;
  for (let l = 0; l < layers.length; l++) {
    output = layerForward(pass, weights.layers[l]!, layers[l]!, output);
  }
  return { packed, layers, pass, attention, output: output!, keep: options.keep };
}

/** RoPE and attention over the segments of a packed batch. */
interface PackedAttention {
  forward(activations: LayerActivations): void;
  backward(activations: LayerActivations, scratch: BackwardScratch): void;
}

function packedAttention(
  core: LlamaCore,
  workspace: Workspace,
  packed: PackedBatch,
): PackedAttention {
  const { device, config } = core;
  const { rows, segmentCount } = packed;
  const { numHeads: heads, numKvHeads: kvHeads, headDim } = config;
  const positions = workspace.upload("positions", packed.positions);
  const segments = workspace.upload("segments", packed.segments);
  const rowSegment = workspace.upload("row_segment", packed.rowSegment);
  const scale = attentionScale(config);
  const rope = (x: Tensor, count: number, inverse: boolean) => {
    // Asked for at every use: the tables may have grown since the forward.
    const { cos, sin } = core.rope.upTo(packed.maxPosition);
    device.run("rope", { x, cos, sin, positions, rows, heads: count, headDim, inverse });
  };
  const shape = { segments, rowSegment, segmentCount, rows, heads, kvHeads, headDim, scale };
  return {
    forward({ q, k, v, attn, lse }: LayerActivations): void {
      rope(q, heads, false);
      rope(k, kvHeads, false);
      device.run("attention", { q, k, v, out: attn, lse, ...shape });
    },
    backward({ q, k, v, attn, lse }: LayerActivations, scratch: BackwardScratch): void {
      const { dattn, dq, dk, dv } = scratch;
      device.run("attention_backward", {
        q,
        k,
        v,
        out: attn,
        lse,
        dout: dattn,
        dq,
        dk,
        dv,
        ...shape,
      });
      rope(dq, heads, true);
      rope(dk, kvHeads, true);
    },
  };
}

/** Scratch of the backward, to be filled with the derivative by the trunk's output in `dh`. */
export function backwardScratch(
  core: LlamaCore,
  workspace: Workspace,
  rows: number,
): BackwardScratch {
  const buffers = Object.entries(backwardWidths(core.config)).map(([name, width]) => [
    name,
    workspace.get(name, rows * width),
  ]);
  const du = core.maxRank === 0 ? null : workspace.get("du", rows * core.maxRank);
  return { ...Object.fromEntries(buffers), du };
}

/** Adds the gradients of all trained tensors below the head; scratch.dh holds the derivative by the output. */
export function trunkBackward(
  core: LlamaCore,
  workspace: Workspace,
  trunk: TrunkPass,
  scratch: BackwardScratch,
): void {
  const { device, config, weights } = core;
  const { packed, layers, keep } = trunk;
  const pass = { ...trunk.pass, scratch, attendBackward: trunk.attention.backward };
  const last = layers.length - 1;
  for (let l = last; l >= Math.max(0, weights.lowestTrained); l--) {
    const layer = weights.layers[l]!, saved = layers[l]!;
    // The shared buffers still hold the last layer's activations after the forward.
    if (keep === "inputs" && l < last) layerForwardInner(pass, layer, saved, null);
    layerBackward(pass, layer, saved, l > weights.lowestTrained);
  }
  const { grad } = weights.embedding;
  if (grad === null) return;
  const { order, runs, target, runCount } = tokenRuns(packed.tokens);
  device.run("scatter_add_rows", {
    src: scratch.dh,
    order: workspace.upload("token_order", order),
    runs: workspace.upload("token_runs", runs),
    target: workspace.upload("token_target", target),
    table: grad,
    runCount,
    d: config.hiddenSize,
  });
}
