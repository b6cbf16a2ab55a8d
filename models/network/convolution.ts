/**
 * The short convolution of a layer, in place of its attention (LFM2):
 *   (B, C, x) = convIn(n1);  mixed = C ⊙ conv(B ⊙ x)
 * Over a packed batch, the rows before the first rows of a branch are the last ones of its prompt.
 */
import { SEGMENT } from "../../kernels/ops/attention/spec.ts";
import { NO_ROW, type ShortConvArgs } from "../../kernels/ops/short_conv/spec.ts";
import { convolutionTables } from "../../kernels/ops/short_conv/tables.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { hasPart } from "../architectures/mod.ts";
import type { Device } from "../../kernels/device.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { BackwardScratch, LayerActivations } from "./layer_buffers.ts";
import type { PackedBatch } from "./packing.ts";
import type { ModelWeights } from "./weights/model_weights.ts";
import type { Workspace } from "./workspace.ts";

/** What a convolution needs of a network. */
interface Layers {
  readonly device: Device;
  readonly config: ModelConfig;
  readonly weights: Pick<ModelWeights, "layers">;
}

/** Where the rows before each row of a layer's gated inputs are. */
type RowsBefore = Pick<ShortConvArgs, "table" | "before">;

/**
 * Stores the gated inputs of a layer and returns where the rows before each row are; those of the
 * batch are in `before`.
 */
export type StoreConvolved = (layer: number, bx: Tensor, before: Tensor) => RowsBefore;

/** convB, convC, convX → convBx, mixed. */
export function convolve(
  network: Layers,
  activations: LayerActivations,
  rows: number,
  find: (layer: number, bx: Tensor) => RowsBefore,
): void {
  gateInputs(network, activations, rows);
  mix(network, activations, rows, find(activations.layer, activations.convBx!));
}

/** convB, convX → convBx. */
function gateInputs(
  { device, config }: Layers,
  { convB, convX, convBx }: LayerActivations,
  rows: number,
): void {
  device.run("multiply", { a: convB!, b: convX!, out: convBx!, n: rows * config.hiddenSize });
}

/** convC, convBx → mixed. */
function mix(
  { device, config, weights }: Layers,
  { layer, convC, convBx, mixed }: LayerActivations,
  rows: number,
  rowsBefore: RowsBefore,
): void {
  device.run("short_conv", {
    x: convBx!,
    ...rowsBefore,
    weight: weights.layers[layer]!.conv!.value,
    gate: convC!,
    out: mixed!,
    rows,
    d: config.hiddenSize,
    taps: config.convTaps!,
  });
}

/** Where the rows before each row of a packed batch are, and the reverse, on the device. */
export function convolutionRows(
  workspace: Workspace,
  packed: PackedBatch,
  taps: number,
): Record<"before" | "after" | "users", Tensor> {
  const tables = convolutionTables(previousRows(packed), taps);
  const upload = (name: keyof typeof tables) => workspace.upload(`conv.${name}`, tables[name]);
  return { before: upload("before"), after: upload("after"), users: upload("users") };
}

/** The tables of a packed batch, and what needs them. */
interface PackedConvolution extends Record<"before" | "after" | "users", Tensor> {
  /** Stores the gated inputs where they are kept for later rows, and finds those before. */
  find(layer: number, bx: Tensor): RowsBefore;
  /** The convolution for some rows only, whose activations are `last`. */
  lastRows(
    all: LayerActivations,
    last: LayerActivations,
    rows: { index: Tensor; count: number },
  ): void;
}

/** Null when no layer has a convolution. */
export function packedConvolution(
  network: Layers,
  workspace: Workspace,
  packed: PackedBatch,
  store: StoreConvolved = (_, table, before) => ({ table, before }),
): PackedConvolution | null {
  const { device, config } = network;
  if (!hasPart(config, "convIn")) return null;
  const taps = config.convTaps!, d = config.hiddenSize;
  const tables = convolutionRows(workspace, packed, taps), { before } = tables;
  const find = (layer: number, bx: Tensor) => store(layer, bx, before);
  return {
    ...tables,
    find,
    lastRows(all, last, { index, count }) {
      gateInputs(network, all, packed.rows);
      const stored = find(all.layer, all.convBx!);
      const gather = (table: Tensor, out: Tensor, width: number) =>
        device.run("gather_rows", { table, index, out, rows: count, d: width });
      const rowsBefore = workspace.get("conv.last", count * (taps - 1), "u32");
      gather(stored.before, rowsBefore, taps - 1);
      gather(all.convBx!, last.convBx!, d);
      gather(all.convC!, last.convC!, d);
      mix(network, last, count, { table: stored.table, before: rowsBefore });
    },
  };
}

/** The row of the position before each row; NO_ROW for the first position of a text. */
function previousRows({ rows, rowSegment, segments }: PackedBatch): Uint32Array {
  return Uint32Array.from({ length: rows }, (_, row) => {
    const at = rowSegment[row]! * SEGMENT.columns;
    if (row > segments[at + SEGMENT.begin]!) return row - 1;
    const begin = segments[at + SEGMENT.prefixBegin]!, end = segments[at + SEGMENT.prefixEnd]!;
    return end > begin ? end - 1 : NO_ROW;
  });
}

/** dmixed → the derivatives by convB (in dmixed), convC (dgate) and convX (dconv). */
export function convolveBackward(
  { device, config, weights }: Layers,
  { layer, convB, convC, convX, convBx }: LayerActivations,
  { dmixed, dgate, dconv }: BackwardScratch,
  rows: number,
  { before, after, users }: PackedConvolution,
): void {
  const d = config.hiddenSize, n = rows * d, { value: weight, grad } = weights.layers[layer]!.conv!;
  device.run("short_conv_backward", {
    dout: dmixed,
    x: convBx!,
    before,
    after,
    users,
    weight,
    gate: convC!,
    dx: dconv,
    dgate,
    ...(grad === null ? {} : { dweight: grad }),
    rows,
    d,
    taps: config.convTaps!,
  });
  device.run("multiply", { a: dconv, b: convX!, out: dmixed, n });
  device.run("multiply", { a: dconv, b: convB!, out: dconv, n });
}
