// A panel of weights that were widened, times few rows, while the bytes that will be widened next are on their way.
//
// Widening a slice asks for all its lines at once, and then none for as long as the tiles run over it: the processor's
// prefetchers, which would foresee a steady stream, let it wait for memory. WebAssembly has no instruction that only
// prefetches; so the tiles read a byte of the next slice every sixteen steps, and the prefetchers keep ahead of them.

import * as tiles from "./tiles.as";

const TILE_ROWS = 6;
/** READ_AHEAD of generate.ts. */
const STEPS = 16;
/** Bytes between two reads at most: prefetchers follow lines side by side, and lose a stream that leaves some out. */
const LINE: usize = 64;

function tile_ahead(
  height: i32, s: usize, sStep: usize, v: usize, c: usize, cStep: usize, k: i32, alpha: f32, add: bool,
  at: usize, step: usize,
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
 * out [rows, 16] = (or +=) alpha · a [rows, k] · panel [k, 16], `kBlock` steps summed one after the other; both multiples
 * of 16. Meanwhile `bytes` bytes from `ahead` on are brought to the caches; `ahead` is an address also when there are
 * none. Returns a number that means nothing, but that the compiler must not leave the reads out for.
 */
export function multiply_panel(
  a: usize, aStep: usize, panel: usize, out: usize, outStep: usize, rows: i32, k: i32, kBlock: i32,
  alpha: f32, accumulate: bool, ahead: usize, bytes: usize,
): i32 {
  const count = (rows + TILE_ROWS - 1) / TILE_ROWS, low = rows / count, high = rows % count;
  const whole = bytes / ((count * (k / STEPS)) as usize), step = min(whole, LINE);
  // What a tile's reads leave of its share follows behind it; of a single tile widening itself would come right after.
  const share = count > 1 ? whole : step;
  let read = 0;
  for (let kk = 0; kk < k; kk += kBlock) {
    const depth = min(kBlock, k - kk), add = kk > 0 || accumulate;
    const v = panel + (kk as usize) * 64;
    let s = a + (kk as usize) * 4, c = out;
    for (let t = 0; t < count; t++) {
      const height = t < high ? low + 1 : low;
      read += tile_ahead(height, s, aStep, v, c, outStep, depth, alpha, add, ahead, step);
      const steps = (depth / STEPS) as usize, next = ahead + steps * share;
      for (let at = ahead + steps * step; at < next; at += LINE) read += load<u8>(at);
      ahead = next;
      s += (height as usize) * aStep;
      c += (height as usize) * outStep;
    }
  }
  return read;
}

/** Copies `rows` rows of 16 numbers. */
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
