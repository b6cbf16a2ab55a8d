// Products of few rows with a panel of widened weights, which bring the bytes that are widened next
// into the caches at the same time.
//
// Widening a slice reads all its cache lines at once. Then none is read as long as the tiles
// multiply. The hardware prefetchers follow only a steady stream of reads, so each slice would wait
// for memory. WebAssembly has no prefetch instruction. Instead the tiles read a byte of the next
// slice every sixteen terms, and the prefetchers stay ahead of these reads.

import * as tiles from "./tiles.as";

const TILE_ROWS = 6;
/** Number of terms between two reads: READ_AHEAD of generate.ts. */
const TERMS = 16;
/**
 * Max bytes between two reads: prefetchers follow neighbouring lines, and lose a stream with gaps.
 */
const LINE: usize = 64;

function tile_ahead(
  height: i32, s: usize, sStep: usize, v: usize, c: usize, cStep: usize, k: i32, alpha: f32,
  add: bool, at: usize, step: usize,
): i32 {
  if (add) {
    switch (height) {
      case 1: return tiles.tile_ahead_add_1(s, sStep, v, c, cStep, k, alpha, at, step);
      case 2: return tiles.tile_ahead_add_2(s, sStep, v, c, cStep, k, alpha, at, step);
      case 3: return tiles.tile_ahead_add_3(s, sStep, v, c, cStep, k, alpha, at, step);
      case 4: return tiles.tile_ahead_add_4(s, sStep, v, c, cStep, k, alpha, at, step);
      case 5: return tiles.tile_ahead_add_5(s, sStep, v, c, cStep, k, alpha, at, step);
      default: return tiles.tile_ahead_add_6(s, sStep, v, c, cStep, k, alpha, at, step);
    }
  }
  switch (height) {
    case 1: return tiles.tile_ahead_set_1(s, sStep, v, c, cStep, k, alpha, at, step);
    case 2: return tiles.tile_ahead_set_2(s, sStep, v, c, cStep, k, alpha, at, step);
    case 3: return tiles.tile_ahead_set_3(s, sStep, v, c, cStep, k, alpha, at, step);
    case 4: return tiles.tile_ahead_set_4(s, sStep, v, c, cStep, k, alpha, at, step);
    case 5: return tiles.tile_ahead_set_5(s, sStep, v, c, cStep, k, alpha, at, step);
    default: return tiles.tile_ahead_set_6(s, sStep, v, c, cStep, k, alpha, at, step);
  }
}

/**
 * out [rows, 16] = (with `accumulate` +=) alpha · a [rows, k] · panel [k, 16]. `kBlock` terms are
 * summed in order; k and kBlock are multiples of 16. Meanwhile `bytes` bytes from `ahead` on are
 * brought into the caches; `ahead` must be a valid address even if bytes is 0. The returned number
 * has no meaning: it keeps the compiler from removing the reads.
 */
export function multiply_panel(
  a: usize, aStep: usize, panel: usize, out: usize, outStep: usize, rows: i32, k: i32, kBlock: i32,
  alpha: f32, accumulate: bool, ahead: usize, bytes: usize,
): i32 {
  const count = (rows + TILE_ROWS - 1) / TILE_ROWS, low = rows / count, high = rows % count;
  const whole = bytes / ((count * (k / TERMS)) as usize), step = min(whole, LINE);
  // The rest of a tile's share is read behind the tile. With a single tile there is no need to,
  // because the bytes are widened right after.
  const share = count > 1 ? whole : step;
  let read = 0;
  for (let kk = 0; kk < k; kk += kBlock) {
    const depth = min(kBlock, k - kk), add = kk > 0 || accumulate;
    const v = panel + (kk as usize) * 64;
    let s = a + (kk as usize) * 4, c = out;
    for (let t = 0; t < count; t++) {
      const height = t < high ? low + 1 : low;
      read += tile_ahead(height, s, aStep, v, c, outStep, depth, alpha, add, ahead, step);
      const steps = (depth / TERMS) as usize, next = ahead + steps * share;
      for (let at = ahead + steps * step; at < next; at += LINE) read += load<u8>(at);
      ahead = next;
      s += (height as usize) * aStep;
      c += (height as usize) * outStep;
    }
  }
  return read;
}

/** Copies `rows` rows of 16 floats. */
export function copy_block(
  from: usize, fromStep: usize, to: usize, toStep: usize, rows: i32,
): void {
  for (; rows > 0; rows--, from += fromStep, to += toStep) {
    const a = v128.load(from), b = v128.load(from, 16);
    const c = v128.load(from, 32), d = v128.load(from, 48);
    v128.store(to, b, 16);
    v128.store(to, a);
    v128.store(to, d, 48);
    v128.store(to, c, 32);
  }
}
