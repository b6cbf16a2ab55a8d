/** Reference of the matrix product: row by row of the output, with sums in float64. */
import { type FloatArray, floats, words } from "../common/reference_tensor.ts";
import { unpackStored } from "../../weights/layout.ts";
import type { ComputeDtype } from "../common/compute_dtype.ts";
import { roundBf16 } from "./bf16.ts";
import { roundF16 } from "./f16.ts";
import { roundRows } from "./int8_rows.ts";
import { type MatmulArgs, packedLength, type PackWeightArgs, PANEL } from "./spec.ts";

/**
 * Index of element (j, 0) of a packed weight [n, k]; the row's next elements follow PANEL apart.
 */
function packedStart(j: number, k: number): number {
  return (j - j % PANEL) * k + j % PANEL;
}

export function packWeight({ weight, out, n, k }: PackWeightArgs): void {
  const from = floats(weight), to = floats(out);
  to.fill(0, 0, packedLength(n, k));
  for (let j = 0; j < n; j++) {
    for (let p = 0, at = packedStart(j, k); p < k; p++, at += PANEL) to[at] = from[j * k + p]!;
  }
}

/** The operand of a product as the product reads it. */
export function operand(x: FloatArray, computeDtype: ComputeDtype): FloatArray {
  if (computeDtype === "float32") return x;
  return computeDtype === "bfloat16" ? roundBf16(x) : roundF16(x);
}

export function matmul(args: MatmulArgs, computeDtype: ComputeDtype = "float32"): void {
  const { m, n, k, transA = false, transB = false, alpha = 1, accumulate = false } = args;
  const { weightType, xa, loraB, r = 0, loraScale = 1 } = args;
  const given = floats(args.a), out = floats(args.out), int8 = args.activations === "int8";
  const a = int8 ? roundRows(given, m, k) : operand(given, computeDtype);
  const weight = weightType === undefined
    ? floats(args.b)
    : transB
    ? unpackStored(weightType, n, k, words(args.b))
    : unpackStored(weightType, k, n, words(args.b));
  const b = int8 ? weight : operand(weight, computeDtype);
  const adapted = xa && loraB
    ? { x: operand(floats(xa), computeDtype), w: operand(floats(loraB), computeDtype) }
    : null;
  const aRow = new Float64Array(k); // op(a)[i, :]
  const sum = new Float64Array(n); // (op(a)·op(b))[i, :]
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < k; p++) aRow[p] = transA ? a[p * m + i]! : a[i * k + p]!;
    if (args.packedB) {
      for (let j = 0; j < n; j++) {
        let dot = 0;
        for (let p = 0, at = packedStart(j, k); p < k; p++, at += PANEL) dot += aRow[p]! * b[at]!;
        sum[j] = dot;
      }
    } else if (transB) {
      for (let j = 0; j < n; j++) {
        let dot = 0;
        for (let p = 0, at = j * k; p < k; p++, at++) dot += aRow[p]! * b[at]!;
        sum[j] = dot;
      }
    } else {
      sum.fill(0);
      for (let p = 0; p < k; p++) {
        const x = aRow[p]!;
        for (let j = 0, at = p * n; j < n; j++, at++) sum[j] = sum[j]! + x * b[at]!;
      }
    }
    for (let j = 0, at = i * n; j < n; j++, at++) {
      let value = (accumulate ? out[at]! : 0) + alpha * sum[j]!;
      if (adapted !== null) {
        let dot = 0;
        for (let p = 0; p < r; p++) dot += adapted.x[i * r + p]! * adapted.w[j * r + p]!;
        value += loraScale * dot;
      }
      out[at] = value;
    }
  }
}
