/**
 * Arithmetic on the host over the rows of a linear weight, one row for each output: [out, in], or
 * the columns of [in, out] with `inOut`.
 */
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
