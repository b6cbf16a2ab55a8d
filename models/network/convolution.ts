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
import type { LayerActivations, PackedMixer } from "./layer_buffers.ts";
import type { PackedBatch } from "./packing.ts";
import type { Network } from "./weights/model_weights.ts";
import type { Workspace } from "./workspace.ts";

/** Where the rows before each row of a layer's gated inputs are. */
type RowsBefore = Pick<ShortConvArgs, "table" | "before">;

/** Stores a layer's gated inputs, and finds the rows before each; `before` has the batch's. */
export type StoreConvolved = (layer: number, bx: Tensor, before: Tensor) => RowsBefore;

/** convB, convX → convBx. */
export function gateInputs(
  { device, config }: Network,
  { convB, convX, convBx }: LayerActivations,
  rows: number,
): void {
  device.run("multiply", { a: convB!, b: convX!, out: convBx!, n: rows * config.hiddenSize });
}

/** convC, convBx → mixed. */
export function convolve(
  { device, config }: Network,
  { weights, convC, convBx, mixed }: LayerActivations,
  rows: number,
  rowsBefore: RowsBefore,
): void {
  device.run("short_conv", {
    x: convBx!,
    ...rowsBefore,
    weight: weights.conv!.value,
    gate: convC!,
    out: mixed!,
    rows,
    d: config.hiddenSize,
    taps: config.convTaps!,
  });
}

/**
 * Where the rows before each row of a packed batch are, and the reverse, on the device.
 * @param more the row before others, among them rows that follow those of the batch
 */
export function convolutionRows(
  workspace: Workspace,
  packed: PackedBatch,
  taps: number,
  more: ReadonlyMap<number, number> = new Map(),
): Record<"before" | "after" | "users", Tensor> {
  const own = previousRows(packed), last = Math.max(packed.rows - 1, ...more.keys());
  const previous = Uint32Array.from({ length: last + 1 }, (_, row) => more.get(row) ?? own[row]!);
  const tables = convolutionTables(previous, taps);
  const upload = (name: keyof typeof tables) => workspace.upload(`conv.${name}`, tables[name]);
  return { before: upload("before"), after: upload("after"), users: upload("users") };
}

/** The convolutions of a packed batch; null when no layer has one. */
export function packedConvolution(
  network: Network,
  workspace: Workspace,
  packed: PackedBatch,
  store: StoreConvolved = (_, table, before) => ({ table, before }),
): PackedMixer | null {
  const { device, config } = network, { rows } = packed;
  if (!hasPart(config, "convIn")) return null;
  const taps = config.convTaps!, d = config.hiddenSize, n = rows * d;
  const tables = convolutionRows(workspace, packed, taps);
  const stored = (activations: LayerActivations) => {
    gateInputs(network, activations, rows);
    return store(activations.layer, activations.convBx!, tables.before);
  };
  return {
    forward(activations) {
      convolve(network, activations, rows, stored(activations));
    },
    /** dmixed → the derivatives by convB (in dmixed), convC (dgate) and convX (dconv). */
    backward({ weights, convB, convC, convX, convBx }, { dmixed, dgate, dconv }) {
      const { value: weight, grad } = weights.conv!;
      device.run("short_conv_backward", {
        dout: dmixed,
        x: convBx!,
        ...tables,
        weight,
        gate: convC!,
        dx: dconv,
        dgate,
        ...(grad === null ? {} : { dweight: grad }),
        rows,
        d,
        taps,
      });
      device.run("multiply", { a: dconv, b: convX!, out: dmixed, n });
      device.run("multiply", { a: dconv, b: convB!, out: dconv, n });
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
