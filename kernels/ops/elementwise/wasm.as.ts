// Elementwise add, copy and fill (kernels/ops/elementwise/spec.ts).
// Work unit: BLOCK elements. Which elements are done in vectors therefore does not depend on how
// the units are divided among threads.

const BLOCK: i32 = 1024;

/** out = a + scale·b. */
export function add(
  a: usize,
  b: usize,
  out: usize,
  n: i32,
  scale: f32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const s = f32x4.splat(scale);
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 32 <= last; at += 32) {
    const x0 = f32x4.add(v128.load(a + at), f32x4.mul(v128.load(b + at), s));
    const x1 = f32x4.add(v128.load(a + at, 16), f32x4.mul(v128.load(b + at, 16), s));
    v128.store(out + at, x0);
    v128.store(out + at, x1, 16);
  }
  for (; at < last; at += 4) {
    store<f32>(out + at, load<f32>(a + at) + load<f32>(b + at) * scale);
  }
}

/** out = source; any elements of 4 bytes. */
export function copy(
  source: usize,
  out: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  memory.copy(out + at, source + at, last - at);
}

/** out = value. */
export function fill(
  out: usize,
  n: i32,
  value: f32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const x = f32x4.splat(value);
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 32 <= last; at += 32) {
    v128.store(out + at, x);
    v128.store(out + at, x, 16);
  }
  for (; at < last; at += 4) store<f32>(out + at, value);
}
