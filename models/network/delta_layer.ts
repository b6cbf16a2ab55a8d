/**
 * The gated delta rule of a layer, in place of its attention (Qwen3.5):
 *   mixed = norm(delta_rule(conv(deltaQkv), deltaA, deltaB)) ⊙ silu(deltaZ), head by head
 * Over a packed batch a branch begins with the state at the end of its prompt.
 */
import { SEGMENT } from "../../kernels/ops/attention/spec.ts";
import {
  DELTA_SEGMENT,
  type DeltaRuleArgs,
  NO_STATE,
  stateSize,
} from "../../kernels/ops/delta_rule/spec.ts";
import type { ShortConvArgs } from "../../kernels/ops/short_conv/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { convWidth } from "../architectures/mod.ts";
import { convolutionRows } from "./convolution.ts";
import type { LayerActivations, PackedMixer } from "./layer_buffers.ts";
import { normBackward, normForward } from "./norm.ts";
import type { PackedBatch } from "./packing.ts";
import type { Network } from "./weights/model_weights.ts";
import type { Workspace } from "./workspace.ts";

/** Where the positions before each row of a layer are, and the state before each segment. */
export type DeltaRows =
  & Pick<ShortConvArgs, "table" | "before">
  & Pick<DeltaRuleArgs, "segments" | "segmentCount" | "roots" | "state">;

/** deltaQkv, deltaZ, deltaB, deltaA → deltaX, deltaOut, deltaNormed, mixed. */
export function deltaForward(
  { device, config }: Network,
  activations: LayerActivations,
  rows: number,
  { table, before, ...states }: DeltaRows,
): void {
  const { weights, norms, deltaQkv, deltaX, deltaZ, deltaOut, deltaNormed, mixed } = activations;
  device.run("short_conv", {
    x: deltaQkv!,
    table,
    before,
    weight: weights.conv!.value,
    out: deltaX!,
    rows,
    d: convWidth(config),
    taps: config.convTaps!,
  });
  const inputs = ruleInputs(config, activations, rows), { valueHeads, valueDim } = config.delta!;
  device.run("delta_rule", { ...inputs, ...states, out: deltaOut! });
  normForward(device, norms.deltaNorm!, { x: deltaOut!, out: deltaNormed!, rows });
  const n = rows * valueHeads * valueDim;
  device.run("swiglu", { gate: deltaZ!, up: deltaNormed!, out: mixed!, n });
}

/** The inputs of the rule, but for its segments. */
function ruleInputs(
  { delta }: Network["config"],
  { weights, deltaX, deltaA, deltaB }: LayerActivations,
  rows: number,
) {
  const { aLog, dtBias } = weights.delta!, numbers = { aLog: aLog.value, dtBias: dtBias.value };
  return { ...delta!, x: deltaX!, a: deltaA!, b: deltaB!, ...numbers, rows };
}

/** Where a prefill finds and leaves the states of its prompts. */
export interface PromptStates {
  /** The states before each segment and at its end. */
  from: Uint32Array;
  to: Uint32Array;
  /** The rows of earlier positions that follow those of the batch: row → the row before it. */
  before: ReadonlyMap<number, number>;
  tableOf(layer: number): Tensor;
  /** Keeps the last inputs of the convolution of each prompt. @returns all of them, by row */
  inputsOf(layer: number, deltaQkv: Tensor): Tensor;
}

/** The delta rules of a packed batch; null when no layer has one. */
export function packedDelta(
  network: Network,
  workspace: Workspace,
  packed: PackedBatch,
  prompts?: PromptStates,
): PackedMixer | null {
  const { device, config } = network, { delta, convTaps: taps } = config;
  if (delta === undefined) return null;
  const { rows } = packed, tree = segmentsOf(packed, prompts);
  const { roots, states, longest } = tree;
  const segments = workspace.upload("delta.segments", tree.segments);
  const { before, ...reverse } = convolutionRows(workspace, packed, taps!, prompts?.before);
  const shared = { segments, segmentCount: tree.segments.length / DELTA_SEGMENT.columns };
  return {
    forward(activations) {
      const { layer, deltaQkv } = activations,
        table = prompts?.inputsOf(layer, deltaQkv!) ?? deltaQkv!;
      const state = prompts?.tableOf(layer) ??
        workspace.get("delta.states", Math.max(1, states) * stateSize(delta));
      deltaForward(network, activations, rows, { table, before, ...shared, roots, state });
    },
    backward(activations, { dmixed, dz, ddelta, ddeltaX, dqkv, da, db, dlog }) {
      const { weights, norms, deltaQkv, deltaZ, deltaOut, deltaNormed } = activations;
      const { aLog, dtBias } = weights.delta!, { value: weight, grad: dweight } = weights.conv!;
      const { valueHeads, valueDim } = delta, dup = deltaNormed!;
      device.run("swiglu_backward", {
        dout: dmixed,
        gate: deltaZ!,
        up: dup,
        dgate: dz,
        dup,
        n: rows * valueHeads * valueDim,
      });
      normBackward(device, norms.deltaNorm!, { dout: dup, x: deltaOut!, dx: ddelta, rows });
      device.run("delta_rule_backward", {
        ...ruleInputs(config, activations, rows),
        ...shared,
        states,
        longest,
        dout: ddelta,
        dx: ddeltaX,
        da,
        db,
        dlog,
      });
      for (const [{ grad: dbias }, dout] of [[aLog, dlog], [dtBias, da]] as const) {
        if (dbias === null) continue;
        device.run("add_bias_backward", { dout, dbias, rows, d: valueHeads });
      }
      device.run("short_conv_backward", {
        dout: ddeltaX,
        x: deltaQkv!,
        before,
        ...reverse,
        weight,
        dx: dqkv,
        ...(dweight === null ? {} : { dweight }),
        rows,
        d: convWidth(config),
        taps: taps!,
      });
    },
  };
}

/**
 * The segments of a batch as delta_rule reads them: first those of prompts, then their branches.
 * @param prompts the states of segments; absent = those that branches need, from 0 on
 */
function segmentsOf(
  { segments: table, segmentCount }: PackedBatch,
  prompts?: Pick<PromptStates, "from" | "to">,
) {
  const roots: number[][] = [], branches: number[][] = [], ends = new Map<number, number>();
  let longest = 0;
  for (let s = 0; s < segmentCount; s++) {
    const at = (column: number) => table[s * SEGMENT.columns + column]!;
    const begin = at(SEGMENT.begin), end = at(SEGMENT.end), prefixEnd = at(SEGMENT.prefixEnd);
    longest = Math.max(longest, end - begin);
    if (prefixEnd === at(SEGMENT.prefixBegin)) {
      roots.push([begin, end, prompts?.from[s] ?? NO_STATE, prompts?.to[s] ?? NO_STATE]);
      continue;
    }
    // A prompt's segment ends where the prefix of its branches does.
    if (!ends.has(prefixEnd)) ends.set(prefixEnd, ends.size);
    branches.push([begin, end, ends.get(prefixEnd)!, NO_STATE]);
  }
  for (const root of roots) root[3] = ends.get(root[1]!) ?? root[3]!;
  const segments = Uint32Array.from([...roots, ...branches].flat());
  return { segments, roots: roots.length, states: ends.size, longest };
}
