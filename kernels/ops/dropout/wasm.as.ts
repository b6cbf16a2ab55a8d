// Inverted dropout (kernels/ops/dropout/spec.ts). Work unit: one row. It is done 16 columns at a
// time: the words of four Philox blocks.
import { philox_words } from "../common/philox.as";

export function dropout(
  x: usize,
  keys: usize,
  out: usize,
  d: i32,
  threshold: u32,
  scale: f32,
  site: u32,
  seedLow: u32,
  seedHigh: u32,
  accumulate: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2, whole = bytes & ~63;
  const s = f32x4.splat(scale), limit = i32x4.splat(threshold);
  for (let row = begin; row < end; row++) {
    const key = keys + (row as usize) * 12;
    const c1 = load<u32>(key), c2 = load<u32>(key, 4), c3 = load<u32>(key, 8);
    const from = x + (row as usize) * bytes, to = out + (row as usize) * bytes;
    let c0 = site << 18;
    let c: usize = 0;
    for (; c < whole; c += 64, c0 += 4) {
      philox_words(c0, c1, c2, c3, seedLow, seedHigh, scratch);
      for (let i: usize = 0; i < 64; i += 16) {
        const value = v128.and(
          f32x4.mul(v128.load(from + c + i), s),
          i32x4.ge_u(v128.load(scratch + i), limit),
        );
        v128.store(to + c + i, accumulate ? f32x4.add(v128.load(to + c + i), value) : value);
      }
    }
    if (c == bytes) continue;
    philox_words(c0, c1, c2, c3, seedLow, seedHigh, scratch);
    for (let word = scratch; c < bytes; c += 4, word += 4) {
      const value: f32 = load<u32>(word) >= threshold ? load<f32>(from + c) * scale : 0;
      store<f32>(to + c, accumulate ? load<f32>(to + c) + value : value);
    }
  }
}
