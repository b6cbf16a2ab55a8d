// Philox4x32-10 (core/philox.ts), four blocks at a time.

/** The two multipliers of Philox, and the numbers of four blocks. In memory: see math.as.ts. */
const PHILOX = memory.data<u32>([0xd2511f53, 0xcd9e8d57, 0, 1, 2, 3], 64);

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

/** The 16 words of the blocks c0 … c0 + 3 in order, 64 bytes at `to`. */
// @ts-ignore: decorator of AssemblyScript
@inline
export function philox_words(
  c0: u32,
  c1: u32,
  c2: u32,
  c3: u32,
  k0: u32,
  k1: u32,
  to: usize,
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
  // Lane i of word w is word w of block i.
  const a = i32x4.shuffle(x0, x1, 0, 4, 1, 5), b = i32x4.shuffle(x2, x3, 0, 4, 1, 5);
  const e = i32x4.shuffle(x0, x1, 2, 6, 3, 7), f = i32x4.shuffle(x2, x3, 2, 6, 3, 7);
  v128.store(to, i64x2.shuffle(a, b, 0, 2));
  v128.store(to, i64x2.shuffle(a, b, 1, 3), 16);
  v128.store(to, i64x2.shuffle(e, f, 0, 2), 32);
  v128.store(to, i64x2.shuffle(e, f, 1, 3), 48);
}
