/**
 * The MLP of a layer. It computes what is added to the residual stream from the normed input:
 * down(silu(gate)·up), or GELU between two projections. The backward computes the nonlinearity
 * again.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { Module } from "../architectures/architecture.ts";
import type { LayerActivations, LayerBackwardPass, LayerPass } from "./layer_buffers.ts";
import { type Linear, linearBackward, linearForward } from "./linear.ts";
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
  const { device, rows, dropout } = pass;
  const project = (module: Module, out: Tensor) =>
    linearForward(
      device,
      weights[module],
      activations.n2,
      out,
      activations.u[module] ?? null,
      rows,
      dropout,
    );
  project(firstModule(activations), activations.gate);
  if (activations.up !== null) project("up", activations.up);
}

/** gate (and up) → projected. */
export function mlpOutput(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, rows, activated, projected, dropout } = pass;
  activate(pass, activations);
  const u = activations.u.down ?? null;
  linearForward(device, weights.down, activated, projected, u, rows, dropout);
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
  const { device, config, rows, scratch, dropout, activated } = pass;
  const { dh, dnormed, dactivated: dout, du } = scratch, { gate, up, n2, u } = activations;
  const first = firstModule(activations), n = rows * config.intermediateSize;
  const shared = { du, rows, dropout };

  // The last projection's input was not kept: the nonlinearity's backward computes it again.
  const wanted = readsInput(weights.down) ? { activated } : {};
  const beforeX = () => {
    if (up === null) device.run("gelu_backward", { dout, x: gate, dx: gate, n, ...wanted });
    else device.run("swiglu_backward", { dout, gate, up, dgate: gate, dup: up, n, ...wanted });
  };
  const lastArgs = { x: activated, u: u.down ?? null, dy: dh, dx: dout, beforeX };
  linearBackward(device, weights.down, { ...lastArgs, ...shared });
  const firstArgs = { x: n2, u: u[first] ?? null, dy: gate, dx: dnormed };
  linearBackward(device, weights[first], { ...firstArgs, ...shared });
  if (up === null) return;
  const upArgs = { x: n2, u: u.up ?? null, dy: up, dx: dnormed, accumulate: true };
  linearBackward(device, weights.up, { ...upArgs, ...shared });
}

/** Whether the linear layer's backward reads its input. */
function readsInput({ dweight, lora }: Linear): boolean {
  return dweight !== null || lora?.da != null;
}
