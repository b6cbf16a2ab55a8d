// Inverted dropout (kernels/ops/dropout/spec.ts). Work unit: one row. It is done 16 columns at a
// time: four Philox blocks, one in each lane, whose words are then put into the order of the
// columns.

/** The two multipliers of Philox, and the numbers of four blocks. In memory: see math.as.ts. */
const PHILOX = memory.data<u32>([0xd2511f53, 0xcd9e8d57, 0, 1, 2, 3], 64);

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
  const s = f32x4.splat(scale);
  for (let row = begin; row < end; row++) {
    const key = keys + (row as usize) * 12;
    const c1 = load<u32>(key), c2 = load<u32>(key, 4), c3 = load<u32>(key, 8);
    const from = x + (row as usize) * bytes, to = out + (row as usize) * bytes;
    let c0 = site << 18;
    let c: usize = 0;
    for (; c < whole; c += 64, c0 += 4) {
      dropout_masks(c0, c1, c2, c3, seedLow, seedHigh, threshold, scratch);
      for (let i: usize = 0; i < 64; i += 16) {
        const value = v128.and(
          f32x4.mul(v128.load(from + c + i), s),
          v128.load(scratch + i),
        );
        v128.store(to + c + i, accumulate ? f32x4.add(v128.load(to + c + i), value) : value);
      }
    }
    if (c == bytes) continue;
    dropout_masks(c0, c1, c2, c3, seedLow, seedHigh, threshold, scratch);
    for (let mask = scratch; c < bytes; c += 4, mask += 4) {
      const value: f32 = load<u32>(mask) ? load<f32>(from + c) * scale : 0;
      store<f32>(to + c, accumulate ? load<f32>(to + c) + value : value);
    }
  }
}

// @ts-ignore: decorator of AssemblyScript
@inline
function high_words(even: v128, odd: v128): v128 {
  return i32x4.shuffle(even, odd, 1, 3, 5, 7);
}

// @ts-ignore: decorator of AssemblyScript
@inline
function low_words(even: v128, odd: v128): v128 {
  return i32x4.shuffle(even, odd, 0, 2, 4, 6);
}

/**
 * Masks of 16 elements from the Philox blocks c0 … c0 + 3 (core/philox.ts): all bits set where an
 * element is kept.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
function dropout_masks(
  c0: u32,
  c1: u32,
  c2: u32,
  c3: u32,
  k0: u32,
  k1: u32,
  threshold: u32,
  masks: usize,
): void {
  let x0 = i32x4.add(i32x4.splat(c0), v128.load(PHILOX, 8));
  let x1 = i32x4.splat(c1), x2 = i32x4.splat(c2), x3 = i32x4.splat(c3);
  const m0 = v128.load32_splat(PHILOX), m1 = v128.load32_splat(PHILOX, 4);
  for (let round = 0; round < 10; round++) {
    const a = i64x2.extmul_low_i32x4_u(x0, m0), b = i64x2.extmul_high_i32x4_u(x0, m0);
    const e = i64x2.extmul_low_i32x4_u(x2, m1), f = i64x2.extmul_high_i32x4_u(x2, m1);
    x0 = v128.xor(v128.xor(high_words(e, f), x1), i32x4.splat(k0));
    x1 = low_words(e, f);
    x2 = v128.xor(v128.xor(high_words(a, b), x3), i32x4.splat(k1));
    x3 = low_words(a, b);
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  // Lane i of word w belongs to column 4·i + w.
  const a = i32x4.shuffle(x0, x1, 0, 4, 1, 5), b = i32x4.shuffle(x2, x3, 0, 4, 1, 5);
  const e = i32x4.shuffle(x0, x1, 2, 6, 3, 7), f = i32x4.shuffle(x2, x3, 2, 6, 3, 7);
  const limit = i32x4.splat(threshold);
  v128.store(masks, i32x4.ge_u(i64x2.shuffle(a, b, 0, 2), limit));
  v128.store(masks, i32x4.ge_u(i64x2.shuffle(a, b, 1, 3), limit), 16);
  v128.store(masks, i32x4.ge_u(i64x2.shuffle(e, f, 0, 2), limit), 32);
  v128.store(masks, i32x4.ge_u(i64x2.shuffle(e, f, 1, 3), limit), 48);
}
