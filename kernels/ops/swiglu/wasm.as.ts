// SwiGLU and its gradient (kernels/ops/swiglu/spec.ts). Work unit: BLOCK elements.
import { exp_f32x4 } from "../common/math.as";

const BLOCK: i32 = 1024;

/** In memory: see math.as.ts. */
const ONE = memory.data<f32>([1.0], 4);

/** σ(a) = 1/(1 + e^−a). For a < −87 e^−a is clamped, and the result is less than 2e-38. */
// @ts-ignore: decorator of AssemblyScript
@inline
function sigmoid(a: v128): v128 {
  const one = v128.load32_splat(ONE);
  return f32x4.div(one, f32x4.add(one, exp_f32x4(f32x4.neg(a))));
}

/** silu(gate)·up. */
// @ts-ignore: decorator of AssemblyScript
@inline
function gated(gate: v128, up: v128): v128 {
  return f32x4.mul(f32x4.mul(gate, sigmoid(gate)), up);
}

export function swiglu(
  gate: usize,
  up: usize,
  out: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 32 <= last; at += 32) {
    const z0 = gated(v128.load(gate + at), v128.load(up + at));
    const z1 = gated(v128.load(gate + at, 16), v128.load(up + at, 16));
    v128.store(out + at, z0);
    v128.store(out + at, z1, 16);
  }
  for (; at < last; at += 4) {
    const z = gated(v128.load32_splat(gate + at), v128.load32_splat(up + at));
    store<f32>(out + at, f32x4.extract_lane(z, 0));
  }
}

/** dgate = dz·up·σ·(1 + gate·(1 − σ)), from `dzs` = dz·σ and `s` = σ. */
// @ts-ignore: decorator of AssemblyScript
@inline
function gate_derivative(dzs: v128, gate: v128, up: v128, s: v128): v128 {
  const one = f32x4.splat(1);
  const slope = f32x4.add(one, f32x4.mul(gate, f32x4.sub(one, s)));
  return f32x4.mul(f32x4.mul(dzs, up), slope);
}

export function swiglu_backward(
  dout: usize,
  gate: usize,
  up: usize,
  dgate: usize,
  dup: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 32 <= last; at += 32) {
    const a0 = v128.load(gate + at), a1 = v128.load(gate + at, 16);
    const b0 = v128.load(up + at), b1 = v128.load(up + at, 16);
    const s0 = sigmoid(a0), s1 = sigmoid(a1);
    const z0 = f32x4.mul(v128.load(dout + at), s0), z1 = f32x4.mul(v128.load(dout + at, 16), s1);
    v128.store(dgate + at, gate_derivative(z0, a0, b0, s0));
    v128.store(dgate + at, gate_derivative(z1, a1, b1, s1), 16);
    v128.store(dup + at, f32x4.mul(z0, a0));
    v128.store(dup + at, f32x4.mul(z1, a1), 16);
  }
  for (; at < last; at += 4) backward_one(dout + at, gate + at, up + at, dgate + at, dup + at, 0);
}

/** swiglu_backward that also stores the output of the forward at `out`. */
export function swiglu_backward_and_forward(
  dout: usize,
  gate: usize,
  up: usize,
  dgate: usize,
  dup: usize,
  out: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  for (; at + 32 <= last; at += 32) {
    const a0 = v128.load(gate + at), a1 = v128.load(gate + at, 16);
    const b0 = v128.load(up + at), b1 = v128.load(up + at, 16);
    const s0 = sigmoid(a0), s1 = sigmoid(a1);
    const z0 = f32x4.mul(v128.load(dout + at), s0), z1 = f32x4.mul(v128.load(dout + at, 16), s1);
    v128.store(out + at, f32x4.mul(f32x4.mul(a0, s0), b0));
    v128.store(out + at, f32x4.mul(f32x4.mul(a1, s1), b1), 16);
    v128.store(dgate + at, gate_derivative(z0, a0, b0, s0));
    v128.store(dgate + at, gate_derivative(z1, a1, b1, s1), 16);
    v128.store(dup + at, f32x4.mul(z0, a0));
    v128.store(dup + at, f32x4.mul(z1, a1), 16);
  }
  for (; at < last; at += 4) {
    backward_one(dout + at, gate + at, up + at, dgate + at, dup + at, out + at);
  }
}

/** The gradients of one element; `out` is 0 where the output is not needed. */
function backward_one(
  dout: usize,
  gate: usize,
  up: usize,
  dgate: usize,
  dup: usize,
  out: usize,
): void {
  const a = v128.load32_splat(gate), b = v128.load32_splat(up);
  const s = sigmoid(a);
  const z = f32x4.mul(v128.load32_splat(dout), s);
  if (out != 0) store<f32>(out, f32x4.extract_lane(f32x4.mul(f32x4.mul(a, s), b), 0));
  store<f32>(dgate, f32x4.extract_lane(gate_derivative(z, a, b, s), 0));
  store<f32>(dup, f32x4.extract_lane(f32x4.mul(z, a), 0));
}
