/** Reference of the short convolution and its gradients: one row and channel at a time. */
import { floats, words } from "../common/reference_tensor.ts";
import { NO_ROW, type ShortConvArgs, type ShortConvBackwardArgs } from "./spec.ts";

/** Row of x(i, t) for t > 0; NO_ROW = there is none. */
const rowBefore = (before: Uint32Array, taps: number, i: number, t: number) =>
  before[i * (taps - 1) + t - 1]!;

export function shortConv(args: ShortConvArgs): void {
  const { rows, d, taps } = args, before = words(args.before);
  const x = floats(args.x), table = floats(args.table), weight = floats(args.weight);
  const gate = args.gate && floats(args.gate), out = floats(args.out);
  for (let i = 0; i < rows; i++) {
    for (let c = 0; c < d; c++) {
      let sum = weight[c * taps + taps - 1]! * x[i * d + c]!;
      for (let t = 1; t < taps; t++) {
        const row = rowBefore(before, taps, i, t);
        if (row !== NO_ROW) sum += weight[c * taps + taps - 1 - t]! * table[row * d + c]!;
      }
      out[i * d + c] = (gate?.[i * d + c] ?? 1) * sum;
    }
  }
}

export function shortConvBackward(args: ShortConvBackwardArgs): void {
  const { rows, d, taps } = args, before = words(args.before);
  const x = floats(args.x), weight = floats(args.weight), gate = args.gate && floats(args.gate);
  const dout = floats(args.dout), dweight = args.dweight && floats(args.dweight);
  const dx = new Float64Array(rows * d), dgate = new Float64Array(rows * d);
  const dw = new Float64Array(d * taps);
  for (let i = 0; i < rows; i++) {
    for (let c = 0; c < d; c++) {
      const at = i * d + c, g = dout[at]! * (gate?.[at] ?? 1);
      for (let t = 0; t < taps; t++) {
        const row = t === 0 ? i : rowBefore(before, taps, i, t), w = c * taps + taps - 1 - t;
        if (row === NO_ROW) continue;
        const there = row * d + c;
        dgate[at] = dgate[at]! + dout[at]! * weight[w]! * x[there]!;
        dx[there] = dx[there]! + weight[w]! * g;
        dw[w] = dw[w]! + g * x[there]!;
      }
    }
  }
  floats(args.dx).set(dx);
  if (args.dgate) floats(args.dgate).set(dgate);
  if (dweight) dw.forEach((value, i) => dweight[i] = dweight[i]! + value);
}
