/** Reference of gathering and scattering rows. */
import { narrowBF16 } from "../../../core/half_floats.ts";
import { halves } from "../bf16_weights/reference.ts";
import { floats, words } from "../common/reference_tensor.ts";
import { storedRows, widenRow } from "../../weights/layout.ts";
import type { WeightType } from "../../weights/types.ts";
import type { GatherRowsArgs, ScatterAddRowsArgs, ScatterRowsArgs } from "./spec.ts";

export function gatherRows(args: GatherRowsArgs): void {
  const { rows, d } = args;
  const index = words(args.index);
  if (args.weightType !== undefined) return gatherStored(args, args.weightType);
  const [table, out] = args.table.dtype === "u32"
    ? [words(args.table), words(args.out)]
    : [floats(args.table), floats(args.out)];
  for (let r = 0; r < rows; r++) {
    const from = rowAt("gather_rows", args.table.label, table, index[r]!, d);
    for (let j = 0; j < d; j++) out[r * d + j] = table[from + j]!;
  }
}

function gatherStored({ table, index, out, rows, d }: GatherRowsArgs, type: WeightType): void {
  const stored = words(table), wanted = words(index), to = floats(out);
  const row = new Float32Array(d), tableRows = storedRows(type, d, stored.length);
  for (let r = 0; r < rows; r++) {
    checkRow("gather_rows", table.label, wanted[r]!, tableRows);
    widenRow(type, d, stored, wanted[r]!, row, 0);
    to.set(row, r * d);
  }
}

export function scatterRows(args: ScatterRowsArgs): void {
  const { rows, d } = args;
  const index = words(args.index), [src, table] = scattered(args);
  for (let r = 0; r < rows; r++) {
    const to = rowAt("scatter_rows", args.table.label, table, index[r]!, d);
    for (let j = 0; j < d; j++) table[to + j] = src[r * d + j]!;
  }
}

/** The elements of `src` and of the table, in one type. */
function scattered({ src, table, rows, d, bf16 }: ScatterRowsArgs) {
  if (src.dtype === "u32") return [words(src), words(table)] as const;
  if (!bf16) return [floats(src), floats(table)] as const;
  const to = words(table);
  return [narrowBF16(floats(src).subarray(0, rows * d)), halves(to, 2 * to.length)] as const;
}

export function scatterAddRows(args: ScatterAddRowsArgs): void {
  const { runCount, d } = args;
  const src = floats(args.src), order = words(args.order), runs = words(args.runs);
  const target = words(args.target), table = floats(args.table);
  const sum = new Float64Array(d);
  for (let u = 0; u < runCount; u++) {
    const to = rowAt("scatter_add_rows", args.table.label, table, target[u]!, d);
    sum.fill(0);
    for (let i = runs[u]!; i < runs[u + 1]!; i++) {
      const from = rowAt("scatter_add_rows", args.src.label, src, order[i]!, d);
      for (let j = 0; j < d; j++) sum[j] = sum[j]! + src[from + j]!;
    }
    for (let j = 0; j < d; j++) table[to + j] = table[to + j]! + sum[j]!;
  }
}

/** Index of a row's first element. Only this device checks the row; on others the caller must. */
function rowAt(
  op: string,
  label: string,
  table: { length: number },
  row: number,
  d: number,
): number {
  checkRow(op, label, row, Math.floor(table.length / d));
  return row * d;
}

function checkRow(op: string, label: string, row: number, rows: number): void {
  if (row < rows) return;
  throw new RangeError(`${op}: row ${row} of "${label}", which has ${rows} rows`);
}
