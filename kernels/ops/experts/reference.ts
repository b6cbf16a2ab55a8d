/** Reference of the operations on experts: one row, or one expert, after the other. */
import { floats, words } from "../common/reference_tensor.ts";
import type { ComputeDtype } from "../common/compute_dtype.ts";
import { operand } from "../matmul/reference.ts";
import { unpackStored } from "../../weights/layout.ts";
import { route, routeBackward } from "./choose.ts";
import type { ExpertGradientArgs, ExpertMatmulArgs, RouteArgs, RouteBackwardArgs } from "./spec.ts";

export function routeReference(args: RouteArgs): void {
  route({
    ...args,
    logits: floats(args.logits),
    gates: floats(args.gates),
    rowOf: words(args.rowOf),
    placeOf: words(args.placeOf),
    expertOf: words(args.expertOf),
    begin: words(args.begin),
  });
}

export function routeBackwardReference(args: RouteBackwardArgs): void {
  routeBackward({
    ...args,
    logits: floats(args.logits),
    gates: floats(args.gates),
    placeOf: words(args.placeOf),
    expertOf: words(args.expertOf),
    dgates: floats(args.dgates),
    balance: args.balance && floats(args.balance),
    dlogits: floats(args.dlogits),
  });
}

export function expertMatmul(args: ExpertMatmulArgs, dtype: ComputeDtype = "float32"): void {
  const { experts, n, k, transB = false, alpha = 1, accumulate = false, weightType } = args;
  const begin = words(args.begin), a = operand(floats(args.a), dtype), out = floats(args.out);
  const [height, width] = transB ? [n, k] : [k, n];
  const b = operand(
    weightType === undefined
      ? floats(args.b)
      : unpackStored(weightType, experts * height, width, words(args.b)),
    dtype,
  );
  for (let e = 0; e < experts; e++) {
    for (let row = begin[e]!; row < begin[e + 1]!; row++) {
      for (let j = 0; j < n; j++) {
        let sum = 0, at = e * n * k + (transB ? j * k : j);
        for (let p = 0; p < k; p++, at += transB ? 1 : n) sum += a[row * k + p]! * b[at]!;
        out[row * n + j] = (accumulate ? out[row * n + j]! : 0) + alpha * sum;
      }
    }
  }
}

export function expertGradient(args: ExpertGradientArgs, dtype: ComputeDtype = "float32"): void {
  const { experts, m, n, alpha = 1 } = args, begin = words(args.begin), out = floats(args.out);
  const a = operand(floats(args.a), dtype), b = operand(floats(args.b), dtype);
  for (let e = 0; e < experts; e++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let row = begin[e]!; row < begin[e + 1]!; row++) {
          sum += a[row * m + i]! * b[row * n + j]!;
        }
        out[(e * m + i) * n + j]! += alpha * sum;
      }
    }
  }
}
