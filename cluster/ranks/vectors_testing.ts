/** Sums of arrays over ranks, for tests. Not part of the program. */
import type { TreeNode } from "./sum_tree.ts";
import type { PartialSum, Slice, SummedVector, SumOptions } from "./vector_sum.ts";

/** The part of `Ranks` and `VectorSums` that sums. */
interface Summing {
  sum(
    count: number,
    own: readonly PartialSum[],
    vector: SummedVector,
    options?: SumOptions,
  ): Promise<void>;
}

/** The sum of vectors of `length`, or a slice of it. @param own partial sums of this rank */
export async function sumArrays(
  sums: Summing,
  count: number,
  own: readonly { node: TreeNode; value: Float32Array }[],
  length: number,
  options: SumOptions = {},
  slice: Slice = [0, length],
): Promise<Float32Array> {
  const out = new Float32Array(slice[1] - slice[0]);
  await sums.sum(
    count,
    own.map(({ node, value }) => ({ node, read: (begin, end) => value.subarray(begin, end) })),
    {
      length,
      create: (n) => new Float32Array(n),
      write: (values, at) => out.set(values, at - slice[0]),
    },
    options,
  );
  return out;
}
