/** Reference of decode_layer: the reference operations one after the other. */
import { attentionDecode } from "../attention_decode/reference.ts";
import type { Tensor } from "../../tensor.ts";
import { matmul } from "../matmul/reference.ts";
import { type FloatArray, floats, ReferenceTensor } from "../common/reference_tensor.ts";
import { rmsnorm } from "../rmsnorm/reference.ts";
import { rope } from "../rope/reference.ts";
import { scatterRows } from "../rows/reference.ts";
import { swiglu } from "../swiglu/reference.ts";
import type { DecodeLayerArgs } from "./spec.ts";

export function decodeLayer(args: DecodeLayerArgs): void {
  const { x, count: rows, d, f, heads, kvHeads, headDim, eps } = args;
  const width = heads * headDim, kv = kvHeads * headDim;
  const make = (n: number): Tensor => {
    const data = new (floats(x).constructor as new (n: number) => FloatArray)(n);
    const storage = { freed: false, bytes: data.byteLength };
    return new ReferenceTensor(x.device, "float", "of a decoding layer", storage, 0, data, false);
  };
  const project = (a: Tensor, b: Tensor, n: number, k: number, out = make(rows * n)) => {
    matmul({ a, b, out, m: rows, n, k, packedB: true, accumulate: out === x });
    return out;
  };
  const keep = (src: Tensor, table: Tensor | undefined, d: number) => {
    if (table !== undefined) scatterRows({ src, index: args.keptRow!, table, rows, d });
  };
  keep(x, args.keptH, d);
  const normed = make(rows * d), rho = make(rows);
  rmsnorm({ x, weight: args.inputNorm, out: normed, rho, rows, d, eps });
  const q = project(normed, args.wq, width, d);
  const k = project(normed, args.wk, kv, d);
  const v = project(normed, args.wv, kv, d);
  keep(q, args.keptQ, width);
  keep(k, args.keptK, kv);
  keep(v, args.keptV, kv);
  const { cos, sin, positions, cacheRow: index } = args;
  rope({ x: q, cos, sin, positions, rows, heads, headDim });
  rope({ x: k, cos, sin, positions, rows, heads: kvHeads, headDim });
  scatterRows({ src: k, index, table: args.branchK, rows, d: kv });
  scatterRows({ src: v, index, table: args.branchV, rows, d: kv });
  const out = make(rows * width);
  attentionDecode({ ...args, q, out });
  project(out, args.wo, d, width, x);
  keep(x, args.keptMid, d);
  rmsnorm({ x, weight: args.postNorm, out: normed, rho, rows, d, eps });
  const gate = project(normed, args.wGate, f, d), up = project(normed, args.wUp, f, d);
  keep(gate, args.keptGate, f);
  keep(up, args.keptUp, f);
  swiglu({ gate, up, out: gate, n: rows * f });
  project(gate, args.wDown, d, f, x);
}
