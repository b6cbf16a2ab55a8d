/**
 * The factors that PiSSA and OLoRA take out of a weight W [out, in] (Meng et al. 2024, Büyükakyüz
 * 2024): A [r, in] and B [out, r] begin with them, and W without s·B·A stays frozen.
 * - PiSSA: the r largest singular values and their vectors, √(σ/s) times both.
 * - OLoRA: the first columns of Q and rows of R in W = Q·R, with the signs that LAPACK gives them.
 */
import { RandomStream } from "../../../core/philox.ts";

/** The initialisations that take their factors out of the weight. */
export const WEIGHT_INITS = ["pissa", "olora"] as const;
export type WeightInit = (typeof WEIGHT_INITS)[number];

/** A matrix by rows. */
interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
}

export interface Factors {
  a: Float64Array; // [r, in]
  b: Float64Array; // [out, r]
}

/** @param weight [out, in], or [in, out] with `inOut` */
export function weightFactors(
  init: WeightInit,
  weight: Float32Array | Float64Array,
  { dims: [inDim, outDim], inOut, r, scale }: {
    dims: readonly [inDim: number, outDim: number];
    inOut: boolean;
    r: number;
    scale: number;
  },
): Factors {
  const values = new Float64Array(weight.length);
  for (let o = 0, at = 0; o < outDim; o++) {
    for (let i = 0; i < inDim; i++, at++) values[at] = weight[inOut ? i * outDim + o : at]!;
  }
  const matrix = { rows: outDim, columns: inDim, values };
  return init === "olora" ? firstOfQr(matrix, r) : largestSingular(matrix, r, scale);
}

/** r steps of Householder's QR: R's first rows, and Q's first columns. Overwrites the matrix. */
function firstOfQr({ rows, columns, values: w }: Matrix, r: number): Factors {
  const reflectors: Float64Array[] = [];
  for (let j = 0; j < r; j++) {
    const v = new Float64Array(rows);
    for (let i = j; i < rows; i++) v[i] = w[i * columns + j]!;
    v[j]! += v[j]! < 0 ? -norm(v) : norm(v);
    const length = norm(v);
    if (length > 0) { for (let i = j; i < rows; i++) v[i]! /= length; }
    reflectors.push(v);
    reflect(v, w, columns, j);
  }
  const b = new Float64Array(rows * r);
  for (let j = 0; j < r; j++) b[j * r + j] = 1;
  for (let j = r - 1; j >= 0; j--) reflect(reflectors[j]!, b, r, j);
  return { a: w.slice(0, r * columns), b };
}

/** M −= 2·v·(vᵀ·M), for v that is zero before row `first`. */
function reflect(v: Float64Array, m: Float64Array, columns: number, first: number): void {
  const sums = new Float64Array(columns);
  for (let i = first; i < v.length; i++) {
    for (let c = 0; c < columns; c++) sums[c]! += v[i]! * m[i * columns + c]!;
  }
  for (let i = first; i < v.length; i++) {
    for (let c = 0; c < columns; c++) m[i * columns + c]! -= 2 * v[i]! * sums[c]!;
  }
}

/** By how much Lanczos' method goes on until it looks again at what it has found. */
const GROWTH = 1.25;
/** What is left of a singular vector's equation, as a part of the largest singular value. */
const TOLERANCE = 1e-10;

/**
 * The largest singular values by the method of Golub, Kahan and Lanczos: W·V = U·T with columns of
 * U and V that are kept orthogonal, and a small bidiagonal T whose largest singular values become
 * those of W.
 */
function largestSingular(matrix: Matrix, r: number, scale: number): Factors {
  const { rows, columns, values: w } = matrix, most = Math.min(rows, columns);
  const random = RandomStream.forPurpose(0, "init", "singular vectors");
  const us: Float64Array[] = [], vs: Float64Array[] = [], alpha: number[] = [], beta: number[] = [];
  const fresh = (length: number, others: readonly Float64Array[]) => {
    const x = Float64Array.from({ length }, () => random.normal());
    orthogonalise(x, others);
    return divided(x, norm(x));
  };
  const byW = (x: Float64Array) => {
    const out = new Float64Array(rows);
    for (let o = 0; o < rows; o++) {
      let sum = 0;
      for (let i = 0, at = o * columns; i < columns; i++, at++) sum += w[at]! * x[i]!;
      out[o] = sum;
    }
    return out;
  };
  const byTransposed = (x: Float64Array) => {
    const out = new Float64Array(columns);
    for (let o = 0; o < rows; o++) {
      for (let i = 0, at = o * columns; i < columns; i++, at++) out[i]! += w[at]! * x[o]!;
    }
    return out;
  };
  let v = fresh(columns, []), largest = 0, look = 2 * r;
  for (;;) {
    vs.push(v);
    const u = byW(v);
    orthogonalise(u, us);
    alpha.push(norm(u));
    largest = Math.max(largest, alpha.at(-1)!);
    const ends = alpha.at(-1)! <= TOLERANCE * largest;
    us.push(ends ? fresh(rows, us) : divided(u, alpha.at(-1)!));
    const next = byTransposed(us.at(-1)!);
    orthogonalise(next, vs);
    const rest = norm(next), k = us.length;
    if (k === most || k >= look) {
      look = Math.ceil(k * GROWTH);
      const found = bidiagonalSvd(alpha, beta);
      const isExact = found.slice(0, r).every(({ u }) =>
        rest * Math.abs(u[k - 1]!) <= TOLERANCE * found[0]!.value
      );
      if (k === most || isExact) return factorsOf(found.slice(0, r), us, vs, scale);
    }
    beta.push(rest <= TOLERANCE * largest ? 0 : rest);
    v = beta.at(-1) === 0 ? fresh(columns, vs) : divided(next, rest);
  }
}

interface SingularValue {
  value: number;
  u: Float64Array;
  v: Float64Array;
}

/** The singular values of a bidiagonal matrix, the largest first, by Jacobi's rotations. */
function bidiagonalSvd(diagonal: readonly number[], above: readonly number[]): SingularValue[] {
  const k = diagonal.length;
  const basis = (values: [number, number][]) => {
    const column = new Float64Array(k);
    for (const [i, x] of values) column[i] = x;
    return column;
  };
  const us = diagonal.map((x, j) => basis(j === 0 ? [[0, x]] : [[j - 1, above[j - 1]!], [j, x]]));
  const vs = diagonal.map((_, j) => basis([[j, 1]]));
  for (let turned = true; turned;) {
    turned = false;
    for (let p = 0; p < k; p++) {
      for (let q = p + 1; q < k; q++) {
        const a = dot(us[p]!, us[p]!), b = dot(us[q]!, us[q]!), g = dot(us[p]!, us[q]!);
        if (Math.abs(g) <= 1e-15 * Math.sqrt(a * b)) continue;
        turned = true;
        const z = (b - a) / (2 * g), t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.sqrt(1 + z * z));
        const c = 1 / Math.sqrt(1 + t * t);
        for (const [x, y] of [[us[p]!, us[q]!], [vs[p]!, vs[q]!]] as const) rotate(x, y, c, c * t);
      }
    }
  }
  return us.map((u, j) => ({ value: norm(u), u: divided(u, norm(u)), v: vs[j]! }))
    .sort((a, b) => b.value - a.value);
}

function factorsOf(
  found: readonly SingularValue[],
  us: readonly Float64Array[],
  vs: readonly Float64Array[],
  scale: number,
): Factors {
  const r = found.length, rows = us[0]!.length, columns = vs[0]!.length;
  const a = new Float64Array(r * columns), b = new Float64Array(rows * r);
  found.forEach(({ value, u, v }, i) => {
    const root = Math.sqrt(value / scale);
    us.forEach((column, j) => {
      for (let o = 0; o < rows; o++) b[o * r + i]! += root * u[j]! * column[o]!;
    });
    vs.forEach((column, j) => {
      for (let c = 0; c < columns; c++) a[i * columns + c]! += root * v[j]! * column[c]!;
    });
  });
  return { a, b };
}

/** Takes what is along the others out of x, twice, since the first time leaves rounding errors. */
function orthogonalise(x: Float64Array, others: readonly Float64Array[]): void {
  for (let turn = 0; turn < 2; turn++) {
    for (const other of others) {
      const along = dot(x, other);
      for (let i = 0; i < x.length; i++) x[i]! -= along * other[i]!;
    }
  }
}

function rotate(x: Float64Array, y: Float64Array, c: number, s: number): void {
  for (let i = 0; i < x.length; i++) {
    const a = x[i]!, b = y[i]!;
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

function dot(x: Float64Array, y: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i]! * y[i]!;
  return sum;
}

function norm(x: Float64Array): number {
  return Math.sqrt(dot(x, x));
}

function divided(x: Float64Array, by: number): Float64Array {
  return by > 0 ? x.map((value) => value / by) : x;
}

// Arithmetic on the host over the rows of a linear weight, one row for each output: [out, in], or
// the columns of [in, out] with `inOut`.

type Floats = Float32Array | Float64Array;
type Dims = readonly [inDim: number, outDim: number];

/** The place of the first element of row `o`, and the distance of its elements. */
function rowOf([inDim, outDim]: Dims, inOut: boolean, o: number): [first: number, step: number] {
  return inOut ? [o, outDim] : [o * inDim, 1];
}

/** ‖row‖² of every row [out]. */
export function rowSquares(weight: Floats, dims: Dims, inOut: boolean): Float64Array {
  const [inDim, outDim] = dims;
  return Float64Array.from({ length: outDim }, (_, o) => {
    const [first, step] = rowOf(dims, inOut, o);
    let sum = 0;
    for (let i = 0, at = first; i < inDim; i++, at += step) sum += weight[at]! ** 2;
    return sum;
  });
}

/** W += scale·B·A, summed in float64. */
export function addProduct(
  weight: Floats,
  a: Floats,
  b: Floats,
  { dims, inOut, scale }: { dims: Dims; inOut: boolean; scale: number },
): void {
  const [inDim, outDim] = dims, r = a.length / inDim, row = new Float64Array(inDim);
  for (let o = 0; o < outDim; o++) {
    row.fill(0);
    for (let k = 0; k < r; k++) {
      const factor = scale * b[o * r + k]!, from = k * inDim;
      if (factor === 0) continue; // B of a new adapter
      for (let i = 0; i < inDim; i++) row[i]! += factor * a[from + i]!;
    }
    const [first, step] = rowOf(dims, inOut, o);
    for (let i = 0, at = first; i < inDim; i++, at += step) weight[at]! += row[i]!;
  }
}

/** Gives every row its magnitude as its length, as DoRA does; a row of zeros stays so. */
export function scaleRows(weight: Floats, magnitude: Floats, dims: Dims, inOut: boolean): void {
  const [inDim] = dims;
  rowSquares(weight, dims, inOut).forEach((square, o) => {
    const gain = square > 0 ? magnitude[o]! / Math.sqrt(square) : 0;
    const [first, step] = rowOf(dims, inOut, o);
    for (let i = 0, at = first; i < inDim; i++, at += step) weight[at]! *= gain;
  });
}
