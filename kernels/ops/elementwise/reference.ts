/** Reference of the elementwise operations. */
import { floats, type ReferenceTensor } from "../common/reference_tensor.ts";
import type {
  AddArgs,
  CopyArgs,
  FillArgs,
  MultiplyArgs,
  SoftCapArgs,
  SoftCapBackwardArgs,
} from "./spec.ts";

export function add(args: AddArgs): void {
  const { n, scale = 1 } = args;
  const a = args.a && floats(args.a), b = floats(args.b), out = floats(args.out);
  for (let i = 0; i < n; i++) out[i] = a ? a[i]! + scale * b[i]! : scale * b[i]!;
}

export function multiply(args: MultiplyArgs): void {
  const a = floats(args.a), b = floats(args.b), out = floats(args.out);
  for (let i = 0; i < args.n; i++) out[i] = a[i]! * b[i]!;
}

/** cap·tanh(x/cap); x without a cap. */
export function softCapOf(x: number, cap: number | undefined): number {
  return cap === undefined ? x : cap * Math.tanh(x / cap);
}

/** The derivative of {@link softCapOf}, from its value. */
export function softCapSlope(y: number, cap: number | undefined): number {
  return cap === undefined ? 1 : 1 - (y / cap) ** 2;
}

export function softCap(args: SoftCapArgs): void {
  const x = floats(args.x), out = floats(args.out);
  for (let i = 0; i < args.n; i++) out[i] = softCapOf(x[i]!, args.cap);
}

export function softCapBackward(args: SoftCapBackwardArgs): void {
  const dout = floats(args.dout), y = floats(args.y), dx = floats(args.dx);
  for (let i = 0; i < args.n; i++) dx[i] = dout[i]! * softCapSlope(y[i]!, args.cap);
}

export function copy(args: CopyArgs): void {
  const src = (args.src as ReferenceTensor).data, out = (args.out as ReferenceTensor).data;
  out.set(src.subarray(0, args.n));
}

export function fill(args: FillArgs): void {
  floats(args.out).fill(args.value, 0, args.n);
}
