// Products of one or two rows of x with the codes of stored weights (kernels/weights/types.ts).
// V8 makes faster code of this file than of kernels/native/c/dots.c, which native targets use.

import { dot_panel } from "../../../weights/panel.as";
import { panel_bytes } from "../../../weights/types.as";

const LANES = 16;

/**
 * out [m, n] = (with `accumulate` +=) alpha · x·Wᵀ for one or two rows of x; W [n, k]. x is
 * prepared by matmul_stored_prepare, except for q8_0 and int8. Unit: a panel. Scratch: 128 bytes
 * and WORK_BYTES of kernels/weights/panel.as.ts.
 */
export function matmul_stored_dot(
  type: i32, x: usize, sums: usize, w: usize, out: usize, m: i32, n: i32, k: i32, alpha: f32,
  accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const step = panel_bytes(type, k), outStep = (n as usize) * 4;
  for (let p = begin; p < end; p++) {
    dot_panel(type, w + (p as usize) * step, k, x, sums, m, scratch, scratch + 128);
    const count = min(LANES, n - p * LANES) as usize;
    for (let i: usize = 0; i < (m as usize); i++) {
      const from = scratch + i * 64;
      const to = out + i * outStep + (p as usize) * 64;
      for (let j: usize = 0; j < 4 * count; j += 4) {
        const value = alpha * load<f32>(from + j);
        store<f32>(to + j, accumulate ? load<f32>(to + j) + value : value);
      }
    }
  }
}
