// The blocked product (blocks.as.ts) as a part of other kernels.

import { matmul_blocks } from "./blocks.as";

/**
 * out [rows, columns] = (with `accumulate` +=) alpha · S · V on this thread: the units [0, units)
 * of matmul_blocks, with S [rows, k] row-major and V [k, columns] packed.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function multiply_packed(
  s: usize, sStep: usize, vPacked: usize, out: usize, outStep: usize,
  rows: i32, columns: i32, k: i32, kBlock: i32, blockTiles: i32,
  alpha: f32, accumulate: i32, units: i32, scratch: usize,
): void {
  matmul_blocks(
    s, sStep, 0, 0, 0, 0, vPacked, out, outStep, rows, columns, k, kBlock, blockTiles,
    alpha, accumulate, 0, 0, units, scratch,
  );
}
