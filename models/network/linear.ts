/**
 * A linear layer, y = x·Wᵀ + b (+ s·(x·Aᵀ)·Bᵀ with a LoRA adapter), forward and backward. W is
 * [out, in], or its transpose with `inOut`. Backward, with u = x·Aᵀ:
 *   dx = dy·W (+ du·A), dW += dyᵀ·x, db += Σ_rows dy,
 *   du = s·dy·B, dB += s·dyᵀ·u, dA += duᵀ·x.
 *
 * With dropout the adapter's input is dropout(x) in place of x, and dx gets dropout(du·A) with the
 * same mask. A frozen weight has no gradient; it may be in a storage type, which products widen.
 * `u` is kept from the forward (rows·r elements). With W + s·B·A in place of W
 * (merged_copies.ts; not with dropout), y and dx are one product each, and the adapter
 * only gets gradients. A bias of B is added with the factor s. With DoRA (dora.ts) the product of
 * every output has a factor before the biases are added.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { MatmulArgs } from "../../kernels/ops/matmul/spec.ts";
import { type AdapterDropout, dropOut } from "./dropout.ts";
import { type WeightType, weightType } from "../formats/stored_weight.ts";
import type { Parameter } from "./types.ts";

export interface LoraWeights {
  a: Tensor; // [r, in]
  /** A in packed form, for products of more than DOT_ROWS rows; null = not packed. */
  packedA: Tensor | null;
  b: Tensor; // [out, r]
  /** Null when the adapter is frozen. */
  da: Tensor | null;
  db: Tensor | null;
  r: number;
  scale: number;
  /** The module's number in the model, which keys its dropout masks. */
  site: number;
  bias: Pick<Parameter, "value" | "grad"> | null; // [out]
  dora: DoraWeights | null;
  /** The A and B whose product was taken out of W: y −= s·(x·Aᵀ)·Bᵀ; null = nothing was. */
  initial: { a: Tensor; b: Tensor } | null;
}

/** What DoRA has for each output: kernels/ops/dora/spec.ts. All are [out]. */
export interface DoraWeights {
  magnitude: Tensor;
  /** Null when the adapter is frozen. */
  dmagnitude: Tensor | null;
  squares: Tensor;
  rho: Tensor;
  gain: Tensor;
}

/** Up to this many rows, x·Aᵀ reads A where it is: its sums have another order there. */
const DOT_ROWS = 8;

export interface Linear {
  weight: Tensor; // [out, in], or [in, out] with inOut
  /** The type of a weight that is not float; null = float. */
  storage: WeightType | null;
  /** "int8": the product rounds x to bytes (kernels/ops/matmul/spec.ts). Only in generation. */
  activations?: "int8" | undefined;
  inOut: boolean;
  /** The packed weight (kernels/ops/matmul/spec.ts), which the forward reads; null = not packed. */
  packed: Tensor | null;
  dweight: Tensor | null;
  bias: Pick<Parameter, "value" | "grad"> | null; // [out]
  lora: LoraWeights | null;
  /** Whether `weight` includes the adapter already. */
  merged: boolean;
  /** Matrices of as many experts in one weight (experts.ts); null = it is one matrix. */
  experts: number | null;
  inDim: number;
  outDim: number;
}

export function weightOperand(
  { weight, storage, packed, inOut, activations }: Pick<
    Linear,
    "weight" | "storage" | "packed" | "inOut" | "activations"
  >,
): Pick<MatmulArgs, "b" | "transB" | "packedB" | "weightType" | "activations"> {
  if (packed !== null) return { b: packed, packedB: true };
  return {
    b: weight,
    ...weightType(storage),
    ...(inOut ? {} : { transB: true }),
    ...(activations === undefined ? {} : { activations }),
  };
}

/** A table of vectors [vocab, d] as the second operand of x·Wᵀ, for the head. */
export function headOperand(
  { value, storage, activations }:
    & Pick<Parameter, "value" | "storage">
    & Pick<Linear, "activations">,
  packed: Tensor | null,
): ReturnType<typeof weightOperand> {
  return weightOperand({ weight: value, storage, packed, inOut: false, activations });
}

export interface LinearForward {
  x: Tensor; // [rows, inDim]
  out: Tensor; // [rows, outDim]
  /** The adapter's low-rank part; null exactly when the adapter is off or absent. */
  u: Tensor | null; // [rows, r]
  /** Keeps the product before DoRA's factors for the backward; null = it is not needed. */
  y: Tensor | null; // [rows, outDim]
  rows: number;
  dropout: AdapterDropout | null;
}

/** out[rows, outDim] = linear(x[rows, inDim]). */
export function linearForward(device: Device, linear: Linear, args: LinearForward): void {
  const { out, u, y, rows } = args, { lora, bias, outDim: d } = linear;
  const dora = u === null ? null : lora?.dora ?? null, product = dora === null ? out : y ?? out;
  linearProduct(device, linear, { ...args, out: product });
  if (dora !== null) device.run("scale_columns", { x: product, gain: dora.gain, out, rows, d });
  if (bias !== null) device.run("add_bias", { x: out, bias: bias.value, rows, d });
  if (u === null || lora === null || lora.bias === null) return;
  device.run("add_bias", { x: out, bias: lora.bias.value, rows, d, scale: lora.scale });
}

/** out[rows, outDim] = x·Wᵀ + s·(x·Aᵀ)·Bᵀ. */
export function linearProduct(
  device: Device,
  linear: Linear,
  { x, out, u, rows, dropout }: Omit<LinearForward, "y">,
): void {
  const { lora, merged, inDim, outDim } = linear;
  const product = { a: x, ...weightOperand(linear), out, m: rows, n: outDim, k: inDim };
  if (lora === null || u === null) {
    device.run("matmul", product);
    return;
  }
  const { b, r, scale, initial } = lora;
  if (initial !== null && !merged) {
    // `u` is free until the present A is multiplied.
    const { a, b: loraB } = initial;
    device.run("matmul", { a: x, b: a, transB: true, out: u, m: rows, n: r, k: inDim });
    device.run("matmul", { ...product, xa: u, loraB, r, loraScale: -scale });
    lowRankInput(device, lora, { x, u, rows, inDim, dropout });
    const sum = { m: rows, n: outDim, k: r, alpha: scale, accumulate: true };
    device.run("matmul", { a: u, b, transB: true, out, ...sum });
    return;
  }
  lowRankInput(device, lora, { x, u, rows, inDim, dropout });
  const adapter = merged ? {} : { xa: u, loraB: b, r, loraScale: scale };
  device.run("matmul", { ...product, ...adapter });
}

interface LowRank {
  x: Tensor; // [rows, inDim], before dropout
  rows: number;
  inDim: number;
  dropout: AdapterDropout | null;
}

/** u[rows, r] = dropout(x)·Aᵀ. */
export function lowRankInput(
  device: Device,
  lora: LoraWeights,
  { x, u, rows, inDim, dropout }: LowRank & { u: Tensor },
): void {
  const { packedA } = lora, a = dropped(device, dropout, lora, x, rows, inDim);
  const b = packedA !== null && rows > DOT_ROWS
    ? { b: packedA, packedB: true }
    : { b: lora.a, transB: true };
  device.run("matmul", { a, ...b, out: u, m: rows, n: lora.r, k: inDim });
}

/** dx[rows, inDim] += dropout(du·A). */
export function addLowRankDx(
  device: Device,
  { a, r, site }: LoraWeights,
  { du, dx, rows, inDim, dropout }: Omit<LowRank, "x"> & { du: Tensor; dx: Tensor },
): void {
  const product = { a: du, b: a, m: rows, n: inDim, k: r };
  if (dropout === null) {
    device.run("matmul", { ...product, out: dx, accumulate: true });
    return;
  }
  const { scratch: x } = dropout;
  device.run("matmul", { ...product, out: x });
  dropOut(device, dropout, { x, out: dx, rows, d: inDim, site, accumulate: true });
}

/** da[r, inDim] += duᵀ·dropout(x). */
export function addLowRankGradient(
  device: Device,
  lora: LoraWeights,
  { du, x, da, rows, inDim, dropout }: LowRank & { du: Tensor; da: Tensor },
): void {
  const b = dropped(device, dropout, lora, x, rows, inDim);
  const sum = { k: rows, transA: true, accumulate: true };
  device.run("matmul", { a: du, b, out: da, m: lora.r, n: inDim, ...sum });
}

/** The adapter's input: x, or dropout(x) in the scratch buffer. */
function dropped(
  device: Device,
  dropout: AdapterDropout | null,
  { site }: LoraWeights,
  x: Tensor,
  rows: number,
  d: number,
): Tensor {
  if (dropout === null) return x;
  dropOut(device, dropout, { x, out: dropout.scratch, rows, d, site });
  return dropout.scratch;
}

export interface LinearBackward {
  x: Tensor; // [rows, inDim], the forward's input; read only when something is trained
  u: Tensor | null; // [rows, r], from the forward
  y: Tensor | null; // [rows, outDim], from the forward, overwritten
  dy: Tensor; // [rows, outDim]
  /** [rows, inDim], overwritten (or added to, with `accumulate`); null when not needed */
  dx: Tensor | null;
  accumulate?: boolean;
  /** Scratch [rows, r]; may be null when `u` is. */
  du: Tensor | null;
  rows: number;
  dropout: AdapterDropout | null;
  /** Called after dx is computed and before x is read: it may compute x. */
  beforeX?: () => void;
}

export function linearBackward(device: Device, linear: Linear, args: LinearBackward): void {
  const { weight, storage, inOut, dweight, bias, lora, merged, inDim, outDim } = linear;
  const { x, u, y, dx, du, rows, dropout } = args;
  let { dy } = args;
  const biases = [[bias?.grad, 1], [
    u === null ? null : lora?.bias?.grad,
    lora?.scale ?? 1,
  ]] as const;
  for (const [dbias, scale] of biases) {
    if (dbias != null) device.run("add_bias_backward", { dout: dy, dbias, rows, d: outDim, scale });
  }
  if (u !== null && y !== null && lora?.dora?.dmagnitude != null) {
    const { gain, rho, dmagnitude } = lora.dora, shape = { rows, d: outDim };
    device.run("scale_columns_backward", { dout: dy, x: y, rho, dmagnitude, ...shape });
    device.run("scale_columns", { x: dy, gain, out: y, ...shape });
    dy = y;
  }
  if (dx !== null) {
    const accumulate = args.accumulate ?? false;
    const operand = { b: weight, ...weightType(storage), transB: inOut };
    const sizes = { m: rows, n: inDim, k: outDim };
    device.run("matmul", { a: dy, ...operand, out: dx, ...sizes, accumulate });
  }
  // A merged weight has added the adapter's part to dx already.
  const dxLeft = merged ? null : dx;
  if (lora !== null && u !== null && du !== null && (dxLeft !== null || lora.da !== null)) {
    const { b, r, scale, initial } = lora, product = { a: dy, m: rows, n: r, k: outDim };
    if (dxLeft !== null && initial !== null) {
      device.run("matmul", { ...product, b: initial.b, out: du, alpha: -scale });
      const frozen = { ...lora, a: initial.a };
      addLowRankDx(device, frozen, { du, dx: dxLeft, rows, inDim, dropout: null });
    }
    device.run("matmul", { ...product, b, out: du, alpha: scale });
    if (dxLeft !== null) addLowRankDx(device, lora, { du, dx: dxLeft, rows, inDim, dropout });
  }
  args.beforeX?.();
  const sum = { k: rows, transA: true, accumulate: true };
  if (dweight !== null && inOut) {
    device.run("matmul", { a: x, b: dy, out: dweight, m: inDim, n: outDim, ...sum });
  } else if (dweight !== null) {
    device.run("matmul", { a: dy, b: x, out: dweight, m: outDim, n: inDim, ...sum });
  }
  if (lora === null || u === null || du === null) return;
  const { da, db, r, scale } = lora;
  if (da === null || db === null) return;
  device.run("matmul", { a: dy, b: u, out: db, m: outDim, n: r, alpha: scale, ...sum });
  addLowRankGradient(device, lora, { du, x, da, rows, inDim, dropout });
}
