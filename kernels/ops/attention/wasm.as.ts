// Forward of attention over a packed batch (kernels/ops/attention/spec.ts).
// Work unit: a block of rows × one key head. Its queries are the query heads of these rows that use
// this key head. Neighbouring branches of a group first attend to their common prefix together,
// then each to its own segment.
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

/** Bytes of a row of the segment table (SEGMENT of spec.ts). */
const SEGMENT_BYTES: usize = 20;

/** Queries in a table of first keys, with room for a vector that reaches beyond the last one. */
const FIRST_KEYS: i32 = TILE + 16;

/**
 * With a window: writes two tables of FIRST_KEYS i32 for the queries of the rows [first, last). The
 * first one holds the first key of their segment that each query attends to, the second one that of
 * the prefix (or the prefix's end).
 */
function find_first_keys(
  firstKeys: usize,
  segments: usize,
  rowSegment: usize,
  first: i32,
  last: i32,
  group: i32,
  window: i32,
): void {
  let at = firstKeys;
  for (let row = first; row < last; row++) {
    const number = load<u32>(rowSegment + ((row as usize) << 2)) as usize;
    const segment = segments + number * SEGMENT_BYTES;
    const before = row + 1 - load<i32>(segment); // rows of the segment up to this one
    const low = row + 1 - min(window, before);
    const inPrefix = load<i32>(segment, 12) - max(window - before, 0);
    for (let h = 0; h < group; h++, at += 4) {
      store<i32>(at, low);
      store<i32>(at + FIRST_KEYS * 4, inPrefix);
    }
  }
}

/** Bytes of a row of the table of keys. */
const KEYS_BYTES: usize = 8;

/**
 * Units: ⌈rows / blockRows⌉ · kvHeads; the key head varies fastest. `keyRows` is 0 where the keys
 * are the rows. `window`: 0 = none. `firstKeysOffset`: where the tables of first keys are in the
 * scratch.
 */
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
  firstKeysOffset: usize,
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
    const firstKeys: usize = window == 0 ? 0 : scratch + firstKeysOffset;
    const prefixFirstKeys: usize = window == 0 ? 0 : firstKeys + FIRST_KEYS * 4;
    if (window != 0) {
      find_first_keys(firstKeys, segments, rowSegment, first, last, group, window);
      // The last keys first: so each query attends to itself before it meets a tile in which it
      // attends to no key.
      attend_segments(
        k + keyOffset, v + keyOffset, segments, rowSegment, first, last, group, keyStride,
        firstKeys, headDim, scratch,
      );
    }

    for (let row = first; row < last;) {
      let number = load<u32>(rowSegment + ((row as usize) << 2)) as usize;
      let segment = segments + number * SEGMENT_BYTES;
      const prefixBegin = load<i32>(segment, 8), prefixEnd = load<i32>(segment, 12);
      let stop = min(load<i32>(segment, 4), last);
      // Neighbouring branches of the same group share the prefix.
      while (stop < last) {
        number = load<u32>(rowSegment + ((stop as usize) << 2)) as usize;
        segment = segments + number * SEGMENT_BYTES;
        if (load<i32>(segment, 8) != prefixBegin || load<i32>(segment, 12) != prefixEnd) break;
        stop = min(load<i32>(segment, 4), last);
      }
      const from = (row - first) * group, to = (stop - first) * group;
      for (let j = prefixBegin; j < prefixEnd; j += TILE) {
        const n = min(prefixEnd - j, TILE);
        const offset = keyOffset + (j as usize) * keyStride;
        if (window != 0 && none_before(prefixFirstKeys, from, to, j + n)) continue;
        softmax_keys(k + offset, v + offset, n, headDim, scratch);
        softmax_attend(from, to, n, false, group, 0, prefixFirstKeys, j, headDim, scratch);
      }
      row = stop;
    }

    for (let row = window == 0 ? first : last; row < last;) {
      const number = load<u32>(rowSegment + ((row as usize) << 2)) as usize;
      const segment = segments + number * SEGMENT_BYTES;
      const stop = min(load<i32>(segment, 4), last);
      let key = load<i32>(segment), ahead = 0; // a row's key is row + ahead of k and v
      if (keyRows != 0) {
        const segmentKeys = keyRows + number * KEYS_BYTES;
        key = load<i32>(segmentKeys);
        ahead = load<i32>(segmentKeys, 4) - load<i32>(segment, 4);
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

/** Whether none of the queries [from, to) attends to a key before `end`. */
function none_before(firstKeys: usize, from: i32, to: i32, end: i32): bool {
  for (let q = from; q < to; q++) {
    if (load<i32>(firstKeys + ((q as usize) << 2)) < end) return false;
  }
  return true;
}

/**
 * With a window: the rows [first, last) attend to their segments, whose tiles are done last to
 * first.
 */
function attend_segments(
  k: usize,
  v: usize,
  segments: usize,
  rowSegment: usize,
  first: i32,
  last: i32,
  group: i32,
  keyStride: usize,
  firstKeys: usize,
  headDim: i32,
  scratch: usize,
): void {
  for (let row = first; row < last;) {
    const number = load<u32>(rowSegment + ((row as usize) << 2)) as usize;
    const segment = segments + number * SEGMENT_BYTES;
    const start = load<i32>(segment), stop = min(load<i32>(segment, 4), last);
    for (let j = start + (stop - 1 - start) / TILE * TILE; j >= start; j -= TILE) {
      const n = min(stop - j, TILE);
      const from = (max(row, j) - first) * group, to = (stop - first) * group;
      if (none_before(firstKeys, from, to, j + n)) break;
      const offset = (j as usize) * keyStride;
      softmax_keys(k + offset, v + offset, n, headDim, scratch);
      softmax_attend(from, to, n, true, group, j - first, firstKeys, j, headDim, scratch);
    }
    row = stop;
  }
}
