// Products with stored weights (kernels/weights/types.ts). One or two rows of x are multiplied with
// the codes directly. For more rows a thread widens some panels into its scratch and multiplies
// them with the register tiles. For dy·W the widened panels are also transposed.

import { widen_halves } from "../../../weights/halves.as";
import { dot_panel, widen_panel, WORK_BYTES } from "../../../weights/panel.as";
import { transpose4, transpose_to_panels } from "../../../weights/transpose.as";
import {
  BF16, block_weights, panel_bytes, Q4_0, Q4_1, Q4_K, record_bytes,
} from "../../../weights/types.as";
import { touch } from "../../../memory.as";
import { copy_block, multiply_panel } from "./ahead.as";
import { multiply_packed } from "./packed.as";

const LANES = 16;
const TILE_ROWS = 6;

/**
 * Prepares rows of x for dot_panel. For 4-bit codes element i is multiplied by 16^−(i mod 4), and
 * `sums` gets the sums of blocks of 32. For split codes, of every eight elements the even ones come
 * first. Unit: a row.
 */
export function matmul_stored_prepare(
  type: i32, x: usize, k: i32, to: usize, sums: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const row = (begin as usize) * (k as usize) * 4;
  let from = x + row;
  to += row;
  const last = x + (end as usize) * (k as usize) * 4;
  if (type == Q4_0 || type == Q4_1 || type == Q4_K) {
    sums += (begin as usize) * ((k / 32) as usize) * 4;
    const factors = f32x4(1, 0.0625, 0.00390625, 0.000244140625);
    for (; from < last; sums += 4) {
      let sum = f32x4.splat(0);
      for (let i = 0; i < 8; i++, from += 16, to += 16) {
        const values = v128.load(from);
        sum = f32x4.add(sum, values);
        v128.store(to, f32x4.mul(values, factors));
      }
      store<f32>(
        sums,
        (f32x4.extract_lane(sum, 0) + f32x4.extract_lane(sum, 1)) +
          (f32x4.extract_lane(sum, 2) + f32x4.extract_lane(sum, 3)),
      );
    }
  } else {
    for (; from < last; from += 32, to += 32) {
      const a = v128.load(from), b = v128.load(from, 16);
      v128.store(to, v128.shuffle<f32>(a, b, 0, 2, 4, 6));
      v128.store(to, v128.shuffle<f32>(a, b, 1, 3, 5, 7), 16);
    }
  }
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · x·Wᵀ for one or two rows of x; W [n, k]. x is
 * prepared by matmul_stored_prepare, except for q8_0 and int8. Unit: a panel. Scratch: 128 bytes
 * and WORK_BYTES of kernels/weights/panel.as.ts.
 */
export function matmul_stored_dot(
  type: i32, x: usize, sums: usize, w: usize, out: usize, m: i32, n: i32, k: i32, alpha: f32,
  accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const step = panel_bytes(type, k), outStep = (n as usize) * 4;
  for (let p = begin; p < end; p++) {
    dot_panel(type, w + (p as usize) * step, k, x, sums, m, scratch, scratch + 128);
    const count = min(LANES, n - p * LANES) as usize;
    for (let i: usize = 0; i < (m as usize); i++) {
      const from = scratch + i * 64;
      const to = out + i * outStep + (p as usize) * 64;
      for (let j: usize = 0; j < 4 * count; j += 4) {
        const value = alpha * load<f32>(from + j);
        store<f32>(to + j, accumulate ? load<f32>(to + j) + value : value);
      }
    }
  }
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · a [m, k] · Wᵀ; W [n, k]. Unit: `unitRows` rows of a ×
 * `unitPanels` panels of W; the panels vary fastest. `slice` terms (whole blocks) are widened at
 * once; `kBlock` and `blockTiles` are those of matmul_blocks.
 * Where r > 0, the product of an adapter is added: loraScale · xa [m, r] · b [n, r]ᵀ, `rBlock`
 * terms in order.
 * Scratch: WORK_BYTES, 64 bytes per row of a row block, 64 · max(slice, r) · unitPanels bytes.
 */
export function matmul_stored(
  type: i32, a: usize, w: usize, out: usize, m: i32, n: i32, k: i32, unitRows: i32,
  unitPanels: i32, slice: i32, kBlock: i32, blockTiles: i32, alpha: f32, accumulate: i32,
  xa: usize, loraB: usize, r: i32, rBlock: i32, loraScale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  const weights = block_weights(type), step = panel_bytes(type, k);
  const panels = (n + LANES - 1) / LANES, groups = (panels + unitPanels - 1) / unitPanels;
  const aStep = (k as usize) * 4, outStep = (n as usize) * 4;
  const edge = scratch + WORK_BYTES, packed = edge + (blockTiles * TILE_ROWS * 64) as usize;
  const last = w + (panels as usize) * step;
  for (let unit = begin; unit < end; unit++) {
    const row = (unit / groups) * unitRows, rows = min(unitRows, m - row);
    const first = (unit % groups) * unitPanels, count = min(unitPanels, panels - first);
    const columns = min(count * LANES, n - first * LANES);
    const tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const units = ((tiles + blockTiles - 1) / blockTiles) * count;
    const to = out + (row as usize) * outStep + (first as usize) * 64;
    // Few rows are summed in the scratch: rows of a wide result often map to the same few cache
    // sets.
    const few = units == 1 && columns == LANES && (k & 15) == 0;
    if (few && accumulate) copy_block(to, outStep, edge, 64, rows);
    if (type <= BF16) {
      // 16 rows of halves are widened slice by slice, in an order that no hardware prefetcher
      // follows.
      touch(w + (first as usize) * step, (columns as usize) * (k as usize) * 2, scratch);
    }
    let kk = 0;
    do {
      const depth = min(slice, k - kk);
      for (let p = 0; p < count; p++) {
        widen_panel(
          type, w + ((first + p) as usize) * step, n - (first + p) * LANES, k, kk / weights,
          depth / weights,
          packed + (p as usize) * (depth as usize) * 64, scratch,
        );
      }
      const from = a + (row as usize) * aStep + (kk as usize) * 4;
      const add = kk > 0 ? 1 : accumulate;
      if (few) {
        let next = packed, left: usize = 0;
        if (type > BF16) {
          const record = record_bytes(type), bytes = ((depth / weights) as usize) * record;
          const behind = w + (first as usize) * step + ((kk / weights) as usize) * record + bytes;
          left = min(bytes, last - behind);
          if (left > 0) next = behind;
        }
        const read = multiply_panel(
          from, aStep, packed, edge, 64, rows, depth, kBlock, alpha, add != 0, next, left,
        );
        store<i32>(scratch, read);
      } else {
        multiply_packed(
          from, aStep, packed, to, outStep, rows, columns, depth, kBlock, blockTiles, alpha, add,
          units, edge,
        );
      }
      kk += slice;
    } while (kk < k);
    if (r > 0) {
      const step = (r as usize) * 4, b = loraB + ((first * LANES) as usize) * step;
      transpose_to_panels(b, step, columns, r, packed, 0, count, scratch);
      multiply_packed(
        xa + (row as usize) * step, step, packed, few ? edge : to, few ? 64 : outStep, rows,
        columns, r, rBlock, blockTiles, loraScale, 1, units, edge,
      );
    }
    if (few) copy_block(edge, 64, to, outStep, rows);
  }
}

/**
 * Transposes widened weights [columns][16 rows] to `count` rows of panels of 16 columns, which are
 * `panelStep` bytes apart.
 */
function transpose_panel(
  from: usize, columns: i32, count: i32, to: usize, panelStep: usize,
): void {
  for (let c = 0; c < columns; c += 4, from += 256) {
    const at = to + ((c >> 4) as usize) * panelStep + ((c & 15) as usize) * 4;
    if (count == LANES) {
      for (let r: usize = 0; r < 16; r += 4) transpose4(from + r * 4, 64, at + r * 64);
    } else {
      for (let r: usize = 0; r < (count as usize); r++) {
        for (let i: usize = 0; i < 4; i++) {
          store<f32>(at + r * 64 + i * 4, load<f32>(from + i * 64 + r * 4));
        }
      }
    }
  }
}

/**
 * Widens halves to panels of 16 columns: `count` rows of `columns` columns, `stride` bytes apart.
 */
function widen_halves_columns(
  from: usize, stride: usize, count: i32, columns: i32, to: usize, bf16: i32,
): void {
  for (let c = 0; c < columns; c += LANES, from += 32) {
    const width = min(LANES, columns - c), end = to + (count as usize) * 64;
    if (width < LANES) memory.fill(to, 0, end - to);
    for (let row = from; to < end; row += stride, to += 64) widen_halves(row, to, width, bf16);
  }
}

/**
 * Widens `count` rows of W [*, width] from `row` (a multiple of 16) on to panels of 16 columns:
 * `columns` columns (whole blocks) from column `first` on. `work`: WORK_BYTES and 64 · columns
 * bytes.
 */
export function widen_columns(
  type: i32, w: usize, width: i32, row: i32, count: i32, first: i32, columns: i32, to: usize,
  work: usize,
): void {
  if (type <= BF16) {
    const stride = (width as usize) * 2;
    const from = w + (row as usize) * stride + (first as usize) * 2;
    widen_halves_columns(from, stride, count, columns, to, type == BF16 ? 1 : 0);
    return;
  }
  const weights = block_weights(type), step = panel_bytes(type, width);
  const panelStep = (count as usize) * 64;
  const wide = work + WORK_BYTES;
  for (let r = 0; r < count; r += LANES) {
    const panel = w + (((row + r) / LANES) as usize) * step;
    widen_panel(type, panel, LANES, width, first / weights, columns / weights, wide, work);
    transpose_panel(wide, columns, min(LANES, count - r), to + (r as usize) * 64, panelStep);
  }
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · a [m, k] · W; W [k, n]. Unit: `unitRows` rows of a ×
 * `unitColumns` columns (whole blocks); the columns vary fastest. `slice` terms, a multiple of 16,
 * are widened at once; `kBlock` and `blockTiles` are those of matmul_blocks.
 * Scratch: WORK_BYTES, 64 bytes per column of a unit, 64 bytes per row of a row block,
 * 4 · slice · unitColumns bytes.
 */
export function matmul_stored_rows(
  type: i32, a: usize, w: usize, out: usize, m: i32, n: i32, k: i32, unitRows: i32,
  unitColumns: i32, slice: i32, kBlock: i32, blockTiles: i32, alpha: f32, accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const groups = (n + unitColumns - 1) / unitColumns;
  const aStep = (k as usize) * 4, outStep = (n as usize) * 4;
  const edge = scratch + WORK_BYTES + (unitColumns as usize) * 64;
  const packed = edge + (blockTiles * TILE_ROWS * 64) as usize;
  for (let unit = begin; unit < end; unit++) {
    const row = (unit / groups) * unitRows, rows = min(unitRows, m - row);
    const first = (unit % groups) * unitColumns, columns = min(unitColumns, n - first);
    const tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const units = ((tiles + blockTiles - 1) / blockTiles) * ((columns + LANES - 1) / LANES);
    const to = out + (row as usize) * outStep + (first as usize) * 4;
    let kk = 0;
    do {
      const depth = min(slice, k - kk);
      widen_columns(type, w, n, kk, depth, first, columns, packed, scratch);
      multiply_packed(
        a + (row as usize) * aStep + (kk as usize) * 4, aStep, packed, to, outStep, rows, columns,
        depth, kBlock, blockTiles, alpha, kk > 0 ? 1 : accumulate, units, edge,
      );
      kk += slice;
    } while (kk < k);
  }
}

/** Widens `rows` rows of W [*, k] to panels [k][16]. Unit: a panel. Scratch: WORK_BYTES. */
export function stored_panels(
  type: i32, w: usize, rows: i32, k: i32, to: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const step = panel_bytes(type, k), size = (k as usize) * 64;
  for (let p = begin; p < end; p++) {
    const at = to + (p as usize) * size, panel = w + (p as usize) * step;
    widen_panel(
      type, panel, rows - p * LANES, k, 0, k / block_weights(type), at, scratch,
    );
  }
}

/**
 * Widens `rows` rows of W [*, width] to panels [rows][16] of columns. Unit: `unitColumns` columns
 * (whole blocks and panels). Scratch: WORK_BYTES and 64 bytes per column of a unit.
 */
export function stored_columns(
  type: i32, w: usize, width: i32, rows: i32, unitColumns: i32, to: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let unit = begin; unit < end; unit++) {
    const first = unit * unitColumns, columns = min(unitColumns, width - first);
    const at = to + ((first / LANES) as usize) * (rows as usize) * 64;
    widen_columns(type, w, width, 0, rows, first, columns, at, scratch);
  }
}
