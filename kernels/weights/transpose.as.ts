// Converts rows of floats to panels of 16 rows, [k, 16] each.

const LANES = 16;

/**
 * Transposes a 4×4 block: rows at `from`, `stride` bytes apart, to rows at `to`, 64 bytes apart.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function transpose4(from: usize, stride: usize, to: usize): void {
  const a = v128.load(from);
  const b = v128.load(from + stride);
  const c = v128.load(from + 2 * stride);
  const d = v128.load(from + 3 * stride);
  const ab0 = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
  const ab1 = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
  const cd0 = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
  const cd1 = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
  v128.store(to, v128.shuffle<f32>(ab0, cd0, 0, 1, 4, 5));
  v128.store(to, v128.shuffle<f32>(ab0, cd0, 2, 3, 6, 7), 64);
  v128.store(to, v128.shuffle<f32>(ab1, cd1, 0, 1, 4, 5), 128);
  v128.store(to, v128.shuffle<f32>(ab1, cd1, 2, 3, 6, 7), 192);
}

/** Panels of the transpose of `source` [columns, k] (row stride in bytes). Unit: a panel. */
export function transpose_to_panels(
  source: usize,
  stride: usize,
  columns: i32,
  k: i32,
  panels: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const size = (k as usize) * 64;
  for (let p = begin; p < end; p++) {
    const first = p * LANES;
    const count = min(LANES, columns - first);
    let from = source + (first as usize) * stride;
    let to = panels + (p as usize) * size;
    if (count < LANES) memory.fill(to, 0, size);
    const whole = count & ~3;
    let kk = 0;
    for (; kk + 4 <= k; kk += 4) {
      for (let c = 0; c < whole; c += 4) {
        transpose4(from + (c as usize) * stride, stride, to + (c as usize) * 4);
      }
      for (let c = whole; c < count; c++) {
        const row = v128.load(from + (c as usize) * stride);
        const at = to + (c as usize) * 4;
        v128.store32_lane(at, row, 0, 0);
        v128.store32_lane(at, row, 1, 64);
        v128.store32_lane(at, row, 2, 128);
        v128.store32_lane(at, row, 3, 192);
      }
      from += 16;
      to += 256;
    }
    for (; kk < k; kk++) {
      for (let c = 0; c < count; c++) {
        store<f32>(to + (c as usize) * 4, load<f32>(from + (c as usize) * stride));
      }
      from += 4;
      to += 64;
    }
  }
}
