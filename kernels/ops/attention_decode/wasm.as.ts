// Attention of one new query per branch (kernels/ops/attention_decode/spec.ts). Work unit: a block
// of branches × some queries of a key head. Neighbouring branches with the same prefix attend to it
// together: its keys are copied into the scratch once for all of them.
import { TILE } from "../attention/tile.as";
import { element, pack_transposed, tile_offsets } from "../attention/pack.as";
import {
  key_offsets,
  queries,
  query_offsets,
  softmax_attend,
  softmax_begin,
  softmax_end,
  softmax_keys,
} from "../attention/softmax.as";
import { attend_few_queries } from "./few_queries.as";
import { NO_READ_AHEAD, attend_branch_keys } from "./branch_keys.as";

/** Up to this many queries of one prompt are done in pairs (few_queries.as.ts). */
const FEW_QUERIES: i32 = 8;

/**
 * Models with heads of at least this size have KV caches that the processor's caches do not hold.
 */
const LONG_HEAD: i32 = 64;

/** Bytes of a row of the branch table (BRANCH of spec.ts). */
export const BRANCH_BYTES: usize = 24;

/**
 * `packedPrefixK` and `window`: 0 = none.
 * Units: ⌈branchCount / blockBranches⌉ blocks · kvHeads · ⌈heads / kvHeads / width⌉ parts of a key
 * head's queries, `width` queries in each. The parts vary fastest, the blocks slowest.
 */
export function attention_decode(
  q: usize,
  prefixK: usize,
  packedPrefixK: usize,
  prefixV: usize,
  branchK: usize,
  branchV: usize,
  out: usize,
  branches: usize,
  branchCount: i32,
  maxNew: i32,
  heads: i32,
  kvHeads: i32,
  headDim: i32,
  scale: f32,
  blockBranches: i32,
  width: i32,
  window: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const group = heads / kvHeads;
  const queryStride = (heads * headDim * 4) as usize;
  const keyStride = (kvHeads * headDim * 4) as usize;
  // Where few queries share the keys of a branch, and rows are whole vectors, keys are not
  // transposed.
  const byRows = group < 8 && (headDim & 3) == 0;
  const offsets = query_offsets(scratch), parts = (group + width - 1) / width;
  tile_offsets(key_offsets(scratch), keyStride, 0, 1);
  for (let unit = begin; unit < end; unit++) {
    const part = unit % parts, head = (unit / parts) % kvHeads;
    const first = (unit / parts / kvHeads) * blockBranches;
    const last = min(first + blockBranches, branchCount);
    const some = min(width, group - part * width);
    const queryOffset = (first as usize) * queryStride +
      ((head * group + part * width) * headDim * 4);
    const keyOffset = (head * headDim * 4) as usize;
    // The first unit that reads rows from memory reads them for all key heads, in the order in
    // which they are stored.
    const ahead = kvHeads > 1 && headDim >= LONG_HEAD &&
      (unit == begin || unit % (parts * kvHeads) == 0);
    const lead: usize = ahead ? keyOffset : NO_READ_AHEAD;
    const count = (last - first) * some;
    tile_offsets(offsets, queryStride, (headDim as usize) << 2, some);
    pack_transposed(q + queryOffset, offsets, count, headDim, scale, queries(scratch));
    softmax_begin(count, headDim, scratch);

    for (let b = first; b < last;) {
      const branch = branches + (b as usize) * BRANCH_BYTES;
      const prefixBegin = load<i32>(branch), prefixEnd = load<i32>(branch, 4);
      let stop = b + 1;
      for (let next = branch + BRANCH_BYTES; stop < last; stop++, next += BRANCH_BYTES) {
        if (load<i32>(next) != prefixBegin || load<i32>(next, 4) != prefixEnd) break;
      }
      const from = (b - first) * some, to = (stop - first) * some;
      const offset = keyOffset + (prefixBegin as usize) * keyStride;
      const k = prefixK + offset, v = prefixV + offset, keys = prefixEnd - prefixBegin;
      if (to - from <= FEW_QUERIES && (headDim & 3) == 0) {
        // A column of a panel has 16 floats, so a key head's columns begin 16 · keyOffset behind.
        const packed = packedPrefixK == 0 ? 0 : packedPrefixK + offset + 15 * keyOffset;
        const shared = packed == 0 ? 0 : min(keys, load<i32>(branch, 20)) & ~15;
        const there = keyOffset + (load<u32>(branch, 16) as usize) * keyStride;
        attend_few_queries(
          k, packed, v, shared, packedPrefixK + there + 15 * keyOffset, prefixV + there,
          keyStride, keys, from, to, headDim, lead, scratch,
        );
      } else {
        attend_tiles(k, v, keyStride, keys, from, to, headDim, scratch);
      }
      b = stop;
    }

    for (let b = first; b < last; b++) {
      const branch = branches + (b as usize) * BRANCH_BYTES;
      const slot = load<u32>(branch, 8) as usize, whole = load<i32>(branch, 12);
      const length = window == 0 ? whole : min(whole, window);
      const from = (b - first) * some;
      const offset = keyOffset + (slot * (maxNew as usize) + (whole - length)) * keyStride;
      const k = branchK + offset, v = branchV + offset;
      if (byRows) {
        const rows = element(q + queryOffset, offsets, from);
        attend_branch_keys(
          rows, k, v, keyStride, length, headDim, scale, from, some, lead, scratch,
        );
      } else {
        attend_tiles(k, v, keyStride, length, from, from + some, headDim, scratch);
      }
    }

    softmax_end(out + queryOffset, count, headDim, scratch);
  }
}

/**
 * Queries [from, to) of the block attend to `count` keys, tile by tile; rows are `stride` bytes
 * apart.
 */
function attend_tiles(
  k: usize,
  v: usize,
  stride: usize,
  count: i32,
  from: i32,
  to: i32,
  headDim: i32,
  scratch: usize,
): void {
  for (let j = 0; j < count; j += TILE) {
    const n = min(count - j, TILE);
    const offset = (j as usize) * stride;
    softmax_keys(k + offset, v + offset, n, headDim, scratch);
    softmax_attend(from, to, n, false, 1, 0, 0, 0, headDim, scratch);
  }
}
