// Rotary position embedding in place (kernels/ops/rope/spec.ts). Work unit: one row.

/** `sign`: 1, or −1 for the inverse rotation. */
export function rope(
  x: usize,
  cos: usize,
  sin: usize,
  positions: usize,
  heads: i32,
  headDim: i32,
  sign: f32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const half = (headDim as usize) << 1; // bytes of headDim/2 elements
  const s = f32x4.splat(sign);
  let a = x + (begin as usize) * (heads as usize) * 2 * half;
  for (let row = begin; row < end; row++) {
    const table = (load<u32>(positions + ((row as usize) << 2)) as usize) * half;
    const c = cos + table, sn = sin + table;
    for (let head = 0; head < heads; head++) {
      const b = a + half;
      let j: usize = 0;
      for (; j + 32 <= half; j += 32) {
        const a0 = v128.load(a + j), a1 = v128.load(a + j, 16);
        const b0 = v128.load(b + j), b1 = v128.load(b + j, 16);
        const c0 = v128.load(c + j), c1 = v128.load(c + j, 16);
        const s0 = f32x4.mul(v128.load(sn + j), s), s1 = f32x4.mul(v128.load(sn + j, 16), s);
        v128.store(a + j, f32x4.sub(f32x4.mul(a0, c0), f32x4.mul(b0, s0)));
        v128.store(a + j, f32x4.sub(f32x4.mul(a1, c1), f32x4.mul(b1, s1)), 16);
        v128.store(b + j, f32x4.add(f32x4.mul(b0, c0), f32x4.mul(a0, s0)));
        v128.store(b + j, f32x4.add(f32x4.mul(b1, c1), f32x4.mul(a1, s1)), 16);
      }
      for (; j < half; j += 4) {
        const u = load<f32>(a + j), w = load<f32>(b + j);
        const cosine = load<f32>(c + j), sine = load<f32>(sn + j) * sign;
        store<f32>(a + j, u * cosine - w * sine);
        store<f32>(b + j, w * cosine + u * sine);
      }
      a = b + half;
    }
  }
}
