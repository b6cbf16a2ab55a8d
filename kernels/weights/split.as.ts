// Splits codes of 4, 5 and 6 bits into signed bytes: of eight neighbours in a row, first a word
// with the even ones, then a word with the odd ones. This is for types whose levels are a table, or
// whose bits are in several places. Of two neighbouring stores the upper one comes first, for the
// revectorizer (generate.ts).

/** Levels of nf4 (types.ts). */
const LEVELS = memory.data<i8>(
  [-127, -88, -67, -50, -36, -23, -12, 0, 10, 20, 31, 43, 56, 71, 92, 127],
  16,
);
/** Masks of the low nibbles of bytes; of bit 4; of bits 4 and 5; 16 and 32 in every byte. */
const MASKS = memory.data<u32>([0x0f0f0f0f, 0x10101010, 0x30303030, 0x10101010, 0x20202020], 64);

// @ts-ignore: decorator of AssemblyScript
@inline
function mask(i: usize): v128 {
  return v128.load32_splat(MASKS + i * 4);
}

// @ts-ignore: decorator of AssemblyScript
@inline
function put_nf4_levels(codes: v128, levels: v128, low: v128, to: usize): void {
  v128.store(to, i8x16.relaxed_swizzle(levels, v128.and(codes, low)));
  v128.store(to, i8x16.relaxed_swizzle(levels, v128.and(i32x4.shr_u(codes, 4), low)), 64);
}

/** Splits `words` words of 16 rows of nf4. */
export function split_nf4(from: usize, to: usize, words: i32): void {
  const levels = v128.load(LEVELS), low = mask(0);
  for (const end = from + (words as usize) * 64; from < end; from += 64, to += 128) {
    put_nf4_levels(v128.load(from), levels, low, to);
    put_nf4_levels(v128.load(from, 16), levels, low, to + 16);
    put_nf4_levels(v128.load(from, 32), levels, low, to + 32);
    put_nf4_levels(v128.load(from, 48), levels, low, to + 48);
  }
}

/**
 * The even (with `odd` the odd) nibbles of four words, with `bits` of `high` added, minus `offset`.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
function above(codes: v128, odd: i32, high: v128, bits: v128, low: v128, offset: v128): v128 {
  const nibbles = v128.and(odd ? i32x4.shr_u(codes, 4) : codes, low);
  return i8x16.sub(v128.or(nibbles, v128.and(high, bits)), offset);
}

/**
 * Splits a word of nibbles of 8 rows: its even and odd elements, with the high bits `even…` and
 * `odd…`, which are already at their place.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
function put8(
  from: usize, to: usize, even0: v128, even1: v128, odd0: v128, odd1: v128, bits: v128, low: v128,
  offset: v128,
): void {
  const a = v128.load(from), b = v128.load(from, 16);
  const ea = above(a, 0, even0, bits, low, offset), eb = above(b, 0, even1, bits, low, offset);
  const oa = above(a, 1, odd0, bits, low, offset), ob = above(b, 1, odd1, bits, low, offset);
  v128.store(to, eb, 16);
  v128.store(to, ea);
  v128.store(to, ob, 80);
  v128.store(to, oa, 64);
}

/**
 * Splits `blocks` blocks of q5_0, `step` bytes apart: 4 words of low nibbles of 16 rows, one of
 * high bits.
 */
export function split_q5_0(from: usize, step: usize, to: usize, blocks: i32): void {
  const low = mask(0), bits = mask(1), offset = mask(3);
  for (; blocks > 0; blocks--, from += step, to += 512) {
    for (let rows: usize = 0; rows < 64; rows += 32) {
      const codes = from + rows, at = to + rows;
      const h = v128.load(codes, 256), g = v128.load(codes, 272);
      put8(
        codes, at, i32x4.shl(h, 4), i32x4.shl(g, 4), i32x4.shl(h, 3), i32x4.shl(g, 3), bits, low,
        offset,
      );
      put8(
        codes + 64, at + 128, i32x4.shl(h, 2), i32x4.shl(g, 2), i32x4.shl(h, 1), i32x4.shl(g, 1),
        bits, low, offset,
      );
      put8(
        codes + 128, at + 256, h, g, i32x4.shr_u(h, 1), i32x4.shr_u(g, 1), bits, low, offset,
      );
      put8(
        codes + 192, at + 384, i32x4.shr_u(h, 2), i32x4.shr_u(g, 2), i32x4.shr_u(h, 3),
        i32x4.shr_u(g, 3), bits, low, offset,
      );
    }
  }
}

/** Splits `pairs` pairs of words of low nibbles of q6_k; `high` are the words of high bits. */
export function split_q6_k(from: usize, high: usize, to: usize, pairs: i32): void {
  const low = mask(0), bits = mask(2), offset = mask(4);
  for (; pairs > 0; pairs--, from += 128, high += 64, to += 256) {
    for (let rows: usize = 0; rows < 64; rows += 32) {
      const codes = from + rows, at = to + rows;
      const h = v128.load(high + rows), g = v128.load(high + rows, 16);
      put8(
        codes, at, i32x4.shl(h, 4), i32x4.shl(g, 4), i32x4.shl(h, 2), i32x4.shl(g, 2), bits, low,
        offset,
      );
      put8(
        codes + 64, at + 128, h, g, i32x4.shr_u(h, 2), i32x4.shr_u(g, 2), bits, low, offset,
      );
    }
  }
}
