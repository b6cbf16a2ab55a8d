// AdamW with 8-bit moments (kernels/ops/adamw_8bit/spec.ts). Work unit: a block of BLOCK elements.
// The moments of a block are widened into the scratch memory, updated there in vectors, and rounded
// again.

const BLOCK: i32 = 256;
/** Code of 0 in the signed map, and the upper half of the first cell (dynamic_map.ts). */
const SIGNED_ZERO: i32 = 127;
const FIRST_CELL: i32 = 0x3400;

/**
 * `decay` = 1 − lr·weightDecay, `rest1` = 1 − beta1, `rest2` = 1 − beta2, `step` = lr/correction1
 * and `root` = √correction2 are computed by the host. The maps, bounds and cells are addresses of
 * the parts of `dynamicTables`.
 */
export function adamw_8bit(
  param: usize,
  grad: usize,
  m: usize,
  v: usize,
  mMax: usize,
  vMax: usize,
  n: i32,
  decay: f32,
  beta1: f32,
  rest1: f32,
  beta2: f32,
  rest2: f32,
  step: f32,
  root: f32,
  eps: f32,
  gradScale: f32,
  signed: usize,
  unsigned: usize,
  signedBounds: usize,
  unsignedBounds: usize,
  signedCells: usize,
  unsignedCells: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const means = scratch, squares = scratch + BLOCK * 4;
  const gs = f32x4.splat(gradScale);
  const b1 = f32x4.splat(beta1), r1 = f32x4.splat(rest1);
  const b2 = f32x4.splat(beta2), r2 = f32x4.splat(rest2);
  const kept = f32x4.splat(decay), rate = f32x4.splat(step);
  const c2 = f32x4.splat(root), e = f32x4.splat(eps);
  for (let block = begin; block < end; block++) {
    const first = block * BLOCK, count = min(BLOCK, n - first);
    const codes1 = m + (first as usize), codes2 = v + (first as usize);
    const at1 = mMax + ((block as usize) << 2), at2 = vMax + ((block as usize) << 2);
    for (let j: usize = 0; j < (count as usize); j++) {
      const c1 = load<u8>(codes1 + j) as usize, c2 = load<u8>(codes2 + j) as usize;
      store<f32>(means + (j << 2), load<f32>(signed + (c1 << 2)));
      store<f32>(squares + (j << 2), load<f32>(unsigned + (c2 << 2)));
    }
    const a1 = f32x4.splat(load<f32>(at1)), a2 = f32x4.splat(load<f32>(at2));
    const bytes = (count as usize) << 2, whole = bytes & ~15;
    const p = param + ((first as usize) << 2), q = grad + ((first as usize) << 2);
    let max1 = f32x4.splat(0), max2 = max1, at: usize = 0;
    for (; at < whole; at += 16) {
      const g = f32x4.mul(v128.load(q + at), gs);
      const mean = f32x4.add(
        f32x4.mul(f32x4.mul(v128.load(means + at), a1), b1),
        f32x4.mul(g, r1),
      );
      const square = f32x4.add(
        f32x4.mul(f32x4.mul(v128.load(squares + at), a2), b2),
        f32x4.mul(f32x4.mul(g, g), r2),
      );
      max1 = f32x4.max(max1, f32x4.abs(mean));
      max2 = f32x4.max(max2, square);
      v128.store(means + at, mean);
      v128.store(squares + at, square);
      const divisor = f32x4.add(f32x4.div(f32x4.sqrt(square), c2), e);
      const old = f32x4.mul(v128.load(p + at), kept);
      v128.store(p + at, f32x4.sub(old, f32x4.div(f32x4.mul(rate, mean), divisor)));
    }
    let large1 = max(
      max(f32x4.extract_lane(max1, 0), f32x4.extract_lane(max1, 1)),
      max(f32x4.extract_lane(max1, 2), f32x4.extract_lane(max1, 3)),
    );
    let large2 = max(
      max(f32x4.extract_lane(max2, 0), f32x4.extract_lane(max2, 1)),
      max(f32x4.extract_lane(max2, 2), f32x4.extract_lane(max2, 3)),
    );
    for (; at < bytes; at += 4) {
      const g = load<f32>(q + at) * gradScale;
      const mean = load<f32>(means + at) * load<f32>(at1) * beta1 + g * rest1;
      const square = load<f32>(squares + at) * load<f32>(at2) * beta2 + g * g * rest2;
      large1 = max(large1, abs(mean));
      large2 = max(large2, square);
      store<f32>(means + at, mean);
      store<f32>(squares + at, square);
      const old = load<f32>(p + at) * decay;
      store<f32>(p + at, old - step * mean / (sqrt<f32>(square) / root + eps));
    }
    store<f32>(at1, large1);
    store<f32>(at2, large2);
    // The last word's unused codes are those of 0.
    const padded = (bytes + 15) & ~15;
    for (; at < padded; at += 4) {
      store<f32>(means + at, 0);
      store<f32>(squares + at, 0);
    }
    const part1: f32 = large1 > 0 ? large1 : 1, part2: f32 = large2 > 0 ? large2 : 1;
    for (let j: usize = 0; j < padded >> 2; j++) {
      const x = load<f32>(means + (j << 2)) / part1;
      const k1 = magnitude_8bit(abs(x), signedBounds, signedCells);
      const k2 = magnitude_8bit(load<f32>(squares + (j << 2)) / part2, unsignedBounds, unsignedCells);
      const code = x < 0 ? SIGNED_ZERO - min(k1, SIGNED_ZERO) : SIGNED_ZERO + k1;
      store<u8>(codes1 + j, code as u8);
      store<u8>(codes2 + j, k2 as u8);
    }
  }
}

/** Number of the magnitude nearest to x in [0, 1]. */
// @ts-ignore: decorator of AssemblyScript
@inline
function magnitude_8bit(x: f32, bounds: usize, cells: usize): i32 {
  const cell = max<i32>(0, ((reinterpret<u32>(x) >> 16) as i32) - FIRST_CELL);
  const k = load<u8>(cells + (cell as usize)) as i32;
  return k + (load<f32>(bounds + ((k as usize) << 2)) < x ? 1 : 0);
}
