// Codes of 4, 5 and 6 bits as signed bytes, "split": of eight steps of k first a word with the even ones, then a
// word with the odd ones. For types whose levels are a table, or whose bits lie apart.

/** Levels of nf4 (types.ts). */
const LEVELS = memory.data<i8>(
  [-127, -88, -67, -50, -36, -23, -12, 0, 10, 20, 31, 43, 56, 71, 92, 127],
  16,
);
/** Nibbles in bytes; bits 0, 2, 4, 6; what brings these to bits 4, 12, 20, 28; those bits; pairs of bits; the rest. */
const MASKS = memory.data<u32>(
  [0x0f0f0f0f, 0x55, 0x00410410, 0x10101010, 0x3333, 0x00ff00ff, 0x10101010, 0x20202020],
  64,
);

// @ts-ignore: decorator of AssemblyScript
@inline
function mask(i: usize): v128 {
  return v128.load32_splat(MASKS + i * 4);
}

/** `words` words of 16 rows of nibbles of nf4. */
export function split_nf4(from: usize, to: usize, words: i32): void {
  const levels = v128.load(LEVELS), low = mask(0);
  const end = from + (words as usize) * 64;
  for (; from < end; to += 64) {
    for (let row = 0; row < 4; row++, from += 16, to += 16) {
      const codes = v128.load(from);
      v128.store(to, i8x16.relaxed_swizzle(levels, v128.and(codes, low)));
      const odd = v128.and(i32x4.shr_u(codes, 4), low);
      v128.store(to, i8x16.relaxed_swizzle(levels, odd), 64);
    }
  }
}

/** Bits 0, 2, 4, 6 of every word, as bit 4 of its bytes. */
// @ts-ignore: decorator of AssemblyScript
@inline
function fifth(bits: v128): v128 {
  return v128.and(i32x4.mul(v128.and(bits, mask(1)), mask(2)), mask(3));
}

/** `blocks` blocks of q5_0: 4 words of 16 rows of low nibbles, one of fifth bits; `step` bytes apart. */
export function split_q5_0(from: usize, step: usize, to: usize, blocks: i32): void {
  const low = mask(0), offset = mask(6);
  for (; blocks > 0; blocks--, from += step, to += 512) {
    for (let rows: usize = 0; rows < 64; rows += 16) {
      let high = v128.load(from + rows, 256);
      for (let word: usize = 0; word < 4; word++) {
        const codes = v128.load(from + rows + word * 64);
        const at = to + rows + word * 128;
        const even = v128.or(v128.and(codes, low), fifth(high));
        const odd = v128.or(v128.and(i32x4.shr_u(codes, 4), low), fifth(i32x4.shr_u(high, 1)));
        v128.store(at, i8x16.sub(even, offset));
        v128.store(at, i8x16.sub(odd, offset), 64);
        high = i32x4.shr_u(high, 8);
      }
    }
  }
}

/** The pairs of bits 0…1, 4…5, 8…9, 12…13 of every word, as bits 4 and 5 of its bytes. */
// @ts-ignore: decorator of AssemblyScript
@inline
function high_pairs(bits: v128): v128 {
  let x = v128.and(bits, mask(4));
  x = v128.and(v128.or(x, i32x4.shl(x, 8)), mask(5));
  x = v128.and(v128.or(x, i32x4.shl(x, 4)), mask(0));
  return i32x4.shl(x, 4);
}

/** One super-block of q6_k: 32 words of 16 rows of low nibbles, then 16 words of pairs of bits. */
export function split_q6_k(from: usize, to: usize): void {
  const low = mask(0), offset = mask(7);
  const high = from + 2048;
  for (let word: usize = 0; word < 32; word++, from += 64, to += 128) {
    for (let rows: usize = 0; rows < 64; rows += 16) {
      const codes = v128.load(from + rows);
      let pairs = v128.load(high + (word >> 1) * 64 + rows);
      if (word & 1) pairs = i32x4.shr_u(pairs, 16);
      const even = v128.or(v128.and(codes, low), high_pairs(pairs));
      const odd = v128.or(v128.and(i32x4.shr_u(codes, 4), low), high_pairs(i32x4.shr_u(pairs, 2)));
      v128.store(to + rows, i8x16.sub(even, offset));
      v128.store(to + rows, i8x16.sub(odd, offset), 64);
    }
  }
}
