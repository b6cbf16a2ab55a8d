// Attention over the packed group batch (kernels/ops/attention/spec.ts), forward.
// Work unit: a block of rows × one key head. The block's queries are the rows' query heads of that key
// head; neighbouring branches of a group attend to their common prefix together, then each to its own part.
import { TILE } from "./tile.as";
import { pack_transposed, tile_offsets } from "./pack.as";
import {
  key_offsets,
  queries,
  query_offsets,
  softmax_attend,
  softmax_begin,
  softmax_end,
  softmax_keys,
  softmax_lse,
} from "./softmax.as";

/** Columns of the segment table, in bytes (spec.ts, SEGMENT). */
const SEGMENT_BYTES: usize = 20;

/** Queries of the tables of first keys, with room for vectors that reach too far. */
const LOWS: i32 = TILE + 16;

/**
 * The first keys that the queries of rows [first, last) see of their own segment, and behind them those of its
 * prefix (which may be its end).
 */
function first_keys(
  lows: usize,
  segments: usize,
  rowSegment: usize,
  first: i32,
  last: i32,
  group: i32,
  window: i32,
): void {
  let at = lows;
  for (let row = first; row < last; row++) {
    const segment = segments + (load<u32>(rowSegment + ((row as usize) << 2)) as usize) * SEGMENT_BYTES;
    const own = row + 1 - load<i32>(segment);
    const low = row + 1 - min(window, own), inPrefix = load<i32>(segment, 12) - max(window - own, 0);
    for (let h = 0; h < group; h++, at += 4) {
      store<i32>(at, low);
      store<i32>(at + LOWS * 4, inPrefix);
    }
  }
}

/** Columns of the table of keys, in bytes. */
const KEYS_BYTES: usize = 8;

/** Units: ⌈rows / blockRows⌉ · kvHeads, the key head running fastest. `keyRows`: 0 = no table of keys. */
export function attention(
  q: usize,
  k: usize,
  v: usize,
  out: usize,
  lse: usize,
  segments: usize,
  rowSegment: usize,
  keyRows: usize,
  rows: i32,
  heads: i32,
  kvHeads: i32,
  headDim: i32,
  scale: f32,
  window: i32,
  lowsOffset: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const group = heads / kvHeads;
  const blockRows = TILE / group;
  const queryStride = (heads * headDim * 4) as usize;
  const keyStride = (kvHeads * headDim * 4) as usize;
  const offsets = query_offsets(scratch);
  tile_offsets(offsets, queryStride, (headDim as usize) << 2, group);
  tile_offsets(key_offsets(scratch), keyStride, 0, 1);
  for (let unit = begin; unit < end; unit++) {
    const head = unit % kvHeads;
    const first = (unit / kvHeads) * blockRows;
    const last = min(first + blockRows, rows);
    const queryOffset = (first as usize) * queryStride + (head * group * headDim * 4);
    const keyOffset = (head * headDim * 4) as usize;
    const count = (last - first) * group;
    pack_transposed(q + queryOffset, offsets, count, headDim, scale, queries(scratch));
    softmax_begin(count, headDim, scratch);
    const lows: usize = window == 0 ? 0 : scratch + lowsOffset;
    const prefixLows: usize = window == 0 ? 0 : lows + LOWS * 4;
    if (window != 0) {
      first_keys(lows, segments, rowSegment, first, last, group, window);
      // Its last keys first: then a query has seen itself before a tile in which it sees nothing.
      own_segments(
        k + keyOffset, v + keyOffset, segments, rowSegment, first, last, group, keyStride, lows,
        headDim, scratch,
      );
    }

    for (let row = first; row < last;) {
      let segment = segments + (load<u32>(rowSegment + ((row as usize) << 2)) as usize) * SEGMENT_BYTES;
      const prefixBegin = load<i32>(segment, 8), prefixEnd = load<i32>(segment, 12);
      let stop = min(load<i32>(segment, 4), last);
      // Neighbouring branches of the same group share the prefix.
      while (stop < last) {
        segment = segments + (load<u32>(rowSegment + ((stop as usize) << 2)) as usize) * SEGMENT_BYTES;
        if (load<i32>(segment, 8) != prefixBegin || load<i32>(segment, 12) != prefixEnd) break;
        stop = min(load<i32>(segment, 4), last);
      }
      const from = (row - first) * group, to = (stop - first) * group;
      for (let j = prefixBegin; j < prefixEnd; j += TILE) {
        const n = min(prefixEnd - j, TILE);
        const offset = keyOffset + (j as usize) * keyStride;
        if (window != 0 && none_seen(prefixLows, from, to, j + n)) continue;
        softmax_keys(k + offset, v + offset, n, headDim, scratch);
        softmax_attend(from, to, n, false, group, 0, prefixLows, j, headDim, scratch);
      }
      row = stop;
    }

    for (let row = window == 0 ? first : last; row < last;) {
      const number = load<u32>(rowSegment + ((row as usize) << 2)) as usize;
      const segment = segments + number * SEGMENT_BYTES;
      const stop = min(load<i32>(segment, 4), last);
      let key = load<i32>(segment), ahead = 0; // how far keys are ahead of their rows
      if (keyRows != 0) {
        const own = keyRows + number * KEYS_BYTES;
        key = load<i32>(own);
        ahead = load<i32>(own, 4) - load<i32>(segment, 4);
      }
      for (let j = key; j < stop + ahead; j += TILE) {
        const n = min(stop + ahead - j, TILE);
        const offset = keyOffset + (j as usize) * keyStride;
        const from = max(row, j - ahead);
        softmax_keys(k + offset, v + offset, n, headDim, scratch);
        softmax_attend(
          (from - first) * group,
          (stop - first) * group,
          n,
          true,
          group,
          j - ahead - first,
          0,
          0,
          headDim,
          scratch,
        );
      }
      row = stop;
    }

    softmax_end(out + queryOffset, count, headDim, scratch);
    for (let i = 0; i < count; i++) {
      const place = (first + i / group) * heads + head * group + i % group;
      store<f32>(lse + ((place as usize) << 2), softmax_lse(i, scratch));
    }
  }
}

/** Whether none of the queries [from, to) sees a key before `end`. */
function none_seen(lows: usize, from: i32, to: i32, end: i32): bool {
  for (let q = from; q < to; q++) {
    if (load<i32>(lows + ((q as usize) << 2)) < end) return false;
  }
  return true;
}

/** With a window: the rows [first, last) attend to their own segments, whose tiles come last to first. */
function own_segments(
  k: usize,
  v: usize,
  segments: usize,
  rowSegment: usize,
  first: i32,
  last: i32,
  group: i32,
  keyStride: usize,
  lows: usize,
  headDim: i32,
  scratch: usize,
): void {
  for (let row = first; row < last;) {
    const segment = segments + (load<u32>(rowSegment + ((row as usize) << 2)) as usize) * SEGMENT_BYTES;
    const start = load<i32>(segment), stop = min(load<i32>(segment, 4), last);
    for (let j = start + (stop - 1 - start) / TILE * TILE; j >= start; j -= TILE) {
      const n = min(stop - j, TILE);
      const from = (max(row, j) - first) * group, to = (stop - first) * group;
      if (none_seen(lows, from, to, j + n)) break;
      const offset = (j as usize) * keyStride;
      softmax_keys(k + offset, v + offset, n, headDim, scratch);
      softmax_attend(from, to, n, true, group, j - first, lows, j, headDim, scratch);
    }
    row = stop;
  }
}
