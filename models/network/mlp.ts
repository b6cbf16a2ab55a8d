/**
 * The MLP of a layer. It computes what is added to the residual stream from the normed input:
 * down(silu(gate)·up), or GELU between two projections. The backward computes the nonlinearity
 * again.
 */
import type { Module } from "../architectures/architecture.ts";
import {
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  project,
  projectBackward,
} from "./layer_buffers.ts";
import type { Linear } from "./linear.ts";
import type { LayerWeights } from "./weights/model_weights.ts";

/** The module whose output is the nonlinearity's input. */
function firstModule({ up }: LayerActivations): "gate" | "up" {
  return up === null ? "up" : "gate";
}

/** n2 → gate (and up). */
export function mlpInputs(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { n2, gate, up } = activations;
  project(pass, weights, activations, firstModule(activations), n2, gate);
  if (up !== null) project(pass, weights, activations, "up", n2, up);
}

/** gate (and up) → projected. */
export function mlpOutput(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  activate(pass, activations);
  project(pass, weights, activations, "down", pass.activated, pass.projected);
}

/** gate (and up) → activated. */
export function activate(
  { device, rows, activated, config }: LayerPass,
  { gate, up }: LayerActivations,
): void {
  const n = rows * config.intermediateSize;
  if (up === null) device.run("gelu", { x: gate, out: activated, n });
  else device.run("swiglu", { gate, up, out: activated, n });
}

/** dh → dnormed, the derivative by n2. Overwrites gate and up. */
export function mlpBackward(
  pass: LayerBackwardPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, config, rows, scratch, activated } = pass;
  const { dh, dnormed, dactivated: dout } = scratch, { gate, up, n2: x } = activations;
  const n = rows * config.intermediateSize;
  const backward = (module: Module, args: Parameters<typeof projectBackward>[4]) =>
    projectBackward(pass, weights, activations, module, args);

  // The last projection's input was not kept: the nonlinearity's backward computes it again.
  const wanted = readsInput(weights.down) ? { activated } : {};
  const beforeX = () => {
    if (up === null) device.run("gelu_backward", { dout, x: gate, dx: gate, n, ...wanted });
    else device.run("swiglu_backward", { dout, gate, up, dgate: gate, dup: up, n, ...wanted });
  };
  backward("down", { x: activated, dy: dh, dx: dout, beforeX });
  backward(firstModule(activations), { x, dy: gate, dx: dnormed });
  if (up !== null) backward("up", { x, dy: up, dx: dnormed, accumulate: true });
}

/** Whether the linear layer's backward reads its input. */
function readsInput({ dweight, lora }: Linear): boolean {
  return dweight !== null || lora?.da != null;
}
