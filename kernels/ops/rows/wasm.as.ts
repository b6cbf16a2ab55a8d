// Operations that move whole rows (kernels/ops/rows/spec.ts). Work unit of gather and scatter: one
// row. Work unit of scatter_add_rows: one run of rows × a slice of SLICE columns, so that several
// threads share a long run.

import { widen_row } from "../../weights/rows.as";

const SLICE: i32 = 64;

function copy_row(from: usize, to: usize, bytes: usize): void {
  let c: usize = 0;
  for (; c + 32 <= bytes; c += 32) {
    const x0 = v128.load(from + c), x1 = v128.load(from + c, 16);
    v128.store(to + c, x0);
    v128.store(to + c, x1, 16);
  }
  for (; c < bytes; c += 4) store<u32>(to + c, load<u32>(from + c));
}

export function gather_rows(
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
    const from = load<u32>(index + ((row as usize) << 2)) as usize;
    copy_row(table + from * bytes, out + (row as usize) * bytes, bytes);
  }
}

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

export function scatter_rows(
  source: usize,
  index: usize,
  table: usize,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  for (let row = begin; row < end; row++) {
    const to = load<u32>(index + ((row as usize) << 2)) as usize;
    copy_row(source + (row as usize) * bytes, table + to * bytes, bytes);
  }
}

/** Units: runs · ⌈d / SLICE⌉; the slice varies fastest. */
export function scatter_add_rows(
  source: usize,
  order: usize,
  runs: usize,
  target: usize,
  table: usize,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  const slices = (d + SLICE - 1) / SLICE;
  for (let unit = begin; unit < end; unit++) {
    const run = ((unit / slices) as usize) << 2;
    const slice = (unit % slices) * SLICE;
    const first = order + (load<u32>(runs + run) << 2);
    const last = order + (load<u32>(runs + run, 4) << 2);
    const offset = (slice as usize) << 2;
    const to = table + (load<u32>(target + run) as usize) * bytes + offset;
    add_run(source + offset, bytes, first, last, to, min(d - slice, SLICE));
  }
}

/** to[c] += Σ source rows of the run at c, for c < columns. */
function add_run(
  source: usize,
  bytes: usize,
  first: usize,
  last: usize,
  to: usize,
  columns: i32,
): void {
  for (; columns >= 16; columns -= 16, to += 64, source += 64) {
    let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0;
    for (let i = first; i < last; i += 4) {
      const row = source + (load<u32>(i) as usize) * bytes;
      s0 = f32x4.add(s0, v128.load(row));
      s1 = f32x4.add(s1, v128.load(row, 16));
      s2 = f32x4.add(s2, v128.load(row, 32));
      s3 = f32x4.add(s3, v128.load(row, 48));
    }
    v128.store(to, f32x4.add(v128.load(to), s0));
    v128.store(to, f32x4.add(v128.load(to, 16), s1), 16);
    v128.store(to, f32x4.add(v128.load(to, 32), s2), 32);
    v128.store(to, f32x4.add(v128.load(to, 48), s3), 48);
  }
  for (; columns > 0; columns--, to += 4, source += 4) {
    let sum: f32 = 0;
    for (let i = first; i < last; i += 4) {
      sum += load<f32>(source + (load<u32>(i) as usize) * bytes);
    }
    store<f32>(to, load<f32>(to) + sum);
  }
}
