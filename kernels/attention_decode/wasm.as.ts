// Attention of one new query per branch (kernels/attention_decode/spec.ts). Work unit: BRANCHES branches ×
// one key head. Neighbouring branches with the same prefix attend to it together: its keys are brought
// into scratch once for all of them.
import { TILE } from "../attention/tile.as";
import { pack_transposed, tile_element, unpack_row } from "../attention/pack.as";
import {
  outputs,
  queries,
  softmax_attend,
  softmax_begin,
  softmax_keys,
  sums,
} from "../attention/softmax.as";

/** Columns of the branch table, in bytes (spec.ts, BRANCH). */
const BRANCH_BYTES: usize = 16;

/** Units: ⌈count / blockBranches⌉ · kvHeads, the key head running fastest. */
export function attention_decode(
  q: usize,
  prefixK: usize,
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
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const group = heads / kvHeads;
  const padded = (headDim + 15) & ~15;
  const queryStride = (heads * headDim * 4) as usize;
  const keyStride = (kvHeads * headDim * 4) as usize;
  for (let unit = begin; unit < end; unit++) {
    const head = unit % kvHeads;
    const first = (unit / kvHeads) * blockBranches;
    const last = min(first + blockBranches, branchCount);
    const queryOffset = (first as usize) * queryStride + (head * group * headDim * 4);
    const keyOffset = (head * headDim * 4) as usize;
    const count = (last - first) * group;
    pack_transposed(q + queryOffset, queryStride, group, count, headDim, scale, queries(scratch));
    softmax_begin(scratch, headDim);

    for (let b = first; b < last;) {
      const branch = branches + (b as usize) * BRANCH_BYTES;
      const prefixBegin = load<i32>(branch), prefixEnd = load<i32>(branch, 4);
      let stop = b + 1;
      for (let next = branch + BRANCH_BYTES; stop < last; stop++, next += BRANCH_BYTES) {
        if (load<i32>(next) != prefixBegin || load<i32>(next, 4) != prefixEnd) break;
      }
      const from = (b - first) * group, to = (stop - first) * group;
      for (let j = prefixBegin; j < prefixEnd; j += TILE) {
        const n = min(prefixEnd - j, TILE);
        const offset = keyOffset + (j as usize) * keyStride;
        softmax_keys(prefixK + offset, prefixV + offset, keyStride, n, headDim, scratch);
        softmax_attend(from, to, n, false, group, 0, headDim, scratch);
      }
      b = stop;
    }

    for (let b = first; b < last; b++) {
      const branch = branches + (b as usize) * BRANCH_BYTES;
      const slot = load<u32>(branch, 8) as usize, length = load<i32>(branch, 12);
      const from = (b - first) * group;
      for (let j = 0; j < length; j += TILE) {
        const n = min(length - j, TILE);
        const offset = keyOffset + (slot * (maxNew as usize) + (j as usize)) * keyStride;
        softmax_keys(branchK + offset, branchV + offset, keyStride, n, headDim, scratch);
        softmax_attend(from, from + group, n, false, group, 0, headDim, scratch);
      }
    }

    for (let i = 0; i < count; i++) {
      const l = load<f32>(sums(scratch) + ((i as usize) << 2));
      unpack_row(
        outputs(scratch, padded) + ((i as usize) << 6),
        tile_element(out + queryOffset, queryStride, group, headDim, i),
        headDim,
        1 / l,
      );
    }
  }
}
