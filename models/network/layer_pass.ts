/**
 * What the parts of a decoder layer (attention inputs, MLP) get from the pass that runs them: the
 * device, the sizes, the attention, and the buffers that all layers share.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { AdapterDropout } from "./dropout.ts";
import { type BackwardScratch, type LayerActivations, passWidths } from "./layer_buffers.ts";
import type { Workspace } from "./workspace.ts";

/** A part of a layer. */
export type LayerPart = "attention" | "mlp";

export interface LayerPass {
  device: Device;
  config: ModelConfig;
  rows: number;
  /** q, k, v → attn, lse; includes RoPE. */
  attend(activations: LayerActivations): void;
  /** Output of the last projection of the attention and of the MLP, [rows, d]. */
  projected: Tensor;
  /** Input of the MLP's last projection, [rows, f]. */
  activated: Tensor;
  /**
   * For architectures where one module computes q, k and v: its output, and the indices of the rows
   * of d elements that are q, k and v.
   */
  fused: { qkv: Tensor; index: readonly Tensor[] } | null;
  /** Dropout of the adapters' inputs; null = none. */
  dropout: AdapterDropout | null;
  /** Keeps the results of a part of a layer for the training pass (activation_store.ts). */
  save?: ((part: LayerPart, activations: LayerActivations) => void) | undefined;
}

export interface LayerBackwardPass extends LayerPass {
  /** attn, lse, dattn → dq, dk, dv, the derivatives by q, k, v before their rotation. */
  attendBackward(activations: LayerActivations, scratch: BackwardScratch): void;
  scratch: BackwardScratch;
}

/** The scratch that all layers of a pass share. */
export function passScratch(
  workspace: Workspace,
  config: ModelConfig,
  rows: number,
): Pick<LayerPass, "projected" | "activated" | "fused"> {
  const widths = passWidths(config);
  const part = (i: number) => Uint32Array.from({ length: rows }, (_, row) => 3 * row + i);
  return {
    projected: workspace.get("projected", rows * widths.projected),
    activated: workspace.get("activated", rows * widths.activated),
    fused: widths.qkv === undefined ? null : {
      qkv: workspace.get("qkv", rows * widths.qkv),
      index: ["q", "k", "v"].map((name, i) => workspace.upload(`qkv.${name}`, part(i))),
    },
  };
}
