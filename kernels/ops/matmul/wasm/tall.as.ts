// aᵀ·b of two tall matrices, as for gradients of weights: many rows and a small result. A chunk of
// rows is packed, and multiplied while it is in the private cache of a core; that gives a partial
// result. The partial results are added in the order of the chunks. The chunks depend only on the
// shape.

import { matmul_pack, matmul_pack_tiles } from "./pack.as";
import { matmul_blocks } from "./blocks.as";

const LANES = 16;
const TILE_ROWS = 6;

/**
 * partial[chunk] = a[rows of the chunk]ᵀ · b[rows of the chunk]; a [k, m], b [k, n],
 * partial [chunks, m, n]. Unit: a chunk of `depth` rows.
 * Scratch: depth · (m + n rounded up to 16) floats, and 64 bytes for each row of a block of
 * `blockTiles` tiles.
 */
export function matmul_tall(
  a: usize, b: usize, partial: usize, m: i32, n: i32, k: i32, depth: i32, kBlock: i32,
  blockTiles: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const aStep = (m as usize) * 4, bStep = (n as usize) * 4;
  const panels = (n + LANES - 1) / LANES;
  const tiles = (m + TILE_ROWS - 1) / TILE_ROWS;
  const units = ((tiles + blockTiles - 1) / blockTiles) * panels;
  const packedB = scratch + (depth as usize) * aStep;
  const edge = packedB + (depth as usize) * (panels as usize) * 64;
  for (let chunk = begin; chunk < end; chunk++) {
    const row = chunk * depth;
    const rows = min(depth, k - row);
    matmul_pack_tiles(
      a + (row as usize) * aStep, aStep, m / tiles, m % tiles, rows, scratch, 0, tiles, 0,
    );
    matmul_pack(b + (row as usize) * bStep, bStep, n, rows, 0, packedB, 0, panels, 0);
    matmul_blocks(
      scratch, 0, 2, 0, 0, 0, packedB, partial + (chunk as usize) * (m as usize) * bStep, bStep,
      m, n, rows, kBlock, blockTiles, 1, 0, 0, 0, units, edge,
    );
  }
}

/**
 * out = (with `accumulate` +=) alpha · Σ_chunks partial, summed in their order, of `size` elements
 * each. Unit: 64 elements.
 */
export function matmul_sum_partial(
  partial: usize, chunks: i32, size: i32, out: usize, alpha: f32, accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const step = (size as usize) * 4;
  const scale = f32x4.splat(alpha);
  let at = (begin as usize) * 256;
  const last = min((end as usize) * 256, step);
  for (; at + 32 <= last; at += 32) {
    let from = partial + at;
    let s0 = v128.load(from), s1 = v128.load(from, 16);
    for (let c = 1; c < chunks; c++) {
      from += step;
      s0 = f32x4.add(s0, v128.load(from));
      s1 = f32x4.add(s1, v128.load(from, 16));
    }
    s0 = f32x4.mul(scale, s0);
    s1 = f32x4.mul(scale, s1);
    if (accumulate) {
      s0 = f32x4.add(v128.load(out + at), s0);
      s1 = f32x4.add(v128.load(out + at, 16), s1);
    }
    v128.store(out + at, s0);
    v128.store(out + at, s1, 16);
  }
  for (; at < last; at += 4) {
    let from = partial + at;
    let sum = load<f32>(from);
    for (let c = 1; c < chunks; c++) sum += load<f32>(from += step);
    sum *= alpha;
    store<f32>(out + at, accumulate ? load<f32>(out + at) + sum : sum);
  }
}
