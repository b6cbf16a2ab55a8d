// Queries that attend to the keys of their branch. Too few queries share these keys to transpose
// them. Each score is a dot product along the key's row; four keys and two queries are done at a
// time. headDim must be a multiple of 4.
import { TILE, TILE_BYTES } from "../attention/tile.as";
import { touch } from "../../memory.as";
import { attend_query_pair } from "./query_pair.as";

/** Value of `lead` for: do not read ahead. */
export const NO_READ_AHEAD: usize = usize.MAX_VALUE;

/**
 * Reads n rows of keys and values, with all their key heads, before they are needed. The parts of
 * one head are apart in memory, in an order that no hardware prefetcher follows. `lead` is the
 * number of bytes of a row before this head's part, or NO_READ_AHEAD.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function read_ahead(
  k: usize,
  v: usize,
  stride: usize,
  n: i32,
  lead: usize,
  to: usize,
): void {
  if (lead == NO_READ_AHEAD) return;
  touch(k - lead, (n as usize) * stride, to);
  touch(v - lead, (n as usize) * stride, to);
}

/**
 * Queries [i, i + group) of a block attend to `count` keys. The queries begin at q, headDim
 * elements apart; keys and values are rows `stride` bytes apart; `lead` as in read_ahead.
 */
export function attend_branch_keys(
  q: usize,
  k: usize,
  v: usize,
  stride: usize,
  count: i32,
  headDim: i32,
  scale: f32,
  i: i32,
  group: i32,
  lead: usize,
  scratch: usize,
): void {
  const bytes = (headDim as usize) << 2;
  for (let j = 0; j < count; j += TILE) {
    const n = min(count - j, TILE);
    const first = (j as usize) * stride;
    read_ahead(k + first, v + first, stride, n, lead, scratch);
    for (let g = 0; g < group; g += 2) {
      const pair = min(group - g, 2), row = q + (g as usize) * bytes;
      const other = pair == 2 ? row + bytes : row;
      branch_scores(row, other, k + first, stride, n, bytes, scale, scratch);
      attend_query_pair(i + g, pair, n, v + first, 0, 0, stride, headDim, scratch);
    }
  }
}

/** The sums of the four lanes of each vector, as the lanes of one. */
// @ts-ignore: decorator of AssemblyScript
@inline
function lane_sums(a0: v128, a1: v128, a2: v128, a3: v128): v128 {
  const b0 = f32x4.add(
    v128.shuffle<f32>(a0, a1, 0, 4, 1, 5),
    v128.shuffle<f32>(a0, a1, 2, 6, 3, 7),
  );
  const b1 = f32x4.add(
    v128.shuffle<f32>(a2, a3, 0, 4, 1, 5),
    v128.shuffle<f32>(a2, a3, 2, 6, 3, 7),
  );
  return f32x4.add(v128.shuffle<f32>(b0, b1, 0, 1, 4, 5), v128.shuffle<f32>(b0, b1, 2, 3, 6, 7));
}

/** Stores the scores scale·q·k_j of both queries as two rows of the scratch. */
function branch_scores(
  q: usize,
  other: usize,
  k: usize,
  stride: usize,
  n: i32,
  bytes: usize,
  scale: f32,
  scratch: usize,
): void {
  const s = f32x4.splat(scale);
  const last = k + ((n - 1) as usize) * stride;
  for (let k0 = k; k0 <= last; k0 += 4 * stride, scratch += 16) {
    const k1 = min(k0 + stride, last), k2 = min(k0 + 2 * stride, last);
    const k3 = min(k0 + 3 * stride, last);
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (let d: usize = 0; d < bytes; d += 16) {
      const x = v128.load(q + d), y = v128.load(other + d);
      const r0 = v128.load(k0 + d), r1 = v128.load(k1 + d), r2 = v128.load(k2 + d);
      const r3 = v128.load(k3 + d);
      a0 = f32x4.relaxed_madd(x, r0, a0);
      a1 = f32x4.relaxed_madd(x, r1, a1);
      a2 = f32x4.relaxed_madd(x, r2, a2);
      a3 = f32x4.relaxed_madd(x, r3, a3);
      b0 = f32x4.relaxed_madd(y, r0, b0);
      b1 = f32x4.relaxed_madd(y, r1, b1);
      b2 = f32x4.relaxed_madd(y, r2, b2);
      b3 = f32x4.relaxed_madd(y, r3, b3);
    }
    v128.store(scratch, f32x4.mul(lane_sums(a0, a1, a2, a3), s));
    v128.store(scratch + TILE_BYTES, f32x4.mul(lane_sums(b0, b1, b2, b3), s));
  }
}
