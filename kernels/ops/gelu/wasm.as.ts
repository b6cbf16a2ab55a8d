// GELU in its tanh form and its gradient (kernels/ops/gelu/spec.ts). Work unit: BLOCK elements.
// u is the argument of tanh. With e = e^−2u and s = ½·(1 + tanh u) = 1/(1 + e): y = x·s and
// dy/dx = s + e·s²·x·2·du/dx. (s·(1 − s) in place of e·s² would lose digits.)
import { exp_f32x4 } from "../common/math.as";

const BLOCK: i32 = 1024;

/** 2·√(2/π), and its products with 0.044715 and 0.134145. */
const TWO_K: f32 = 1.5957691216057308;
const CUBIC: f32 = 0.07135481627159625;
const SLOPE: f32 = 0.21406444881478875;

/** For |x| above this, y is 0 or x and the slope is 0 or 1, to all digits. */
const FAR: f32 = 12;

// @ts-ignore: decorator of AssemblyScript
@inline
function clamp(x: v128): v128 {
  return f32x4.max(f32x4.splat(-FAR), f32x4.min(f32x4.splat(FAR), x));
}

/** e = e^−2u of a clamped x. */
// @ts-ignore: decorator of AssemblyScript
@inline
function exp_minus_2u(x: v128): v128 {
  const factor = f32x4.add(f32x4.splat(TWO_K), f32x4.mul(f32x4.mul(x, x), f32x4.splat(CUBIC)));
  return exp_f32x4(f32x4.neg(f32x4.mul(x, factor)));
}

/** s = 1/(1 + e). */
// @ts-ignore: decorator of AssemblyScript
@inline
function gate(e: v128): v128 {
  return f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), e));
}

export function gelu(
  x: usize,
  out: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 16 <= last; at += 16) {
    const a = v128.load(x + at);
    v128.store(out + at, f32x4.mul(a, gate(exp_minus_2u(clamp(a)))));
  }
  for (; at < last; at += 4) {
    const a = v128.load32_splat(x + at);
    store<f32>(out + at, f32x4.extract_lane(f32x4.mul(a, gate(exp_minus_2u(clamp(a)))), 0));
  }
}

/** dy/dx of a clamped x, from its e and s. */
// @ts-ignore: decorator of AssemblyScript
@inline
function slope(x: v128, e: v128, s: v128): v128 {
  const factor = f32x4.add(f32x4.splat(TWO_K), f32x4.mul(f32x4.mul(x, x), f32x4.splat(SLOPE)));
  return f32x4.add(s, f32x4.mul(f32x4.mul(e, f32x4.mul(s, s)), f32x4.mul(x, factor)));
}

/** `activated` is 0 where it is not needed. */
export function gelu_backward(
  dout: usize,
  x: usize,
  dx: usize,
  activated: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 16 <= last; at += 16) {
    const a = v128.load(x + at), c = clamp(a), e = exp_minus_2u(c), s = gate(e);
    if (activated != 0) v128.store(activated + at, f32x4.mul(a, s));
    v128.store(dx + at, f32x4.mul(v128.load(dout + at), slope(c, e, s)));
  }
  for (; at < last; at += 4) {
    const a = v128.load32_splat(x + at), c = clamp(a), e = exp_minus_2u(c), s = gate(e);
    if (activated != 0) store<f32>(activated + at, f32x4.extract_lane(f32x4.mul(a, s), 0));
    const d = f32x4.mul(v128.load32_splat(dout + at), slope(c, e, s));
    store<f32>(dx + at, f32x4.extract_lane(d, 0));
  }
}
