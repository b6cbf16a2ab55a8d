/** Reference of add, copy and fill. */
import { floats, type ReferenceTensor } from "../common/reference_tensor.ts";
import type { AddArgs, CopyArgs, FillArgs } from "./spec.ts";

export function add(args: AddArgs): void {
  const { n, scale = 1 } = args;
  const a = args.a && floats(args.a), b = floats(args.b), out = floats(args.out);
  for (let i = 0; i < n; i++) out[i] = a ? a[i]! + scale * b[i]! : scale * b[i]!;
}

export function copy(args: CopyArgs): void {
  const src = (args.src as ReferenceTensor).data, out = (args.out as ReferenceTensor).data;
  out.set(src.subarray(0, args.n));
}

export function fill(args: FillArgs): void {
  floats(args.out).fill(args.value, 0, args.n);
}
