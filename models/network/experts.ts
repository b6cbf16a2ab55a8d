/**
 * The MLP of a layer with experts: a router chooses some for each row (kernels/ops/experts), the
 * rows are gathered in the order of experts ("places"), and what a row's experts compute is summed
 * with their gates, in the order of the gates. A gate is a factor of the input of an expert's last
 * projection, so that the backward needs no output of it.
 *
 * An adapter has a pair of matrices for each expert, as PEFT's `target_parameters`: A is
 * [experts·r, in], and B [out, r·experts] with the expert running fastest. B is put in the order of
 * experts for each pass, and so is its gradient.
 */
import { probabilities } from "../../kernels/ops/experts/choose.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { largest } from "../logits.ts";
import { weightType } from "../formats/stored_weight.ts";
import {
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
import type { Linear, LoraWeights } from "./linear.ts";

/** n2 → routing, gate, up. */
export function expertInputs(pass: LayerPass, activations: LayerActivations): void {
  const { device, rows, config: { hiddenSize: d, experts }, fused } = pass;
  const { n2, gate, up } = activations, routing = activations.routing!;
  const { count, chosen, normalize } = experts!, { x } = pass.experts!, places = rows * chosen;
  project(pass, activations, "router", n2, routing.logits);
  device.run("route", { ...routing, rows, experts: count, chosen, normalize });
  device.run("gather_rows", { table: n2, index: routing.rowOf, out: x, rows: places, d });
  expertForward(pass, activations, "gateUp", x, fused.gateUp!.out);
  splitParts({ device, rows: places }, fused.gateUp!, [gate, up!]);
}

/** activated → out [rows, d], the sum over the experts of each row. */
export function expertOutput(pass: LayerPass, activations: LayerActivations, out: Tensor): void {
  const { activated, experts } = pass;
  timesGates(pass, activations, activated);
  expertForward(pass, activations, "down", activated, experts!.out);
  sumPlaces(pass, activations, out);
}

/** x [places, f] · gate of each place. */
function timesGates(
  { device, rows, config }: LayerPass,
  { routing }: LayerActivations,
  x: Tensor,
): void {
  const shape = { rows: rows * chosenExperts(config), d: config.intermediateSize, byRow: true };
  device.run("scale_columns", { x, gain: routing!.gates, out: x, ...shape });
}

/** experts.out → out [rows, d]. */
function sumPlaces(
  { device, rows, config: { hiddenSize: d }, experts }: LayerPass,
  { routing }: LayerActivations,
  out: Tensor,
): void {
  const { out: src, runs, target } = experts!, order = routing!.placeOf;
  device.run("fill", { out, n: rows * d, value: 0 });
  device.run("scatter_add_rows", { src, order, runs, target, table: out, runCount: rows, d });
}

/** A module with a matrix for each expert. */
type ExpertModule = "gateUp" | "down";

function placesOf({ rows, config }: LayerPass, { routing }: LayerActivations) {
  const { count, chosen } = config.experts!;
  return { begin: routing!.begin, experts: count, rows: rows * chosen };
}

/** The factor of a module's bias at each place: what its input was multiplied by. */
function factorsOf(
  { experts }: LayerPass,
  { routing }: LayerActivations,
  module: ExpertModule,
): Tensor {
  return module === "down" ? routing!.gates : experts!.ones;
}

/** out[places, outDim] = x·W_eᵀ + s·(x·A_eᵀ)·B_eᵀ of the expert of each place. */
function expertForward(
  pass: LayerPass,
  activations: LayerActivations,
  module: ExpertModule,
  x: Tensor,
  out: Tensor,
): void {
  const { device } = pass, u = activations.u[module], linear = activations.weights[module];
  const { weight: b, storage, lora, bias, inDim: k, outDim: n } = linear;
  const all = { ...placesOf(pass, activations), transB: true };
  device.run("expert_matmul", { a: x, b, ...weightType(storage), out, n, k, ...all });
  if (bias !== null) {
    const a = factorsOf(pass, activations, module);
    device.run("expert_matmul", { a, b: bias.value, out, n, k: 1, accumulate: true, ...all });
  }
  if (lora === null || u === undefined) return;
  const { a, r, scale: alpha } = lora, ordered = orderedB(pass, linear, lora);
  device.run("expert_matmul", { a: x, b: a, out: u, n: r, k, ...all });
  device.run("expert_matmul", { a: u, b: ordered, out, n, k: r, alpha, accumulate: true, ...all });
}

/**
 * dy [rows, d] → dnormed, the derivative by n2, adding the gradients of trained weights. It reads
 * `activated`, which the caller has computed again, and overwrites it, gate and up.
 */
export function expertsBackward(
  pass: LayerBackwardPass,
  activations: LayerActivations,
  dy: Tensor,
): void {
  const { device, rows, config, scratch: { dnormed, dactivated }, activated, fused } = pass;
  const { hiddenSize: d, intermediateSize: f, experts } = config,
    { count, chosen, normalize } = experts!;
  const { x, out, dgates, dlogits, ones } = pass.experts!, routing = activations.routing!;
  const { n2, gate, up } = activations, gateUp = fused.gateUp!.out, places = rows * chosen;
  device.run("gather_rows", { table: dy, index: routing.rowOf, out, rows: places, d });
  backwardDx(pass, activations, "down", out, dactivated);
  device.run("multiply", { a: activated, b: dactivated, out: gateUp, n: places * f });
  device.run("matmul", { a: gateUp, b: ones, out: dgates, transB: true, m: places, n: 1, k: f });
  const { bias } = activations.weights.down;
  if (bias !== null) {
    const sum = { transB: true, accumulate: true, ...placesOf(pass, activations) };
    device.run("expert_matmul", { a: out, b: bias.value, out: dgates, n: 1, k: d, ...sum });
  }
  timesGates(pass, activations, activated);
  gradients(pass, activations, "down", activated, out);
  timesGates(pass, activations, dactivated);
  const back = { dout: dactivated, gate, up: up!, dgate: gate, dup: up!, n: places * f };
  device.run("swiglu_backward", { ...back, ...gateOptions(config) });
  joinParts({ device, rows: places }, fused.gateUp!, [gate, up!]);
  device.run("gather_rows", { table: n2, index: routing.rowOf, out: x, rows: places, d });
  backwardDx(pass, activations, "gateUp", gateUp, out);
  gradients(pass, activations, "gateUp", x, gateUp);
  sumPlaces(pass, activations, dnormed);
  const shape = { rows, experts: count, chosen, normalize };
  const more = pass.balance === null ? {} : { balance: pass.balance };
  device.run("route_backward", { ...routing, ...shape, ...more, dgates, dlogits });
  const args = { x: n2, dy: dlogits, dx: dnormed, accumulate: true };
  projectBackward(pass, activations, "router", args);
}

/** dx[places, inDim] = dy·W_e + du·A_e, with du = s·dy·B_e in scratch.du. */
function backwardDx(
  pass: LayerBackwardPass,
  activations: LayerActivations,
  module: ExpertModule,
  dy: Tensor,
  dx: Tensor,
): void {
  const { device, scratch: { du } } = pass, linear = activations.weights[module];
  const all = placesOf(pass, activations);
  const { weight: b, storage, lora, inDim: n, outDim: k } = linear;
  device.run("expert_matmul", { a: dy, b, ...weightType(storage), out: dx, n, k, ...all });
  if (lora === null || du === undefined || Object.keys(activations.u).length === 0) return;
  const { a, r, scale: alpha } = lora, ordered = orderedB(pass, linear, lora);
  device.run("expert_matmul", { a: dy, b: ordered, out: du, n: r, k, alpha, ...all });
  device.run("expert_matmul", { a: du, b: a, out: dx, n, k: r, accumulate: true, ...all });
}

/** Adds the gradients of a module's matrices or adapter; du is that of {@link backwardDx}. */
function gradients(
  pass: LayerBackwardPass,
  activations: LayerActivations,
  module: ExpertModule,
  x: Tensor,
  dy: Tensor,
): void {
  const { device, experts: scratch, scratch: { du } } = pass, u = activations.u[module];
  const { dweight, bias, lora, experts, inDim, outDim } = activations.weights[module];
  const all = placesOf(pass, activations);
  if (dweight !== null) {
    device.run("expert_gradient", { a: dy, b: x, out: dweight, m: outDim, n: inDim, ...all });
  }
  if (bias?.grad != null) {
    const b = factorsOf(pass, activations, module);
    device.run("expert_gradient", { a: dy, b, out: bias.grad, m: outDim, n: 1, ...all });
  }
  if (lora === null || lora.da === null || u === undefined || du === undefined) return;
  const { da, db, r, scale: alpha } = lora, { workspace } = scratch!, count = experts! * outDim * r;
  device.run("expert_gradient", { a: du, b: x, out: da, m: r, n: inDim, ...all });
  const ordered = workspace.get("experts.db", count), back = workspace.get("experts.db2", count);
  device.run("fill", { out: ordered, n: count, value: 0 });
  device.run("expert_gradient", { a: dy, b: u, out: ordered, m: outDim, n: r, alpha, ...all });
  const index = orderOfB(workspace, { experts: experts!, outDim, r }, true);
  device.run("gather_rows", { table: ordered, index, out: back, rows: count, d: 1 });
  device.run("add", { a: db!, b: back, out: db!, n: count });
}

/** B [out, r·experts] as [experts, out, r]. */
function orderedB(
  { device, experts: scratch }: LayerPass,
  { experts, outDim }: Linear,
  { b: table, r }: LoraWeights,
): Tensor {
  const { workspace } = scratch!, rows = experts! * outDim * r;
  const out = workspace.get("experts.b", rows);
  const index = orderOfB(workspace, { experts: experts!, outDim, r }, false);
  device.run("gather_rows", { table, index, out, rows, d: 1 });
  return out;
}

/** Where the elements of B in the order of experts are, or with `reverse` those of B in that. */
function orderOfB(
  workspace: ExpertWorkspace,
  { experts, outDim, r }: { experts: number; outDim: number; r: number },
  reverse: boolean,
): Tensor {
  const length = experts * outDim * r, name = `experts.order.${outDim}.${r}.${reverse}`;
  if (workspace.has(name, length)) return workspace.get(name, length, "u32");
  // B is the transpose of the order of experts, element by element.
  const width = reverse ? experts : outDim * r, height = length / width;
  const at = (_: unknown, i: number) => (i % width) * height + Math.floor(i / width);
  return workspace.upload(name, Uint32Array.from({ length }, at));
}

type ExpertWorkspace = NonNullable<LayerPass["experts"]>["workspace"];

interface Balance {
  loss: number;
  /** Derivatives of the loss by the probabilities of each expert, the same in every row. */
  slopes: Float64Array;
}

/**
 * The loss that balances experts (Fedus et al. 2021), as transformers computes it: with E experts
 * and the rows of all layers, E · Σ_e f_e·P_e, where f_e is how many experts a row takes that are e
 * and P_e is the probability of e, both on average. f has no gradient. The rows are those of the
 * packed batch: a prompt counts once for all its completions, and a text's last token, after which
 * nothing is predicted, has no row.
 * @param layers logits [rows, experts] of the routers of all layers
 */
export function balanceOf(
  layers: readonly (Float32Array | Float64Array)[],
  experts: number,
  chosen: number,
): Balance {
  const taken = new Float64Array(experts), probability = new Float64Array(experts);
  const p = new Float64Array(experts);
  let rows = 0;
  for (const logits of layers) {
    for (let row = 0; row < logits.length / experts; row++, rows++) {
      probabilities(logits, row, p);
      for (const e of largest(p, chosen)) taken[e]! += 1;
      for (let e = 0; e < experts; e++) probability[e]! += p[e]!;
    }
  }
  const slopes = taken.map((count) => experts * count / rows / rows);
  return { loss: probability.reduce((sum, p, e) => sum + p * slopes[e]!, 0), slopes };
}
