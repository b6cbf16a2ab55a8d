/**
 * The gated delta rule of a layer, in place of its attention (Qwen3.5):
 *   mixed = norm(delta_rule(conv(deltaQkv), deltaA, deltaB)) ⊙ silu(deltaZ), head by head
 * Over a packed batch a branch begins with the state at the end of its prompt.
 */
import type { Device } from "../../kernels/device.ts";
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
import type { ModelConfig } from "../architectures/model_config.ts";
import { convolutionRows } from "./convolution.ts";
import type { BackwardScratch, LayerActivations } from "./layer_buffers.ts";
import { normBackward, normForward } from "./norm.ts";
import type { PackedBatch } from "./packing.ts";
import type { ModelWeights } from "./weights/model_weights.ts";
import type { Workspace } from "./workspace.ts";

/** What a delta rule needs of a network. */
interface Layers {
  readonly device: Device;
  readonly config: ModelConfig;
  readonly weights: Pick<ModelWeights, "layers">;
}

/** Where the positions before each row of a layer are, and the state before each segment. */
export type DeltaRows =
  & Pick<ShortConvArgs, "table" | "before">
  & Pick<DeltaRuleArgs, "segments" | "segmentCount" | "roots" | "state">;

/** deltaQkv, deltaZ, deltaB, deltaA → deltaX, deltaOut, deltaNormed, mixed. */
export function deltaForward(
  { device, config, weights }: Layers,
  activations: LayerActivations,
  rows: number,
  { table, before, ...states }: DeltaRows,
): void {
  const { layer, deltaQkv, deltaX, deltaZ, deltaOut, deltaNormed, mixed, rhoDelta } = activations;
  const { conv, delta } = weights.layers[layer]!, { valueHeads, valueDim: d } = config.delta!;
  device.run("short_conv", {
    x: deltaQkv!,
    table,
    before,
    weight: conv!.value,
    out: deltaX!,
    rows,
    d: convWidth(config),
    taps: config.convTaps!,
  });
  device.run("delta_rule", {
    ...ruleInputs(config, weights, activations, rows),
    ...states,
    out: deltaOut!,
  });
  const heads = rows * valueHeads, shape = { rows: heads, d, eps: config.rmsNormEps };
  const norm = { x: deltaOut!, out: deltaNormed!, rho: rhoDelta!, mean: null };
  normForward(device, delta!.norm, { ...norm, ...shape });
  device.run("swiglu", { gate: deltaZ!, up: deltaNormed!, out: mixed!, n: heads * d });
}

/** The inputs of the rule, but for its segments. */
function ruleInputs(
  config: ModelConfig,
  weights: Layers["weights"],
  { layer, deltaX, deltaA, deltaB }: LayerActivations,
  rows: number,
) {
  const { aLog, dtBias } = weights.layers[layer]!.delta!;
  const numbers = { aLog: aLog.value, dtBias: dtBias.value };
  return { ...config.delta!, x: deltaX!, a: deltaA!, b: deltaB!, ...numbers, rows };
}

/** The delta rules of a packed batch. */
interface PackedDelta {
  /** The inputs → mixed. */
  forward(activations: LayerActivations): void;
  /** dmixed → dqkv, dz, db, da, the derivatives by the inputs. */
  backward(activations: LayerActivations, scratch: BackwardScratch): void;
}

/** Where a prefill leaves the states of its prompts. */
export interface PromptStates {
  /** The state of each segment's end. */
  to: Uint32Array;
  tableOf(layer: number): Tensor;
  /** Keeps the last inputs of the convolution of each prompt. */
  keepInputs(layer: number, deltaQkv: Tensor): void;
}

/** Null when no layer has a delta rule. */
export function packedDelta(
  network: Layers,
  workspace: Workspace,
  packed: PackedBatch,
  prompts?: PromptStates,
): PackedDelta | null {
  const { device, config, weights } = network, { delta, convTaps: taps } = config;
  if (delta === undefined) return null;
  const { rows } = packed,
    tree = segmentsOf(packed, prompts?.to),
    { roots, states, longest } = tree;
  const segments = workspace.upload("delta.segments", tree.segments);
  const { before, ...reverse } = convolutionRows(workspace, packed, taps!);
  const shared = { segments, segmentCount: tree.segments.length / DELTA_SEGMENT.columns };
  return {
    forward(activations) {
      const table = activations.deltaQkv!, { layer } = activations;
      const state = prompts?.tableOf(layer) ??
        workspace.get("delta.states", Math.max(1, states) * stateSize(delta));
      deltaForward(network, activations, rows, { table, before, ...shared, roots, state });
      prompts?.keepInputs(layer, table);
    },
    backward(activations, { dmixed, dz, ddelta, ddeltaX, dqkv, da, db, dlog }) {
      const { layer, deltaQkv, deltaZ, deltaOut, deltaNormed, rhoDelta } = activations;
      const { conv, delta: own } = weights.layers[layer]!, { valueHeads, valueDim: d } = delta;
      const heads = rows * valueHeads;
      device.run("swiglu_backward", {
        dout: dmixed,
        gate: deltaZ!,
        up: deltaNormed!,
        dgate: dz,
        dup: deltaNormed!,
        n: heads * d,
      });
      normBackward(device, own!.norm, {
        dout: deltaNormed!,
        x: deltaOut!,
        mean: null,
        rho: rhoDelta!,
        dx: ddelta,
        rows: heads,
        d,
      });
      device.run("delta_rule_backward", {
        ...ruleInputs(config, weights, activations, rows),
        ...shared,
        states,
        longest,
        dout: ddelta,
        dx: ddeltaX,
        da,
        db,
        dlog,
      });
      for (const [{ grad }, dout] of [[own!.aLog, dlog], [own!.dtBias, da]] as const) {
        if (grad !== null) {
          device.run("add_bias_backward", { dout, dbias: grad, rows, d: valueHeads });
        }
      }
      device.run("short_conv_backward", {
        dout: ddeltaX,
        x: deltaQkv!,
        before,
        ...reverse,
        weight: conv!.value,
        dx: dqkv,
        ...(conv!.grad === null ? {} : { dweight: conv!.grad }),
        rows,
        d: convWidth(config),
        taps: taps!,
      });
    },
  };
}

/**
 * The segments of a batch as delta_rule reads them: first those of prompts, then their branches.
 * @param to the states where the segments end; absent = those that branches need, from 0 on
 */
function segmentsOf({ segments: table, segmentCount }: PackedBatch, to?: Uint32Array) {
  const roots: number[][] = [], branches: number[][] = [], ends = new Map<number, number>();
  let longest = 0;
  for (let s = 0; s < segmentCount; s++) {
    const at = (column: number) => table[s * SEGMENT.columns + column]!;
    const begin = at(SEGMENT.begin), end = at(SEGMENT.end), prefixEnd = at(SEGMENT.prefixEnd);
    longest = Math.max(longest, end - begin);
    if (prefixEnd === at(SEGMENT.prefixBegin)) {
      roots.push([begin, end, NO_STATE, to?.[s] ?? NO_STATE]);
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
