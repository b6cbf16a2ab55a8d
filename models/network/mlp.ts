/**
 * The MLP of a layer. It computes what is added to the residual stream from the normed input:
 * down(silu(gate)·up), the same with GELU, or GELU between two projections. One projection may
 * compute gate and up. The backward computes the nonlinearity again. A mixture of experts is in
 * experts.ts.
 */
import type { Module } from "../architectures/architecture.ts";
import { layerSizes } from "../architectures/model_config.ts";
import {
  branchBackward,
  branchForward,
  chosenExperts,
  gateOptions,
  joinParts,
  type LayerActivations,
  type LayerBackwardPass,
  type LayerPass,
  project,
  projectBackward,
  splitParts,
} from "./layer_buffers.ts";
import { expertInputs, expertOutput, expertsBackward } from "./experts.ts";
import type { Linear } from "./linear.ts";

/** The module whose output is the nonlinearity's input. */
function firstModule({ up }: LayerActivations): "gate" | "up" {
  return up === undefined ? "up" : "gate";
}

/** n2 → gate (and up). */
export function mlpInputs(pass: LayerPass, activations: LayerActivations): void {
  const { n2, gate, up, routing } = activations, { fused: { gateUp } } = pass;
  if (routing !== null) return expertInputs(pass, activations);
  if (gateUp !== null) {
    project(pass, activations, "gateUp", n2, gateUp.out);
    return splitParts(pass, gateUp, [gate, up!]);
  }
  project(pass, activations, firstModule(activations), n2, gate);
  if (up !== undefined) project(pass, activations, "up", n2, up);
}

/** gate (and up) → projected. */
export function mlpOutput(pass: LayerPass, activations: LayerActivations): void {
  const { mlpOut: raw, norms, routing } = activations, out = raw ?? pass.projected;
  activate(pass, activations);
  if (routing !== null) expertOutput(pass, activations, out);
  else project(pass, activations, "down", pass.activated, out);
  branchForward(pass, norms.mlpOutNorm, raw);
}

/** gate (and up) → activated. */
export function activate(
  { device, rows, activated, config }: LayerPass,
  { layer, gate, up }: LayerActivations,
): void {
  const n = rows * chosenExperts(config) * layerSizes(config, layer).f;
  if (up === undefined) device.run("gelu", { x: gate, out: activated, n });
  else device.run("swiglu", { gate, up, out: activated, n, ...gateOptions(config) });
}

/** dh → dnormed, the derivative by n2. Overwrites gate and up. */
export function mlpBackward(pass: LayerBackwardPass, activations: LayerActivations): void {
  const { device, config, rows, scratch, activated, fused: { gateUp } } = pass;
  const { dnormed, dactivated: dout } = scratch;
  const { gate, up, n2: x, mlpOut, norms, routing, weights: { down } } = activations;
  const dy = branchBackward(pass, norms.mlpOutNorm, mlpOut);
  if (routing !== null) {
    activate(pass, activations);
    return expertsBackward(pass, activations, dy);
  }
  const n = rows * layerSizes(config, activations.layer).f;
  const backward = (module: Module, args: Parameters<typeof projectBackward>[3]) =>
    projectBackward(pass, activations, module, args);

  // The last projection's input was not kept: the nonlinearity's backward computes it again.
  const wanted = readsInput(down) ? { activated } : {};
  const beforeX = () => {
    if (up === undefined) device.run("gelu_backward", { dout, x: gate, dx: gate, n, ...wanted });
    else {
      const option = { n, ...gateOptions(config), ...wanted };
      device.run("swiglu_backward", { dout, gate, up, dgate: gate, dup: up, ...option });
    }
  };
  backward("down", { x: activated, dy, dx: dout, beforeX });
  if (gateUp !== null) {
    joinParts(pass, gateUp, [gate, up!]);
    return backward("gateUp", { x, dy: gateUp.out, dx: dnormed });
  }
  backward(firstModule(activations), { x, dy: gate, dx: dnormed });
  if (up !== undefined) backward("up", { x, dy: up, dx: dnormed, accumulate: true });
}

/** Whether the linear layer's backward reads its input. */
export function readsInput({ dweight, lora }: Linear): boolean {
  return dweight !== null || lora?.da != null;
}
