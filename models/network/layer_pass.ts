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

export interface LayerPass {
  device: Device;
  config: ModelConfig;
  rows: number;
  /** q, k, v → attn, lse; RoPE included. */
  attend(activations: LayerActivations): void;
  /** Output of the last projection of attention and MLP, [rows, d]. */
  projected: Tensor;
  /** What the MLP's last projection reads, [rows, f]. */
  activated: Tensor;
  /** Where one module makes q, k and v: its output, and which rows of d elements of it are each. */
  fused: { qkv: Tensor; index: readonly Tensor[] } | null;
  /** Of what adapters read; null = none. */
  dropout: AdapterDropout | null;
}

export interface LayerBackwardPass extends LayerPass {
  /** attn, lse, dattn → dq, dk, dv by q, k, v before their rotation. */
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
