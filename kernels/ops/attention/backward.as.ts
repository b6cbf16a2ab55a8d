// Gradient of attention over a packed batch (kernels/ops/attention/spec.ts).
// Work unit: a group × one key head; the group is named by its first segment, the prompt. It holds
// everything that dq, dk and dv of its rows depend on, so S and dP are computed once for all three.
// The loops run over the key tiles in order, then over the rows that attend to the tile, then over
// the query heads. Each element of a gradient is one chain of multiply-adds in that order.
import { exp_f32x4 } from "../common/math.as";
import {
  PANEL_BYTES,
  SCORE_BYTES,
  TILE,
  TILE_BYTES,
  tile_columns,
  tile_rows,
  tile_scores,
} from "./tile.as";
import {
  element,
  OFFSET_BYTES,
  pack_rows,
  pack_transposed,
  tile_offsets,
  unpack_rows,
} from "./pack.as";

/** Bytes of a row of the segment table (SEGMENT of spec.ts). */
const SEGMENT_BYTES: usize = 20;

/** Bytes that a register tile may reach beyond the last tile. */
const PAST_END: usize = 512;

/**
 * Units: segmentCount · kvHeads; the key head varies fastest. A unit whose segment has a prefix
 * does nothing, because the unit of its prompt does its keys. `window`: 0 = none.
 * Scratch, in floats: S and dS [TILE][TILE] each; lse, δ and three tables of offsets [TILE] each;
 * ten tiles of TILE × headDim (padded to a multiple of 16); PAST_END bytes; with a window the
 * counts of hidden keys [TILE].
 */
export function attention_backward(
  q: usize,
  k: usize,
  v: usize,
  out: usize,
  lse: usize,
  dout: usize,
  dq: usize,
  dk: usize,
  dv: usize,
  segments: usize,
  rowSegment: usize,
  segmentCount: i32,
  heads: i32,
  kvHeads: i32,
  headDim: i32,
  scale: f32,
  window: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const group = heads / kvHeads;
  const queryStride = (heads * headDim * 4) as usize;
  const offsets = scratch + 2 * SCORE_BYTES + 2 * TILE_BYTES;
  tile_offsets(offsets, queryStride, (headDim as usize) << 2, group);
  tile_offsets(offsets + OFFSET_BYTES, (kvHeads * headDim * 4) as usize, 0, 1);
  tile_offsets(offsets + 2 * OFFSET_BYTES, (heads as usize) << 2, 4, group);
  for (let unit = begin; unit < end; unit++) {
    const head = unit % kvHeads;
    const leader = unit / kvHeads;
    let segment = segments + (leader as usize) * SEGMENT_BYTES;
    const first = load<i32>(segment);
    // The branches of an empty prompt are done by units of their own.
    if (first == load<i32>(segment, 4) || load<i32>(segment, 8) != load<i32>(segment, 12)) continue;
    const groupEnd = load<i32>(segment, 16);
    const bytes = (group * headDim * 4) as usize;
    for (let row = first; row < groupEnd; row++) {
      memory.fill(dq + (row as usize) * queryStride + (head as usize) * bytes, 0, bytes);
    }
    for (let s = leader; s < segmentCount; s++, segment += SEGMENT_BYTES) {
      const from = load<i32>(segment), to = load<i32>(segment, 4);
      if (from >= groupEnd && s > leader) break;
      if (s > leader && load<i32>(segment, 8) == load<i32>(segment, 12)) break;
      for (let j = from; j < to; j += TILE) {
        key_tile(
          q, k, v, out, lse, dout, dq, dk, dv, segments, rowSegment,
          j, min(to - j, TILE), load<i32>(segment, 16),
          head, heads, kvHeads, headDim, scale, window, scratch,
        );
      }
    }
  }
}

/** dk and dv of the keys [key, key + count), and their part of dq, from the rows [key, rowEnd). */
function key_tile(
  q: usize,
  k: usize,
  v: usize,
  out: usize,
  lse: usize,
  dout: usize,
  dq: usize,
  dk: usize,
  dv: usize,
  segments: usize,
  rowSegment: usize,
  key: i32,
  count: i32,
  rowEnd: i32,
  head: i32,
  heads: i32,
  kvHeads: i32,
  headDim: i32,
  scale: f32,
  window: i32,
  scratch: usize,
): void {
  const group = heads / kvHeads;
  const blockRows = TILE / group;
  const padded = (headDim + 15) & ~15;
  const tile = (padded * TILE * 4) as usize;
  const lses = scratch + 2 * SCORE_BYTES;
  const offsets = lses + 2 * TILE_BYTES;
  const keyOffsets = offsets + OFFSET_BYTES, lseOffsets = keyOffsets + OFFSET_BYTES;
  const keysT = lseOffsets + OFFSET_BYTES;
  const valuesT = keysT + tile;
  const keys = valuesT + tile;
  const dkeys = keys + tile, dvalues = dkeys + tile;
  const queriesT = dvalues + tile, doutsT = queriesT + tile;
  const queries = doutsT + tile, douts = queries + tile, dqueries = douts + tile;
  const hidden = dqueries + tile + PAST_END;
  const queryStride = (heads * headDim * 4) as usize;
  const keyStride = (kvHeads * headDim * 4) as usize;
  const keyOffset = (key as usize) * keyStride + (head * headDim * 4);

  pack_transposed(k + keyOffset, keyOffsets, count, headDim, 1, keysT);
  pack_transposed(v + keyOffset, keyOffsets, count, headDim, 1, valuesT);
  pack_rows(k + keyOffset, keyOffsets, count, headDim, scale, keys);
  const cleared = (((count + 5) / 6 * 6) as usize) << 6;
  for (let panel: usize = 0; panel < tile; panel += PANEL_BYTES) {
    memory.fill(dkeys + panel, 0, cleared);
    memory.fill(dvalues + panel, 0, cleared);
  }

  for (let row = key; row < rowEnd; row += blockRows) {
    const n = min(rowEnd - row, blockRows) * group;
    if (
      window != 0 && hidden_keys(segments, rowSegment, row, n / group, key, window, hidden) >= count
    ) continue;
    const offset = (row as usize) * queryStride + (head * group * headDim * 4);
    pack_transposed(q + offset, offsets, n, headDim, scale, queriesT);
    pack_transposed(dout + offset, offsets, n, headDim, 1, doutsT);
    pack_rows(q + offset, offsets, n, headDim, scale, queries);
    pack_rows(dout + offset, offsets, n, headDim, 1, douts);
    pack_rows(dq + offset, offsets, n, headDim, 1, dqueries);
    const statistics = lse + (((row * heads + head * group) as usize) << 2);
    for (let i = 0; i < n; i++) {
      const at = (i as usize) << 2;
      store<f32>(lses + at, load<f32>(element(statistics, lseOffsets, i)));
      const a = element(dout + offset, offsets, i), b = element(out + offset, offsets, i);
      store<f32>(lses + TILE_BYTES + at, dot(a, b, headDim));
    }
    tile_gradients(row - key, n, count, group, window == 0 ? 0 : hidden, headDim, scratch);
    for (let c = 0; c < padded; c += 16) {
      const panel = ((c as usize) >> 4) * PANEL_BYTES;
      for (let j = 0; j < count; j += 6) {
        // Rows before key j do not attend to it.
        const skip = max(key + j - row, 0) * group;
        const from = scratch + ((j as usize) << 2) + (skip as usize) * TILE_BYTES;
        const b = panel + ((skip as usize) << 6), to = panel + ((j as usize) << 6);
        tile_columns(from, douts + b, dvalues + to, n - skip);
        tile_columns(from + SCORE_BYTES, queries + b, dkeys + to, n - skip);
      }
    }
    unpack_rows(dqueries, dq + offset, offsets, n, headDim, 1);
  }
  unpack_rows(dkeys, dk + keyOffset, keyOffsets, count, headDim, 1);
  unpack_rows(dvalues, dv + keyOffset, keyOffsets, count, headDim, 1);
}

/**
 * For each of `count` rows from `row` on: hidden[row] = the number of keys from `key` on that the
 * window hides from it, possibly more than there are. Returns the smallest of them. A key before
 * the row's segment is one of its prefix.
 */
function hidden_keys(
  segments: usize,
  rowSegment: usize,
  row: i32,
  count: i32,
  key: i32,
  window: i32,
  hidden: usize,
): i32 {
  let smallest = i32.MAX_VALUE;
  for (const end = row + count; row < end; row++, hidden += 4) {
    const number = load<u32>(rowSegment + ((row as usize) << 2)) as usize;
    const segment = segments + number * SEGMENT_BYTES;
    const begin = load<i32>(segment), inSegment = row + 1 - begin;
    const low = key < begin
      ? load<i32>(segment, 12) - max(window - inSegment, 0)
      : row + 1 - min(window, inSegment);
    const before = max(low - key, 0);
    store<i32>(hidden, before);
    smallest = min(smallest, before);
  }
  return smallest;
}

/**
 * P and dS of `n` queries × `count` keys into the scratch, and their part of dq. `lead` is the
 * first row − the first key; `hidden` is the table of hidden_keys, or 0 without a window.
 */
function tile_gradients(
  lead: i32,
  n: i32,
  count: i32,
  group: i32,
  hidden: usize,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  const tile = (padded * TILE * 4) as usize;
  const lses = scratch + 2 * SCORE_BYTES;
  const keysT = lses + 2 * TILE_BYTES + 3 * OFFSET_BYTES;
  const valuesT = keysT + tile, keys = valuesT + tile;
  const queriesT = keys + 3 * tile, doutsT = queriesT + tile;
  const dqueries = doutsT + 3 * tile;
  for (let i = 0; i < n; i += 6) {
    const last = min(i + 5, n - 1);
    const reach = min(count, lead + last / group + 1);
    const row = (i as usize) * TILE_BYTES;
    const a = (i as usize) << 2;
    for (let j = 0; j < reach; j += 16) {
      const b = (j as usize) << 2;
      tile_scores(queriesT + a, keysT + b, scratch + row + b, headDim);
      tile_scores(doutsT + a, valuesT + b, scratch + SCORE_BYTES + row + b, headDim);
    }
    for (let t = i; t <= last; t++) {
      const at = (t as usize) << 2;
      query_gradients(
        scratch + (t as usize) * TILE_BYTES,
        min(count, lead + t / group + 1),
        load<f32>(lses + at),
        load<f32>(lses + TILE_BYTES + at),
      );
      if (hidden != 0) {
        const keys = min(count, load<i32>(hidden + ((t / group as usize) << 2)));
        memory.fill(scratch + (t as usize) * TILE_BYTES, 0, (keys as usize) << 2);
        memory.fill(scratch + SCORE_BYTES + (t as usize) * TILE_BYTES, 0, (keys as usize) << 2);
      }
    }
    for (let c = 0; c < padded; c += 16) {
      const panel = ((c as usize) >> 4) * PANEL_BYTES;
      tile_rows(
        scratch + SCORE_BYTES + row,
        keys + panel,
        dqueries + panel + ((i as usize) << 6),
        reach,
      );
    }
  }
}

/** S → P = e^(S − lse) and dP → dS = P·(dP − δ) of one query; zeros behind the `visible` keys. */
function query_gradients(row: usize, visible: i32, lse: f32, delta: f32): void {
  const m = f32x4.splat(lse), d = f32x4.splat(delta);
  const ds = row + SCORE_BYTES;
  for (let c: usize = 0; c < ((visible as usize) << 2); c += 32) {
    const p0 = exp_f32x4(f32x4.sub(v128.load(row + c), m));
    const p1 = exp_f32x4(f32x4.sub(v128.load(row + c, 16), m));
    v128.store(row + c, p0);
    v128.store(row + c, p1, 16);
    const s0 = f32x4.mul(p0, f32x4.sub(v128.load(ds + c), d));
    const s1 = f32x4.mul(p1, f32x4.sub(v128.load(ds + c, 16), d));
    v128.store(ds + c, s0);
    v128.store(ds + c, s1, 16);
  }
  // The register tile that this query is in reads at most 5 keys more.
  const end = ((min(visible + 6, TILE)) as usize) << 2;
  for (let c = (visible as usize) << 2; c < end; c += 4) {
    store<f32>(row + c, 0);
    store<f32>(ds + c, 0);
  }
}

function dot(a: usize, b: usize, n: i32): f32 {
  let s = f32x4.splat(0);
  for (; n >= 4; n -= 4, a += 16, b += 16) {
    s = f32x4.relaxed_madd(v128.load(a), v128.load(b), s);
  }
  let sum = (f32x4.extract_lane(s, 0) + f32x4.extract_lane(s, 1)) +
    (f32x4.extract_lane(s, 2) + f32x4.extract_lane(s, 3));
  for (; n > 0; n--, a += 4, b += 4) sum += load<f32>(a) * load<f32>(b);
  return sum;
}
