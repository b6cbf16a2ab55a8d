/** Reference of attention over a packed batch, and its gradient: one row and head at a time. */
import { type FloatArray, floats, words } from "../common/reference_tensor.ts";
import { softCapOf, softCapSlope } from "../elementwise/reference.ts";
import {
  type AttentionBackwardArgs,
  type AttentionForwardArgs,
  SEGMENT,
  type SinksBackwardArgs,
} from "./spec.ts";

/**
 * The rows of k and v that a row attends to, in order: its prefix, then its segment up to itself.
 */
class AttendedRows {
  /** Elements [0, count) are the rows that the last call of `findFor` found. */
  readonly rows: Uint32Array;
  readonly #keys: Uint32Array | null;
  readonly #segments: Uint32Array;
  readonly #rowSegment: Uint32Array;
  readonly #window: number;

  constructor(args: AttentionForwardArgs) {
    this.#segments = words(args.segments);
    this.#rowSegment = words(args.rowSegment);
    this.#window = args.window ?? Infinity;
    this.#keys = args.keys === undefined ? null : words(args.keys);
    this.rows = new Uint32Array(Math.floor(args.k.length / (args.kvHeads * args.headDim)));
  }

  /** Finds the rows that a row attends to; returns their count. */
  findFor(row: number): number {
    const segment = this.#rowSegment[row]!, s = segment * SEGMENT.columns;
    let count = 0;
    const begin = this.#segments[s + SEGMENT.begin]!;
    const prefixEnd = this.#segments[s + SEGMENT.prefixEnd]!;
    const prefixBegin = this.#segments[s + SEGMENT.prefixBegin]!;
    const left = Math.max(0, this.#window - (row + 1 - begin));
    for (let j = Math.max(prefixBegin, prefixEnd - left); j < prefixEnd; j++) {
      this.rows[count++] = j;
    }
    let first = Math.max(begin, row + 1 - this.#window), last = row;
    if (this.#keys !== null) {
      first = this.#keys[2 * segment]!;
      last += this.#keys[2 * segment + 1]! - this.#segments[s + SEGMENT.end]!;
    }
    for (let j = first; j <= last; j++) this.rows[count++] = j;
    return count;
  }
}

export function attention(args: AttentionForwardArgs): void {
  const { rows, heads, kvHeads, headDim, scale } = args;
  const q = floats(args.q), k = floats(args.k), v = floats(args.v);
  const out = floats(args.out), lse = floats(args.lse);
  const perKv = heads / kvHeads, sinks = args.sinks && floats(args.sinks);
  const attended = new AttendedRows(args);
  const p = new Float64Array(attended.rows.length), mix = new Float64Array(headDim);
  for (let i = 0; i < rows; i++) {
    const count = attended.findFor(i);
    for (let h = 0; h < heads; h++) {
      const qAt = (i * heads + h) * headDim;
      const kvHead = Math.floor(h / perKv);
      let max = sinks?.[h] ?? -Infinity;
      for (let c = 0; c < count; c++) {
        const kAt = (attended.rows[c]! * kvHeads + kvHead) * headDim;
        let dot = 0;
        for (let e = 0; e < headDim; e++) dot += q[qAt + e]! * k[kAt + e]!;
        p[c] = softCapOf(scale * dot, args.softCap);
        max = Math.max(max, p[c]!);
      }
      let total = sinks === undefined ? 0 : Math.exp(sinks[h]! - max);
      mix.fill(0);
      for (let c = 0; c < count; c++) {
        const weight = Math.exp(p[c]! - max);
        total += weight;
        const vAt = (attended.rows[c]! * kvHeads + kvHead) * headDim;
        for (let e = 0; e < headDim; e++) mix[e] = mix[e]! + weight * v[vAt + e]!;
      }
      for (let e = 0; e < headDim; e++) out[qAt + e] = mix[e]! / total;
      lse[i * heads + h] = max + Math.log(total);
    }
  }
}

export function attentionBackward(args: AttentionBackwardArgs): void {
  const { rows, heads, kvHeads, headDim, scale } = args;
  const q = floats(args.q), k = floats(args.k), v = floats(args.v);
  const out = floats(args.out), lse = floats(args.lse), dout = floats(args.dout);
  const perKv = heads / kvHeads;
  const attended = new AttendedRows(args);
  const dq = new Float64Array(rows * heads * headDim);
  const dk = new Float64Array(rows * kvHeads * headDim);
  const dv = new Float64Array(rows * kvHeads * headDim);
  for (let i = 0; i < rows; i++) {
    const count = attended.findFor(i);
    for (let h = 0; h < heads; h++) {
      const at = (i * heads + h) * headDim; // where q_i, out_i, dout_i and dq_i begin
      const kvHead = Math.floor(h / perKv);
      let delta = 0;
      for (let e = 0; e < headDim; e++) delta += dout[at + e]! * out[at + e]!;
      for (let c = 0; c < count; c++) {
        // Where k_j, v_j, dk_j and dv_j begin.
        const kv = (attended.rows[c]! * kvHeads + kvHead) * headDim;
        let dot = 0, dp = 0;
        for (let e = 0; e < headDim; e++) {
          dot += q[at + e]! * k[kv + e]!;
          dp += dout[at + e]! * v[kv + e]!;
        }
        const score = softCapOf(scale * dot, args.softCap);
        const p = Math.exp(score - lse[i * heads + h]!);
        const ds = scale * p * (dp - delta) * softCapSlope(score, args.softCap);
        for (let e = 0; e < headDim; e++) {
          dq[at + e] = dq[at + e]! + ds * k[kv + e]!;
          dk[kv + e] = dk[kv + e]! + ds * q[at + e]!;
          dv[kv + e] = dv[kv + e]! + p * dout[at + e]!;
        }
      }
    }
  }
  floats(args.dq).set(dq);
  floats(args.dk).set(dk);
  floats(args.dv).set(dv);
}

/** The arguments of `sinks_backward` as arrays, for devices that compute in the host's memory. */
export type SinksOnHost = {
  [P in keyof SinksBackwardArgs]: SinksBackwardArgs[P] extends number ? number : FloatArray;
};

export function addSinkGradients(args: SinksOnHost): void {
  const { dout, out, lse, sinks, dsinks, rows, heads, headDim } = args;
  for (let h = 0; h < heads; h++) {
    let sum = 0;
    for (let at = h; at < rows * heads; at += heads) {
      let delta = 0;
      for (let e = at * headDim; e < (at + 1) * headDim; e++) delta += dout[e]! * out[e]!;
      sum += Math.exp(sinks[h]! - lse[at]!) * delta;
    }
    dsinks[h]! -= sum;
  }
}

export function sinksBackward(args: SinksBackwardArgs): void {
  const { dout, out, lse, sinks, dsinks } = args;
  addSinkGradients({
    ...args,
    dout: floats(dout),
    out: floats(out),
    lse: floats(lse),
    sinks: floats(sinks),
    dsinks: floats(dsinks),
  });
}
