// gather_rows of a stored weight (kernels/ops/rows/spec.ts). Work unit: one row. The other
// operations on rows are in C (kernels/native/c/rows.c).

import { widen_row } from "../../weights/rows.as";

/** gather_rows of a stored weight. Scratch: ROW_BYTES of kernels/weights/rows.as.ts. */
export function gather_stored_rows(
  type: i32,
  table: usize,
  index: usize,
  out: usize,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  for (let row = begin; row < end; row++) {
    const from = load<u32>(index + ((row as usize) << 2)) as i32;
    widen_row(type, table, d, from, out + (row as usize) * bytes, scratch);
  }
}
