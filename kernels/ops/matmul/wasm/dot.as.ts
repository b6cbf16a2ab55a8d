// x·Wᵀ for a few rows of x, where packing would not save time. Rows of x and of W are read in
// order; each dot product has eight running sums.

import { touch } from "../../../memory.as";
import * as tiles from "./tiles.as";

const GROUP = 8;

/** The sums of the four groups of eight floats at `sums`, as four lanes. */
// @ts-ignore: decorator of AssemblyScript
@inline
export function reduce4(sums: usize): v128 {
  const a = f32x4.add(v128.load(sums), v128.load(sums, 16));
  const b = f32x4.add(v128.load(sums, 32), v128.load(sums, 48));
  const c = f32x4.add(v128.load(sums, 64), v128.load(sums, 80));
  const d = f32x4.add(v128.load(sums, 96), v128.load(sums, 112));
  const ab = f32x4.add(
    v128.shuffle<f32>(a, b, 0, 4, 2, 6),
    v128.shuffle<f32>(a, b, 1, 5, 3, 7),
  );
  const cd = f32x4.add(
    v128.shuffle<f32>(c, d, 0, 4, 2, 6),
    v128.shuffle<f32>(c, d, 1, 5, 3, 7),
  );
  return f32x4.add(
    v128.shuffle<f32>(ab, cd, 0, 1, 4, 5),
    v128.shuffle<f32>(ab, cd, 2, 3, 6, 7),
  );
}

// @ts-ignore: decorator of AssemblyScript
@inline
function put4(at: usize, value: v128, add: i32): void {
  v128.store(at, add ? f32x4.add(v128.load(at), value) : value);
}

/** Stores (or adds) the lanes 0 and 1 of a value. */
// @ts-ignore: decorator of AssemblyScript
@inline
function put_low(at: usize, value: v128, add: i32): void {
  if (add) value = f32x4.add(value, v128.load64_zero(at));
  v128.store64_lane(at, value, 0);
}

// @ts-ignore: decorator of AssemblyScript
@inline
function put_high(at: usize, value: v128, add: i32): void {
  put_low(at, v128.shuffle<f32>(value, value, 2, 3, 2, 3), add);
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · x [m, k] · w [n, k]ᵀ. k is a multiple of 8, n of 4.
 * Unit: eight rows of w. Scratch: 256 bytes.
 */
export function matmul_dot(
  x: usize, w: usize, out: usize, m: i32, n: i32, k: i32, alpha: f32, accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const step = (k as usize) * 4;
  const outStep = (n as usize) * 4;
  const scale = f32x4.splat(alpha);
  for (let unit = begin; unit < end; unit++) {
    const last = min(n, (unit + 1) * GROUP);
    touch(w + ((unit * GROUP) as usize) * step, ((last - unit * GROUP) as usize) * step, scratch);
    for (let i = 0; i < m; i += 4) {
      const rows = m - i;
      const xi = x + (i as usize) * step;
      let c = out + (i as usize) * outStep + (unit as usize) * GROUP * 4;
      for (let j = unit * GROUP; j < last;) {
        const wj = w + (j as usize) * step;
        if (rows == 1) {
          tiles.tile_dot_1(xi, step, wj, step, scratch, k);
          put4(c, f32x4.mul(scale, reduce4(scratch)), accumulate);
          j += 4;
          c += 16;
        } else if (rows == 2) {
          tiles.tile_dot_2(xi, step, wj, step, scratch, k);
          put4(c, f32x4.mul(scale, reduce4(scratch)), accumulate);
          put4(c + outStep, f32x4.mul(scale, reduce4(scratch + 128)), accumulate);
          j += 4;
          c += 16;
        } else {
          if (rows == 3) tiles.tile_dot_3(xi, step, wj, step, scratch, k);
          else tiles.tile_dot_4(xi, step, wj, step, scratch, k);
          const upper = f32x4.mul(scale, reduce4(scratch));
          put_low(c, upper, accumulate);
          put_high(c + outStep, upper, accumulate);
          const lower = f32x4.mul(scale, reduce4(scratch + 128));
          put_low(c + 2 * outStep, lower, accumulate);
          if (rows > 3) put_high(c + 3 * outStep, lower, accumulate);
          j += 2;
          c += 8;
        }
      }
    }
  }
}
