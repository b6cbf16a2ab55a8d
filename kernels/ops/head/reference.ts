/** Reference of the fused head: one row of logits at a time, in float64. */
import { type FloatArray, floats, words } from "../common/reference_tensor.ts";
import type { ComputeDtype } from "../common/compute_dtype.ts";
import { softCapOf, softCapSlope } from "../elementwise/reference.ts";
import { operand } from "../matmul/reference.ts";
import type { Tensor } from "../../tensor.ts";
import { unpackStored } from "../../weights/layout.ts";
import { capOf, type HeadArgs, type HeadBackwardArgs } from "./spec.ts";

function weightOf(
  { weight, weightType, vocab, d }: HeadArgs | HeadBackwardArgs,
  computeDtype: ComputeDtype,
): FloatArray {
  const values = weightType === undefined
    ? floats(weight)
    : unpackStored(weightType, vocab, d, words(weight));
  return operand(values, computeDtype);
}

interface Adapter {
  x: FloatArray; // [rows, r]
  b: FloatArray; // [vocab, r]
  r: number;
  scale: number;
}

function adapterOf(
  { xa, loraB, r, loraScale }: HeadArgs | HeadBackwardArgs,
  computeDtype: ComputeDtype,
): Adapter | null {
  const factor = (x: Tensor) => operand(floats(x), computeDtype);
  return xa && loraB && r !== undefined && loraScale !== undefined
    ? { x: factor(xa), b: factor(loraB), r, scale: loraScale }
    : null;
}

/** z = hidden[row]·weightᵀ/temperature with the adapter's part, capped, into `z` [vocab]. */
function logits(
  z: Float64Array,
  hidden: FloatArray,
  weight: FloatArray,
  adapter: Adapter | null,
  row: number,
  args: HeadArgs | HeadBackwardArgs,
): void {
  const { d, temperature } = args, cap = capOf(args);
  for (let t = 0; t < z.length; t++) {
    let dot = 0;
    for (let j = 0; j < d; j++) dot += hidden[row * d + j]! * weight[t * d + j]!;
    if (adapter !== null) {
      const { x, b, r, scale } = adapter;
      let low = 0;
      for (let j = 0; j < r; j++) low += x[row * r + j]! * b[t * r + j]!;
      dot += scale * low;
    }
    z[t] = softCapOf(dot / temperature, cap);
  }
}

export function head(args: HeadArgs, computeDtype: ComputeDtype): void {
  const { rows, vocab, d } = args;
  const hidden = operand(floats(args.hidden), computeDtype);
  const weight = weightOf(args, computeDtype), adapter = adapterOf(args, computeDtype);
  const pairStart = words(args.pairStart), targets = words(args.targets);
  const logp = floats(args.logp), lse = floats(args.lse), entropy = floats(args.entropy);
  const mean = args.mean && floats(args.mean);
  const z = new Float64Array(vocab), meanRow = new Float64Array(d);
  for (let r = 0; r < rows; r++) {
    logits(z, hidden, weight, adapter, r, args);
    let max = -Infinity;
    for (let t = 0; t < vocab; t++) max = Math.max(max, z[t]!);
    let total = 0, shifted = 0; // Σ e^(z−max), Σ e^(z−max)·(z−max)
    for (let t = 0; t < vocab; t++) {
      const e = Math.exp(z[t]! - max);
      total += e;
      shifted += e * (z[t]! - max);
    }
    const logTotal = Math.log(total);
    for (let pair = pairStart[r]!; pair < pairStart[r + 1]!; pair++) {
      logp[pair] = z[targets[pair]!]! - max - logTotal;
    }
    lse[r] = max + logTotal;
    entropy[r] = logTotal - shifted / total;
    if (!mean) continue;
    meanRow.fill(0);
    for (let t = 0; t < vocab; t++) {
      const p = Math.exp(z[t]! - max) / total;
      for (let j = 0; j < d; j++) meanRow[j]! += p * weight[t * d + j]!;
    }
    mean.set(meanRow, r * d);
  }
}

/** dhidden = (Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean) / temperature. */
function backwardFromMean(args: HeadBackwardArgs, mean: FloatArray): void {
  const { rows, d, temperature } = args;
  const weight = weightOf(args, "float32"),
    dlogp = floats(args.dlogp),
    dhidden = floats(args.dhidden);
  const pairStart = words(args.pairStart), targets = words(args.targets);
  const dh = new Float64Array(d);
  for (let r = 0; r < rows; r++) {
    dh.fill(0);
    for (let pair = pairStart[r]!; pair < pairStart[r + 1]!; pair++) {
      const a = dlogp[pair]!, target = targets[pair]! * d;
      for (let j = 0; j < d; j++) dh[j]! += a * (weight[target + j]! - mean[r * d + j]!);
    }
    for (let j = 0; j < d; j++) dhidden[r * d + j] = dh[j]! / temperature;
  }
}

export function headBackward(args: HeadBackwardArgs, computeDtype: ComputeDtype): void {
  if (args.mean) return backwardFromMean(args, floats(args.mean));
  const { rows, vocab, d, temperature } = args;
  const hidden = operand(floats(args.hidden), computeDtype);
  const weight = weightOf(args, computeDtype), adapter = adapterOf(args, computeDtype);
  const pairStart = words(args.pairStart), targets = words(args.targets);
  const lse = floats(args.lse), entropy = floats(args.entropy);
  const dlogp = floats(args.dlogp), dentropy = args.dentropy && floats(args.dentropy);
  const dhidden = floats(args.dhidden);
  const z = new Float64Array(vocab), dz = new Float64Array(vocab), dh = new Float64Array(d);
  const weightSum = args.dweight && new Float64Array(vocab * d); // dzᵀ·hidden/temperature
  const low = adapterGradients(args, adapter);
  for (let r = 0; r < rows; r++) {
    logits(z, hidden, weight, adapter, r, args);
    let alpha = 0;
    for (let pair = pairStart[r]!; pair < pairStart[r + 1]!; pair++) alpha += dlogp[pair]!;
    const b = dentropy ? dentropy[r]! : 0;
    for (let t = 0; t < vocab; t++) {
      const logProbability = z[t]! - lse[r]!;
      const p = Math.exp(logProbability);
      dz[t] = -alpha * p - b * p * (logProbability + entropy[r]!);
    }
    for (let pair = pairStart[r]!; pair < pairStart[r + 1]!; pair++) {
      const t = targets[pair]!;
      dz[t] = dz[t]! + dlogp[pair]!;
    }
    for (let t = 0; t < vocab; t++) dz[t] = dz[t]! * softCapSlope(z[t]!, capOf(args));
    dz.set(operand(dz, computeDtype));
    dh.fill(0);
    for (let t = 0; t < vocab; t++) {
      const g = dz[t]! / temperature;
      for (let j = 0; j < d; j++) dh[j] = dh[j]! + g * weight[t * d + j]!;
      if (!weightSum) continue;
      for (let j = 0, at = t * d; j < d; j++, at++) {
        weightSum[at] = weightSum[at]! + g * hidden[r * d + j]!;
      }
    }
    dhidden.set(dh, r * d);
    low?.addRow(dz, r, temperature);
  }
  low?.finish();
  if (args.dweight && weightSum) addTo(floats(args.dweight), weightSum);
}

/** The gradients of an adapter, row by row of dz; null without one. */
function adapterGradients({ dxa, dloraB, vocab }: HeadBackwardArgs, adapter: Adapter | null) {
  if (adapter === null || !dxa) return null;
  const { x, b, r, scale } = adapter, inputs = floats(dxa);
  const sum = dloraB && new Float64Array(vocab * r), dx = new Float64Array(r);
  return {
    addRow(dz: Float64Array, row: number, temperature: number): void {
      dx.fill(0);
      for (let t = 0; t < vocab; t++) {
        const g = scale * dz[t]! / temperature;
        for (let j = 0; j < r; j++) {
          dx[j] = dx[j]! + g * b[t * r + j]!;
          if (sum) sum[t * r + j] = sum[t * r + j]! + g * x[row * r + j]!;
        }
      }
      inputs.set(dx, row * r);
    },
    finish(): void {
      if (dloraB && sum) addTo(floats(dloraB), sum);
    },
  };
}

function addTo(out: FloatArray, sum: Float64Array): void {
  for (let i = 0; i < sum.length; i++) out[i] = out[i]! + sum[i]!;
}
