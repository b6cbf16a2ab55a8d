// Blocked matrix product from register tiles:
// out[rows, columns] = (with `accumulate` +=) alpha · S · V.
//
// The elements of S [rows, k] are broadcast to all lanes of a vector; S is read in place or packed.
// V [k, columns] fills the lanes. It is read in panels of 16 columns, either packed (pack.as.ts) or
// in place from a row-major matrix. For x·Wᵀ the operands may be swapped (S = W, V = xᵀ): the
// result is then the transpose of `out`, and each finished block is transposed through the thread's
// scratch.
//
// Blocking: a slice of a panel (kBlock · 64 bytes) stays in the first-level cache while the tiles
// of a row block use it. The row block of S stays in the second-level cache while panel after panel
// is done.

import * as tiles from "./tiles.as";

const LANES = 16;
const TILE_ROWS = 6;
/** Bytes between rows of a block in scratch. */
const BLOCK_STEP: usize = 64;

export function tile_rows(
  height: i32, s: usize, sStep: usize, v: usize, vStep: usize, c: usize, cStep: usize, k: i32,
  alpha: f32, add: bool,
): void {
  if (add) {
    switch (height) {
      case 1: tiles.tile_rows_add_1(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 2: tiles.tile_rows_add_2(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 3: tiles.tile_rows_add_3(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 4: tiles.tile_rows_add_4(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 5: tiles.tile_rows_add_5(s, sStep, v, vStep, c, cStep, k, alpha); break;
      default: tiles.tile_rows_add_6(s, sStep, v, vStep, c, cStep, k, alpha);
    }
  } else {
    switch (height) {
      case 1: tiles.tile_rows_set_1(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 2: tiles.tile_rows_set_2(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 3: tiles.tile_rows_set_3(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 4: tiles.tile_rows_set_4(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 5: tiles.tile_rows_set_5(s, sStep, v, vStep, c, cStep, k, alpha); break;
      default: tiles.tile_rows_set_6(s, sStep, v, vStep, c, cStep, k, alpha);
    }
  }
}

function tile_columns(
  height: i32, s: usize, sStep: usize, v: usize, vStep: usize, c: usize, cStep: usize, k: i32,
  alpha: f32, add: bool,
): void {
  if (add) {
    switch (height) {
      case 1: tiles.tile_columns_add_1(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 2: tiles.tile_columns_add_2(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 3: tiles.tile_columns_add_3(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 4: tiles.tile_columns_add_4(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 5: tiles.tile_columns_add_5(s, sStep, v, vStep, c, cStep, k, alpha); break;
      default: tiles.tile_columns_add_6(s, sStep, v, vStep, c, cStep, k, alpha);
    }
  } else {
    switch (height) {
      case 1: tiles.tile_columns_set_1(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 2: tiles.tile_columns_set_2(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 3: tiles.tile_columns_set_3(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 4: tiles.tile_columns_set_4(s, sStep, v, vStep, c, cStep, k, alpha); break;
      case 5: tiles.tile_columns_set_5(s, sStep, v, vStep, c, cStep, k, alpha); break;
      default: tiles.tile_columns_set_6(s, sStep, v, vStep, c, cStep, k, alpha);
    }
  }
}

/** Copies the first `columns` of each row. */
function copy_columns(
  from: usize, fromStep: usize, to: usize, toStep: usize, rows: i32, columns: i32,
): void {
  const bytes = (columns as usize) * 4;
  for (; rows > 0; rows--, from += fromStep, to += toStep) {
    for (let j: usize = 0; j < bytes; j += 4) store<f32>(to + j, load<f32>(from + j));
  }
}

// @ts-ignore: decorator of AssemblyScript
@inline
function put(at: usize, value: v128, add: bool): void {
  v128.store(at, add ? f32x4.add(v128.load(at), value) : value);
}

/** Stores (or adds) the transpose of a block: out[columns, rows]. */
function store_block_transposed(
  block: usize, rows: i32, columns: i32, out: usize, outStep: usize, add: bool,
): void {
  const wholeRows = rows & ~3;
  const wholeColumns = columns & ~3;
  for (let j = 0; j < wholeColumns; j += 4) {
    let from = block + (j as usize) * 4;
    let to = out + (j as usize) * outStep;
    for (let i = 0; i < wholeRows; i += 4) {
      const a = v128.load(from);
      const b = v128.load(from, 64);
      const c = v128.load(from, 128);
      const d = v128.load(from, 192);
      const ab0 = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
      const ab1 = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
      const cd0 = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
      const cd1 = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
      put(to, v128.shuffle<f32>(ab0, cd0, 0, 1, 4, 5), add);
      put(to + outStep, v128.shuffle<f32>(ab0, cd0, 2, 3, 6, 7), add);
      put(to + 2 * outStep, v128.shuffle<f32>(ab1, cd1, 0, 1, 4, 5), add);
      put(to + 3 * outStep, v128.shuffle<f32>(ab1, cd1, 2, 3, 6, 7), add);
      from += 4 * BLOCK_STEP;
      to += 16;
    }
  }
  for (let j = 0; j < columns; j++) {
    const to = out + (j as usize) * outStep;
    for (let i = j < wholeColumns ? wholeRows : 0; i < rows; i++) {
      const value = load<f32>(block + (i as usize) * BLOCK_STEP + (j as usize) * 4);
      const at = to + (i as usize) * 4;
      store<f32>(at, add ? load<f32>(at) + value : value);
    }
  }
}

/** Layouts of S: row-major, transposed, or (2) packed by matmul_pack_tiles. */
const S_ROWS = 0;
const S_COLUMNS = 1;

/**
 * Unit: a row block × a panel; the panel varies fastest. A row block has `blockTiles` tiles. The
 * heights of tiles differ by at most one, so that none is much lower than the best height. `kBlock`
 * is the number of terms that are summed in order before they are added to the output.
 * `sStep`, `vDirectStep` and `outStep` are bytes between rows. The first `directPanels` panels of V
 * are read in place at `vDirect`, the others packed at `vPacked`. `swapped`: out [columns, rows].
 * Scratch: 64 bytes per row of a block.
 */
export function matmul_blocks(
  s: usize, sStep: usize, sLayout: i32,
  vDirect: usize, vDirectStep: usize, directPanels: i32, vPacked: usize,
  out: usize, outStep: usize,
  rows: i32, columns: i32, k: i32, kBlock: i32, blockTiles: i32,
  alpha: f32, accumulate: i32, swapped: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const panels = (columns + LANES - 1) / LANES;
  const tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
  const low = rows / tiles;
  const high = rows % tiles;
  for (let unit = begin; unit < end; unit++) {
    const p = unit % panels;
    const firstTile = (unit / panels) * blockTiles;
    const lastTile = min(tiles, firstTile + blockTiles);
    const firstRow = firstTile * low + min(firstTile, high);
    const endRow = lastTile * low + min(lastTile, high);
    const width = min(LANES, columns - p * LANES);
    const part = swapped == 0 && width < LANES, through = swapped != 0 || part;
    const to = out + (firstRow as usize) * outStep + (p as usize) * 64;
    const block = through ? scratch : to;
    const blockStep = through ? BLOCK_STEP : outStep;
    const direct = p < directPanels;
    const v = direct
      ? vDirect + (p as usize) * 64
      : vPacked + ((p - directPanels) as usize) * (k as usize) * 64;
    const vStep: usize = direct ? vDirectStep : 64;
    // The blocks of k are added to the old values one after the other, as in whole panels.
    if (part && accumulate != 0) {
      copy_columns(to, outStep, scratch, BLOCK_STEP, endRow - firstRow, width);
    }
    let kk = 0;
    do {
      const depth = min(kBlock, k - kk);
      const add = kk > 0 || (swapped == 0 && accumulate != 0);
      const vFrom = v + (kk as usize) * vStep;
      let c = block;
      let row = firstRow;
      for (let t = firstTile; t < lastTile; t++) {
        const height = t < high ? low + 1 : low;
        if (sLayout == S_ROWS) {
          const from = s + (row as usize) * sStep + (kk as usize) * 4;
          tile_rows(height, from, sStep, vFrom, vStep, c, blockStep, depth, alpha, add);
        } else if (sLayout == S_COLUMNS) {
          const from = s + (kk as usize) * sStep + (row as usize) * 4;
          tile_columns(height, from, sStep, vFrom, vStep, c, blockStep, depth, alpha, add);
        } else {
          const step = (height as usize) * 4;
          const from = s + (row as usize) * (k as usize) * 4 + (kk as usize) * step;
          tile_columns(height, from, step, vFrom, vStep, c, blockStep, depth, alpha, add);
        }
        row += height;
        c += (height as usize) * blockStep;
      }
      kk += kBlock;
    } while (kk < k);
    if (part) {
      copy_columns(scratch, BLOCK_STEP, to, outStep, endRow - firstRow, width);
    } else if (swapped) {
      const across = out + (p as usize) * LANES * outStep + (firstRow as usize) * 4;
      store_block_transposed(scratch, endRow - firstRow, width, across, outStep, accumulate != 0);
    }
  }
}
