// Converts blocks of a GGUF file to the layout of the devices (types.ts), with the same bits as
// blocks.ts and layout.ts. Eight codes at a time are the bytes of a 64-bit number. The rows of a
// panel are done one after the other; their words are stored 16 words apart.

import {
  block_weights, panel_bytes, Q4_0, Q4_1, Q4_K, Q5_0, Q6_K, Q8_0, record_bytes,
} from "./types.as";

const LANES = 16;
const NIBBLES: u64 = 0x0f0f0f0f0f0f0f0f;
const PAIRS: u64 = 0x0303030303030303;

/** Bytes of a block in a file. */
function file_bytes(type: i32): usize {
  switch (type) {
    case Q8_0: return 34;
    case Q4_0: return 18;
    case Q4_1: return 20;
    case Q5_0: return 22;
    case Q4_K: return 144;
    default: return 210;
  }
}

/** Moves the lower halves of eight bytes together; the upper ones must be zero. */
// @ts-ignore: decorator of AssemblyScript
@inline
function squeeze(x: u64): u32 {
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return (x | x >> 16) as u32;
}

/**
 * Moves the two low bits of eight bytes: those of bytes 2·j and 2·j + 1 to the bits 8·j and 8·j +
 * 2.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
function spread(x: u64): u32 {
  x = (x | x >> 6) & 0x000f000f000f000f;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return (x | x >> 16) as u32;
}

/** Stores word `word` of a row whose first word is at `to`. */
// @ts-ignore: decorator of AssemblyScript
@inline
function put(to: usize, word: usize, value: u32): void {
  store<u32>(to + word * 64, value);
}

/** Stores the lower (with shift 4 the upper) nibbles of `count` bytes as words from `word` on. */
// @ts-ignore: decorator of AssemblyScript
@inline
function put_nibbles(from: usize, count: usize, shift: u64, to: usize, word: usize): void {
  for (let i: usize = 0; i < count; i += 8, word++) {
    put(to, word, squeeze(load<u64>(from + i) >> shift & NIBBLES));
  }
}

/** Stores the nibbles of 16 bytes, which are the elements j and j + 16. */
// @ts-ignore: decorator of AssemblyScript
@inline
function put_halves(from: usize, to: usize): void {
  put_nibbles(from, 16, 0, to, 0);
  put_nibbles(from, 16, 4, to, 2);
}

/** Moves bit 8·i + 2·j + o to 8·j + 2·i + o. */
function fifth_bits(bits: u32): u32 {
  let out: u32 = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const byte = bits >> 8 * i;
    out |= (byte & 3 | (byte & 12) << 6 | (byte & 48) << 12 | (byte & 192) << 18) << 2 * i;
  }
  return out;
}

function put_q4_k(from: usize, to: usize): void {
  for (let j: usize = 0; j < 8; j++) {
    put_nibbles(from + 16 + 32 * (j >> 1), 32, (4 * (j & 1)) as u64, to, 4 * j);
  }
  for (let j: usize = 0; j < 8; j += 2) {
    let word: u32 = 0;
    for (let i: usize = 0; i < 2; i++) {
      // Scales and minima have 6 bits: see blocks.ts.
      const c = from + 4 + j + i;
      const x = load<u8>(c) as u32, y = load<u8>(c + 4) as u32;
      const a = j < 4 ? x & 63 : y & 15 | (load<u8>(c - 4) as u32) >> 6 << 4;
      const m = j < 4 ? y & 63 : y >> 4 | x >> 6 << 4;
      word |= (a | m << 8) << (16 * (i as u32));
    }
    put(to, 32 + (j >> 1), word);
  }
  put(to, 36, load<u32>(from));
}

function put_q6_k(from: usize, to: usize): void {
  for (let g: usize = 0; g < 8; g++) {
    const half = g >> 2, quarter = g & 3;
    const codes = from + 64 * half + 32 * (quarter & 1);
    put_nibbles(codes, 32, quarter < 2 ? 0 : 4, to, 4 * g);
    const high = from + 128 + 32 * half, shift = (2 * quarter) as u64;
    for (let i: usize = 0; i < 32; i += 16) {
      const low = load<u64>(high + i) >> shift & PAIRS;
      const up = load<u64>(high + i, 8) >> shift & PAIRS;
      put(to, 32 + 2 * g + (i >> 4), spread(low) | spread(up) << 4);
    }
  }
  for (let w: usize = 0; w < 4; w++) put(to, 48 + w, load<u32>(from + 192 + 4 * w));
}

/** Stores a row of a block without its 16-bit tail: words 64 bytes apart, from `to` on. */
function put_row(type: i32, from: usize, to: usize): void {
  if (type == Q8_0) {
    for (let w: usize = 0; w < 8; w++) put(to, w, load<u32>(from + 2 + 4 * w));
  } else if (type == Q4_0) {
    put_halves(from + 2, to);
  } else if (type == Q4_1) {
    put_halves(from + 4, to);
    put(to, 4, load<u32>(from));
  } else if (type == Q5_0) {
    put_halves(from + 6, to);
    put(to, 4, fifth_bits(load<u32>(from + 2)));
  } else if (type == Q4_K) put_q4_k(from, to);
  else put_q6_k(from, to);
}

/** Offset of the tails in a record, a half for each row; 0 = there are none. */
function tails(type: i32): usize {
  return type == Q4_1 || type == Q4_K ? 0 : record_bytes(type) - 32;
}

/** Panels of a weight from `rows` rows of k weights in a file's blocks. Unit: a panel. */
export function pack_panels(
  type: i32, x: usize, rows: i32, k: i32, to: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const blocks = k / block_weights(type), size = file_bytes(type), record = record_bytes(type);
  const stride = (blocks as usize) * size, step = panel_bytes(type, k), tail = tails(type);
  const half: usize = type == Q6_K ? 208 : 0;
  for (let p = begin; p < end; p++) {
    const count = min(LANES, rows - p * LANES), panel = to + (p as usize) * step;
    if (count < LANES) memory.fill(panel, 0, step);
    for (let r = 0; r < count; r++) {
      let from = x + ((p * LANES + r) as usize) * stride, at = panel;
      for (let b = 0; b < blocks; b++, from += size, at += record) {
        put_row(type, from, at + (r as usize) * 4);
        // Lower rows are in the lower halves of the words.
        if (tail > 0) {
          const place = at + tail + ((r & 7) as usize) * 4 + ((r >> 3) as usize) * 2;
          store<u16>(place, load<u16>(from + half));
        }
      }
    }
  }
}
