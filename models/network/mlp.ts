/**
 * The MLP of a layer. It computes what is added to the residual stream from the normed input:
 * down(silu(gate)·up), the same with GELU, or GELU between two projections. One projection may
 * compute gate and up. The backward computes the nonlinearity again. A mixture of experts is in
 * experts.ts.
 */
import type { Module } from "../architectures/architecture.ts";
import { architectureOf } from "../architectures/mod.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import {
  branchBackward,
  branchForward,
  chosenExperts,
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
  const { n2, gate, up, routing } = activations, { fused: { gateUp } } = pass;
  if (routing !== null) return expertInputs(pass, weights, activations);
  if (gateUp !== null) {
    project(pass, weights, activations, "gateUp", n2, gateUp.out);
    splitParts(pass, gateUp, [gate, up!]);
    return;
  }
  project(pass, weights, activations, firstModule(activations), n2, gate);
  if (up !== null) project(pass, weights, activations, "up", n2, up);
}

/** gate (and up) → projected. */
export function mlpOutput(
  pass: LayerPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { mlpOut: raw, rhoMlpOut: rho, routing } = activations, out = raw ?? pass.projected;
  activate(pass, activations);
  if (routing !== null) expertOutput(pass, weights, activations, out);
  else project(pass, weights, activations, "down", pass.activated, out);
  branchForward(pass, weights.mlpOutNorm, raw, rho);
}

/** gate (and up) → activated. */
export function activate(
  { device, rows, activated, config }: LayerPass,
  { gate, up }: LayerActivations,
): void {
  const n = rows * chosenExperts(config) * config.intermediateSize;
  if (up === null) device.run("gelu", { x: gate, out: activated, n });
  else device.run("swiglu", { gate, up, out: activated, n, gelu: isGeglu(config) });
}

function isGeglu(config: ModelConfig): boolean {
  return architectureOf(config).activation === "geglu";
}

/** dh → dnormed, the derivative by n2. Overwrites gate and up. */
export function mlpBackward(
  pass: LayerBackwardPass,
  weights: LayerWeights,
  activations: LayerActivations,
): void {
  const { device, config, rows, scratch, activated, fused: { gateUp } } = pass;
  const { dnormed, dactivated: dout } = scratch;
  const { gate, up, n2: x, mlpOut, rhoMlpOut, routing } = activations;
  if (routing !== null) {
    const dy = branchBackward(pass, weights.mlpOutNorm, mlpOut, rhoMlpOut);
    activate(pass, activations);
    return expertsBackward(pass, weights, activations, dy);
  }
  const n = rows * config.intermediateSize;
  const backward = (module: Module, args: Parameters<typeof projectBackward>[4]) =>
    projectBackward(pass, weights, activations, module, args);

  // The last projection's input was not kept: the nonlinearity's backward computes it again.
  const wanted = readsInput(weights.down) ? { activated } : {};
  const beforeX = () => {
    if (up === null) device.run("gelu_backward", { dout, x: gate, dx: gate, n, ...wanted });
    else {
      const option = { n, gelu: isGeglu(config), ...wanted };
      device.run("swiglu_backward", { dout, gate, up, dgate: gate, dup: up, ...option });
    }
  };
  const dy = branchBackward(pass, weights.mlpOutNorm, mlpOut, rhoMlpOut);
  backward("down", { x: activated, dy, dx: dout, beforeX });
  if (gateUp !== null) {
    joinParts(pass, gateUp, [gate, up!]);
    backward("gateUp", { x, dy: gateUp.out, dx: dnormed });
    return;
  }
  backward(firstModule(activations), { x, dy: gate, dx: dnormed });
  if (up !== null) backward("up", { x, dy: up, dx: dnormed, accumulate: true });
}

/** Whether the linear layer's backward reads its input. */
function readsInput({ dweight, lora }: Linear): boolean {
  return dweight !== null || lora?.da != null;
}
