/** Reference of attention for one new query per branch. */
import { widenBf16Words } from "../bf16_weights/reference.ts";
import { floats, words } from "../common/reference_tensor.ts";
import type { Tensor } from "../../tensor.ts";
import { softCapOf } from "../elementwise/reference.ts";
import { type AttentionDecodeArgs, BRANCH } from "./spec.ts";

export function attentionDecode(args: AttentionDecodeArgs): void {
  const { count, maxNew, heads, kvHeads, headDim, scale, window = Infinity } = args;
  const q = floats(args.q), out = floats(args.out), branches = words(args.branches);
  const read = args.bf16 ? (of: Tensor) => widenBf16Words(words(of)) : floats;
  const prefixK = read(args.prefixK), prefixV = read(args.prefixV);
  const branchK = read(args.branchK), branchV = read(args.branchV);
  const perKv = heads / kvHeads, sinks = args.sinks && floats(args.sinks);
  const mix = new Float64Array(headDim);
  for (let b = 0; b < count; b++) {
    const prefixBegin = branches[b * BRANCH.columns + BRANCH.prefixBegin]!;
    const prefixEnd = branches[b * BRANCH.columns + BRANCH.prefixEnd]!;
    const slot = branches[b * BRANCH.columns + BRANCH.slot]!;
    const length = branches[b * BRANCH.columns + BRANCH.length]!;
    const prefixRows = prefixEnd - prefixBegin;
    const hidden = Math.max(0, length - window);
    const p = new Float64Array(prefixRows + length - hidden);
    for (let h = 0; h < heads; h++) {
      const qAt = (b * heads + h) * headDim;
      const kvHead = Math.floor(h / perKv);
      /**
       * Index of the first element of the branch's key c, in the memory of the prefix or of the
       * slot.
       */
      const keyAt = (c: number) => {
        const row = c < prefixRows ? prefixBegin + c : slot * maxNew + hidden + (c - prefixRows);
        return (row * kvHeads + kvHead) * headDim;
      };
      let max = sinks?.[h] ?? -Infinity;
      for (let c = 0; c < p.length; c++) {
        const keys = c < prefixRows ? prefixK : branchK, kAt = keyAt(c);
        let dot = 0;
        for (let e = 0; e < headDim; e++) dot += q[qAt + e]! * keys[kAt + e]!;
        p[c] = softCapOf(scale * dot, args.softCap);
        max = Math.max(max, p[c]!);
      }
      let total = sinks === undefined ? 0 : Math.exp(sinks[h]! - max);
      mix.fill(0);
      for (let c = 0; c < p.length; c++) {
        const values = c < prefixRows ? prefixV : branchV, vAt = keyAt(c);
        const weight = Math.exp(p[c]! - max);
        total += weight;
        for (let e = 0; e < headDim; e++) mix[e] = mix[e]! + weight * values[vAt + e]!;
      }
      for (let e = 0; e < headDim; e++) out[qAt + e] = mix[e]! / total;
    }
  }
}
