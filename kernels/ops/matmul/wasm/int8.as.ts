// Products of 4-bit weights with rows of x that are rounded to bytes
// (kernels/ops/matmul/int8_rows.ts). The sum of a block is exact, and blocks are added in order. So
// the bits of a row do not depend on the other rows.

import { scales_q4_k } from "../../../weights/scales.as";
import { panel_bytes, Q4_1, Q4_K, record_bytes } from "../../../weights/types.as";
import * as tiles from "./int8_tiles.as";

const LANES = 16;
const TILE_ROWS = 5;
const BLOCK = 32;

/**
 * A record of q4_k has this number of blocks of 32, bytes of codes, and bytes of scales (as
 * floats).
 */
const PARTS = 8;
const CODES_BYTES: usize = 2048;
const SCALES_BYTES: usize = 1024;

/** Expands the scales of a panel of q4_k to floats. */
function panel_scales(panel: usize, blocks: i32, to: usize): void {
  for (; blocks > 0; blocks -= PARTS, panel += record_bytes(Q4_K), to += SCALES_BYTES) {
    scales_q4_k(panel + CODES_BYTES, to);
  }
}

function tile_q4_k(
  rows: i32, panel: usize, weightScales: usize, x: usize, xStep: usize, scales: usize,
  scaleStep: usize, totals: usize, blocks: i32,
): void {
  for (; blocks > 0; blocks -= PARTS) {
    switch (rows) {
      case 1:
        tiles.int8_tile_q4_k_1(
          panel, weightScales, x, xStep, scales, scaleStep, totals, PARTS,
        );
        break;
      case 2:
        tiles.int8_tile_q4_k_2(
          panel, weightScales, x, xStep, scales, scaleStep, totals, PARTS,
        );
        break;
      case 3:
        tiles.int8_tile_q4_k_3(
          panel, weightScales, x, xStep, scales, scaleStep, totals, PARTS,
        );
        break;
      case 4:
        tiles.int8_tile_q4_k_4(
          panel, weightScales, x, xStep, scales, scaleStep, totals, PARTS,
        );
        break;
      default:
        tiles.int8_tile_q4_k_5(
          panel, weightScales, x, xStep, scales, scaleStep, totals, PARTS,
        );
    }
    panel += record_bytes(Q4_K);
    weightScales += SCALES_BYTES;
    x += 256;
    scales += 64;
  }
}

function tile(
  type: i32, rows: i32, panel: usize, x: usize, xStep: usize, scales: usize, scaleStep: usize,
  totals: usize, blocks: i32,
): void {
  if (type == Q4_1) {
    switch (rows) {
      case 1: tiles.int8_tile_q4_1_1(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      case 2: tiles.int8_tile_q4_1_2(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      case 3: tiles.int8_tile_q4_1_3(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      case 4: tiles.int8_tile_q4_1_4(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      default: tiles.int8_tile_q4_1_5(panel, x, xStep, scales, scaleStep, totals, blocks);
    }
  } else {
    switch (rows) {
      case 1: tiles.int8_tile_q4_0_1(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      case 2: tiles.int8_tile_q4_0_2(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      case 3: tiles.int8_tile_q4_0_3(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      case 4: tiles.int8_tile_q4_0_4(panel, x, xStep, scales, scaleStep, totals, blocks); break;
      default: tiles.int8_tile_q4_0_5(panel, x, xStep, scales, scaleStep, totals, blocks);
    }
  }
}

/** out = (with `add` +=) alpha · `rows` rows of totals [16], of which the first `columns` exist. */
function put(
  totals: usize, rows: i32, columns: i32, out: usize, outStep: usize, alpha: f32, add: bool,
): void {
  const factor = f32x4.splat(alpha);
  for (let r = 0; r < rows; r++, totals += 64, out += outStep) {
    if (columns == LANES) {
      for (let j: usize = 0; j < 64; j += 16) {
        const value = f32x4.mul(factor, v128.load(totals + j));
        v128.store(out + j, add ? f32x4.add(v128.load(out + j), value) : value);
      }
    } else {
      for (let j: usize = 0; j < (columns as usize) * 4; j += 4) {
        const value = alpha * load<f32>(totals + j);
        store<f32>(out + j, add ? load<f32>(out + j) + value : value);
      }
    }
  }
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · x·Wᵀ; x [m, k] prepared by matmul_int8_prepare, W [n,
 * k]. Unit: `unitRows` rows of x × a panel; the panels vary fastest. Scratch: 64 bytes per row of a
 * tile; for q4_k also 128 bytes per block of k.
 */
export function matmul_int8(
  type: i32, bytes: usize, scales: usize, w: usize, out: usize, m: i32, n: i32, k: i32,
  unitRows: i32, alpha: f32, accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const panels = (n + LANES - 1) / LANES, blocks = k / BLOCK, step = panel_bytes(type, k);
  const xStep = k as usize, scaleStep = (blocks as usize) * 8, outStep = (n as usize) * 4;
  for (let unit = begin; unit < end; unit++) {
    const p = unit % panels;
    const panel = w + (p as usize) * step, weightScales = scratch + TILE_ROWS * 64;
    if (type == Q4_K) panel_scales(panel, blocks, weightScales);
    const first = (unit / panels) * unitRows, count = min(unitRows, m - first);
    // The heights of tiles differ by at most one.
    const tileCount = (count + TILE_ROWS - 1) / TILE_ROWS;
    const low = count / tileCount, high = count % tileCount;
    let row = first;
    for (let t = 0; t < tileCount; t++) {
      const rows = t < high ? low + 1 : low;
      memory.fill(scratch, 0, rows * 64);
      const x = bytes + (row as usize) * xStep, s = scales + (row as usize) * scaleStep;
      if (type == Q4_K) {
        tile_q4_k(rows, panel, weightScales, x, xStep, s, scaleStep, scratch, blocks);
      } else {
        tile(type, rows, panel, x, xStep, s, scaleStep, scratch, blocks);
      }
      const to = out + (row as usize) * outStep + (p as usize) * 64;
      put(scratch, rows, min(LANES, n - p * LANES), to, outStep, alpha, accumulate != 0);
      row += rows;
    }
  }
}
