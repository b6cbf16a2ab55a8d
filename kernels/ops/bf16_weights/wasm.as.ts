// Trained weights in bfloat16 (kernels/ops/bf16_weights/spec.ts). Work unit: BLOCK elements.
import { philox_words } from "../common/philox.as";

const BLOCK: i32 = 1024;

/** out = weight, and + rest if it is not 0. */
export function widen_bf16(
  weight: usize,
  rest: usize,
  out: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 1;
  const last = (min(end * BLOCK, n) as usize) << 1;
  for (; at < last; at += 4) {
    const word = load<u32>(weight + at);
    let low = reinterpret<f32>(word << 16), high = reinterpret<f32>(word & 0xffff0000);
    if (rest) {
      const more = load<u32>(rest + at);
      low += reinterpret<f32>(more << 16);
      high += reinterpret<f32>(more & 0xffff0000);
    }
    store<f32>(out + (at << 1), low);
    store<f32>(out + (at << 1), high, 4);
  }
}

/** The bfloat16 nearest to a finite number, as the upper half of a word; ties to even. */
// @ts-ignore: decorator of AssemblyScript
@inline
function nearest_bf16(x: f32): u32 {
  const bits = reinterpret<u32>(x);
  return (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
}

/** weight = x, rounded to the nearest; rest = the rest, rounded to the nearest. */
export function round_bf16_kahan(
  x: usize,
  weight: usize,
  rest: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 1;
  const last = (min(end * BLOCK, n) as usize) << 1;
  for (; at < last; at += 4) {
    const low = load<f32>(x + (at << 1)), high = load<f32>(x + (at << 1), 4);
    const a = nearest_bf16(low), b = nearest_bf16(high);
    const c = nearest_bf16(low - reinterpret<f32>(a)), d = nearest_bf16(high - reinterpret<f32>(b));
    store<u32>(weight + at, (a >> 16) | b);
    store<u32>(rest + at, (c >> 16) | d);
  }
}

/** weight = x, rounded stochastically. `firstBlock` is the Philox block of the first element. */
export function round_bf16_stochastic(
  x: usize,
  weight: usize,
  n: i32,
  firstBlock: u32,
  c1: u32,
  c2: u32,
  c3: u32,
  seedLow: u32,
  seedHigh: u32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const last = min(end * BLOCK, n);
  for (let i = begin * BLOCK; i < last; i += 16) {
    philox_words(firstBlock + ((i as u32) >> 2), c1, c2, c3, seedLow, seedHigh, scratch);
    const count = (min(16, last - i) as usize) << 2;
    const from = x + ((i as usize) << 2), to = weight + ((i as usize) << 1);
    for (let j: usize = 0; j < count; j += 8) {
      const a = load<u32>(from + j) + (load<u32>(scratch + j) & 0xffff);
      const b = load<u32>(from + j, 4) + (load<u32>(scratch + j, 4) & 0xffff);
      store<u32>(to + (j >> 1), (a >> 16) | (b & 0xffff0000));
    }
  }
}
