// The fused head (kernels/ops/head/spec.ts). Forward: for a block of rows a thread goes through the
// vocabulary chunk by chunk. It computes logits into scratch, makes one pass over each row, and
// with `mean` a second matrix product, like attention does with its values. The running values of a
// row, in float64, are the maximum m, l = Σ e^(z−m) and s = Σ e^(z−m)·(z−m). The shift by m keeps
// the entropy exact for large logits. Backward: a pass over a chunk of logits, or from the mean.

import { exp_f32x4 } from "../common/math.as";
import { widen_row } from "../../weights/rows.as";
import { multiply_packed } from "../matmul/wasm/packed.as";

/** Number of rows in a work unit of the forward: whole register tiles. */
const UNIT_ROWS = 48;
const TILE_ROWS = 6;
/** Bytes of a row's running values. */
const STATS_BYTES: usize = 24;
/**
 * Parts of a thread's scratch: sums of a pass over a row, scratch of matmul_blocks; then the
 * logits.
 */
const SUMS_BYTES: usize = 64;
const EDGE_BYTES: usize = UNIT_ROWS * 64;
const HEAD_BYTES: usize = SUMS_BYTES + EDGE_BYTES;

// @ts-ignore: decorator of AssemblyScript
@inline
function sum4(x: v128): f64 {
  return (f32x4.extract_lane(x, 0) as f64) + (f32x4.extract_lane(x, 1) as f64) +
    (f32x4.extract_lane(x, 2) as f64) + (f32x4.extract_lane(x, 3) as f64);
}

/** e^x of one number, with the same bits as in four lanes. */
// @ts-ignore: decorator of AssemblyScript
@inline
function exp1(x: f32): f32 {
  return f32x4.extract_lane(exp_f32x4(f32x4.splat(x)), 0);
}

function row_max(z: usize, width: i32): f32 {
  let i = 0;
  let high = load<f32>(z);
  if (width >= 16) {
    let a = v128.load(z);
    let b = v128.load(z, 16);
    let c = v128.load(z, 32);
    let d = v128.load(z, 48);
    for (i = 16; i + 16 <= width; i += 16) {
      const at = z + (i as usize) * 4;
      a = f32x4.pmax(a, v128.load(at));
      b = f32x4.pmax(b, v128.load(at, 16));
      c = f32x4.pmax(c, v128.load(at, 32));
      d = f32x4.pmax(d, v128.load(at, 48));
    }
    a = f32x4.pmax(f32x4.pmax(a, b), f32x4.pmax(c, d));
    high = max(
      max(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)),
      max(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)),
    );
  }
  for (; i < width; i++) high = max(high, load<f32>(z + (i as usize) * 4));
  return high;
}

// V8's revectorizer widens loops over pairs of neighbouring vectors. The loops over exponentials
// have that form. They are separate functions, and exported, because it does not widen inlined
// code.

/**
 * sums = Σ e^(z−m) and Σ e^(z−m)·(z−m), in eight lanes each, over `width` (a multiple of 8) logits.
 */
export function head_sums(z: usize, width: i32, m: f32, sums: usize): void {
  const high = f32x4.splat(m);
  let l0 = f32x4.splat(0);
  let l1 = f32x4.splat(0);
  let s0 = f32x4.splat(0);
  let s1 = f32x4.splat(0);
  for (; width > 0; width -= 8) {
    const x0 = f32x4.sub(v128.load(z), high);
    const x1 = f32x4.sub(v128.load(z, 16), high);
    const e0 = exp_f32x4(x0);
    const e1 = exp_f32x4(x1);
    l0 = f32x4.add(l0, e0);
    l1 = f32x4.add(l1, e1);
    s0 = f32x4.relaxed_madd(e0, x0, s0);
    s1 = f32x4.relaxed_madd(e1, x1, s1);
    z += 32;
  }
  v128.store(sums, l0);
  v128.store(sums, l1, 16);
  v128.store(sums, s0, 32);
  v128.store(sums, s1, 48);
}

/** head_sums that also replaces the logits by e^(z−m). */
export function head_weights(z: usize, width: i32, m: f32, sums: usize): void {
  const high = f32x4.splat(m);
  let l0 = f32x4.splat(0);
  let l1 = f32x4.splat(0);
  let s0 = f32x4.splat(0);
  let s1 = f32x4.splat(0);
  for (; width > 0; width -= 8) {
    const x0 = f32x4.sub(v128.load(z), high);
    const x1 = f32x4.sub(v128.load(z, 16), high);
    const e0 = exp_f32x4(x0);
    const e1 = exp_f32x4(x1);
    v128.store(z, e0);
    v128.store(z, e1, 16);
    l0 = f32x4.add(l0, e0);
    l1 = f32x4.add(l1, e1);
    s0 = f32x4.relaxed_madd(e0, x0, s0);
    s1 = f32x4.relaxed_madd(e1, x1, s1);
    z += 32;
  }
  v128.store(sums, l0);
  v128.store(sums, l1, 16);
  v128.store(sums, s0, 32);
  v128.store(sums, s1, 48);
}

/** z ← e^x·(constant + slope·x), x = z − shift, for `width` (a multiple of 8) logits. */
export function head_slopes(z: usize, width: i32, shift: f32, constant: f32, slope: f32): void {
  const shifts = f32x4.splat(shift);
  const constants = f32x4.splat(constant);
  const slopes = f32x4.splat(slope);
  for (; width > 0; width -= 8) {
    const x0 = f32x4.sub(v128.load(z), shifts);
    const x1 = f32x4.sub(v128.load(z, 16), shifts);
    const y0 = f32x4.mul(exp_f32x4(x0), f32x4.relaxed_madd(slopes, x0, constants));
    const y1 = f32x4.mul(exp_f32x4(x1), f32x4.relaxed_madd(slopes, x1, constants));
    v128.store(z, y0);
    v128.store(z, y1, 16);
    z += 32;
  }
}

/** x ← factor·x, `count` elements. */
function scale_row(x: usize, count: i32, factor: f32): void {
  const f = f32x4.splat(factor);
  let i = 0;
  for (; i + 8 <= count; i += 8, x += 32) {
    const a = f32x4.mul(f, v128.load(x));
    const b = f32x4.mul(f, v128.load(x, 16));
    v128.store(x, a);
    v128.store(x, b, 16);
  }
  for (; i < count; i++, x += 4) store<f32>(x, factor * load<f32>(x));
}

/**
 * Merges a row's logits of the columns first … first + width into its running values, and stores
 * those of targets in `logp`. With a mean ([d]; else 0) it also replaces the logits by e^(z−m), and
 * scales the mean over the earlier columns to the new maximum.
 */
function head_row(
  z: usize, width: i32, first: i32, stats: usize,
  pairs: usize, targets: usize, logp: usize, mean: usize, d: i32, scratch: usize,
): void {
  const endPair = load<u32>(pairs, 4);
  for (let pair = load<u32>(pairs); pair < endPair; pair++) {
    const column = (load<u32>(targets + (pair as usize) * 4) as i32) - first;
    if (column >= 0 && column < width) {
      store<f32>(logp + (pair as usize) * 4, load<f32>(z + (column as usize) * 4));
    }
  }
  const high = row_max(z, width);
  let l: f64 = 0;
  let s: f64 = 0;
  let m = high;
  if (first > 0) {
    const before = load<f64>(stats);
    m = max(high, before as f32);
    const shift = before - (m as f64);
    const factor = exp1(shift as f32);
    l = load<f64>(stats, 8);
    s = (factor as f64) * (load<f64>(stats, 16) + shift * l);
    l *= factor as f64;
    if (mean != 0 && factor != 1) scale_row(mean, d, factor);
  }
  const whole = width & ~7;
  if (mean != 0) head_weights(z, whole, m, scratch);
  else head_sums(z, whole, m, scratch);
  l += sum4(f32x4.add(v128.load(scratch), v128.load(scratch, 16)));
  s += sum4(f32x4.add(v128.load(scratch, 32), v128.load(scratch, 48)));
  for (let i = whole; i < width; i++) {
    const at = z + (i as usize) * 4;
    const x = load<f32>(at) - m;
    const e = exp1(x);
    if (mean != 0) store<f32>(at, e);
    l += e as f64;
    s += (e as f64) * (x as f64);
  }
  store<f64>(stats, m as f64);
  store<f64>(stats, l, 8);
  store<f64>(stats, s, 16);
}

/**
 * lse, entropy, log-probabilities and mean (or 0) of each row from its running values `stats`.
 * Unit: a row. It is a kernel of its own, because it alone needs a logarithm, which the native
 * kernels (kernels/native/) do not have in float64.
 */
export function head_finish(
  stats: usize, pairStart: usize, logp: usize, lse: usize, entropy: usize, mean: usize, d: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let row = begin; row < end; row++) {
    const from = stats + (row as usize) * STATS_BYTES, at = (row as usize) * 4;
    const l = load<f64>(from, 8);
    const logL = Math.log(l);
    const total = load<f64>(from) + logL;
    store<f32>(lse + at, total as f32);
    store<f32>(entropy + at, (logL - load<f64>(from, 16) / l) as f32);
    const endPair = load<u32>(pairStart + at, 4);
    for (let pair = load<u32>(pairStart + at); pair < endPair; pair++) {
      const p = logp + (pair as usize) * 4;
      store<f32>(p, ((load<f32>(p) as f64) - total) as f32);
    }
    if (mean != 0) scale_row(mean + at * (d as usize), d, (1 / l) as f32);
  }
}

/**
 * The running values of rows, the logits of their targets in `logp`, and with `mean` (else 0)
 * Σ_v e^(z_v−m)·weight_v; head_finish makes the results of them. Unit: UNIT_ROWS rows. One call
 * does the columns from `firstColumn` to `endColumn` of the vocabulary, `chunk` (a multiple of 16)
 * at a time; between the calls the running values of the rows are kept in `stats`.
 * `panels` are these columns of the weight, packed for the first product; `values` are the same,
 * packed chunk by chunk as rows of the second. `kBlock` and `chunkBlock` are the numbers of terms
 * that the two products sum in order.
 * Scratch: HEAD_BYTES and UNIT_ROWS · chunk floats.
 */
export function head_forward(
  hidden: usize, panels: usize, values: usize, stats: usize, rows: i32,
  firstColumn: i32, endColumn: i32, d: i32, alpha: f32,
  pairStart: usize, targets: usize, logp: usize, mean: usize,
  chunk: i32, kBlock: i32, chunkBlock: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  head_units(
    hidden, panels, values, stats, rows, firstColumn, endColumn, d, alpha, pairStart, targets, logp,
    mean, chunk, kBlock, chunkBlock, 0, 0, 0, 0, 0, begin, end, scratch,
  );
}

/**
 * The same with an adapter, without a mean: xa [rows, r] times `loraPanels` (its B, packed like
 * `panels`) times loraAlpha is added to the logits. `rBlock` is like kBlock.
 */
export function head_forward_lora(
  hidden: usize, panels: usize, stats: usize, rows: i32,
  firstColumn: i32, endColumn: i32, d: i32, alpha: f32,
  pairStart: usize, targets: usize, logp: usize,
  chunk: i32, kBlock: i32, xa: usize, loraPanels: usize, r: i32, rBlock: i32, loraAlpha: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  head_units(
    hidden, panels, 0, stats, rows, firstColumn, endColumn, d, alpha, pairStart, targets, logp,
    0, chunk, kBlock, 0, xa, loraPanels, r, rBlock, loraAlpha, begin, end, scratch,
  );
}

/** The units of both; r is 0 without an adapter. */
function head_units(
  hidden: usize, panels: usize, values: usize, stats: usize, rows: i32,
  firstColumn: i32, endColumn: i32, d: i32, alpha: f32,
  pairStart: usize, targets: usize, logp: usize, mean: usize,
  chunk: i32, kBlock: i32, chunkBlock: i32,
  xa: usize, loraPanels: usize, r: i32, rBlock: i32, loraAlpha: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  const edge = scratch + SUMS_BYTES;
  const z = scratch + HEAD_BYTES;
  const tiles = UNIT_ROWS / TILE_ROWS;
  const rowBytes = (d as usize) * 4;
  const valuePanels = (d + 15) / 16;
  for (let unit = begin; unit < end; unit++) {
    const row = unit * UNIT_ROWS;
    const count = min(UNIT_ROWS, rows - row);
    const from = hidden + (row as usize) * rowBytes;
    const running = stats + (row as usize) * STATS_BYTES;
    const means: usize = mean == 0 ? 0 : mean + (row as usize) * rowBytes;
    for (let first = firstColumn; first < endColumn; first += chunk) {
      const width = min(chunk, endColumn - first), done = first - firstColumn;
      const step = (width as usize) * 4;
      multiply_packed(
        from, rowBytes, panels + ((done / 16) as usize) * rowBytes * 16, z, step, count, width, d,
        kBlock, tiles, alpha, 0, (width + 15) / 16, edge,
      );
      if (r > 0) {
        const low = (r as usize) * 4;
        multiply_packed(
          xa + (row as usize) * low, low, loraPanels + ((done / 16) as usize) * low * 16, z, step,
          count, width, r, rBlock, tiles, loraAlpha, 1, (width + 15) / 16, edge,
        );
      }
      for (let r = 0; r < count; r++) {
        head_row(
          z + (r as usize) * step, width, first, running + (r as usize) * STATS_BYTES,
          pairStart + ((row + r) as usize) * 4, targets, logp,
          mean == 0 ? 0 : means + (r as usize) * rowBytes, d, scratch,
        );
      }
      if (mean == 0) continue;
      multiply_packed(
        z, step, values + (done as usize) * (valuePanels as usize) * 64, means, rowBytes, count, d,
        width, chunkBlock, tiles, 1, first > 0 ? 1 : 0, valuePanels, edge,
      );
    }
  }
}

/**
 * Merges a chunk of logits into the running values of its rows, like head_forward: z [*, width] are
 * the logits of the rows from `row` on, for the columns from `first` on. Unit: a row of the chunk.
 * Scratch: SUMS_BYTES.
 */
export function head_merge(
  z: usize, width: i32, first: i32, row: i32, stats: usize, pairStart: usize, targets: usize,
  logp: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let r = begin; r < end; r++) {
    const index = (row + r) as usize;
    head_row(
      z + (r as usize) * (width as usize) * 4, width, first, stats + index * STATS_BYTES,
      pairStart + index * 4, targets, logp, 0, 0, scratch,
    );
  }
}

/** out ← out + factor·x, `count` elements. */
function add_row(out: usize, x: usize, count: i32, factor: f32): void {
  const f = f32x4.splat(factor);
  let i = 0;
  for (; i + 8 <= count; i += 8, x += 32, out += 32) {
    const a = f32x4.relaxed_madd(f, v128.load(x), v128.load(out));
    const b = f32x4.relaxed_madd(f, v128.load(x, 16), v128.load(out, 16));
    v128.store(out, a);
    v128.store(out, b, 16);
  }
  for (; i < count; i++, x += 4, out += 4) store<f32>(out, load<f32>(out) + factor * load<f32>(x));
}

/**
 * dhidden = scale·(Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean). Unit: a row. `type` is
 * that of a stored weight, or −1. Scratch for a stored weight: d floats, rounded up to 64 bytes,
 * and ROW_BYTES of kernels/weights/rows.as.ts.
 */
export function head_from_mean(
  mean: usize, weight: usize, type: i32, pairStart: usize, targets: usize, dlogp: usize,
  dhidden: usize, d: i32, scale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  const bytes = (d as usize) * 4;
  for (let row = begin; row < end; row++) {
    const pairs = pairStart + (row as usize) * 4;
    const firstPair = load<u32>(pairs), endPair = load<u32>(pairs, 4);
    const to = dhidden + (row as usize) * bytes;
    let sum: f64 = 0;
    for (let pair = firstPair; pair < endPair; pair++) {
      sum += load<f32>(dlogp + (pair as usize) * 4) as f64;
    }
    memory.fill(to, 0, bytes);
    add_row(to, mean + (row as usize) * bytes, d, -(sum as f32) * scale);
    for (let pair = firstPair; pair < endPair; pair++) {
      const at = (pair as usize) * 4;
      const token = load<u32>(targets + at) as usize;
      let from = weight + token * bytes;
      if (type >= 0) {
        widen_row(type, weight, d, token as i32, scratch, scratch + ((bytes + 63) & ~63));
        from = scratch;
      }
      add_row(to, from, d, load<f32>(dlogp + at) * scale);
    }
  }
}

/** Replaces a chunk of logits by the derivative of the loss by them. Unit: a row of the chunk. */
export function head_dlogits(
  z: usize, width: i32, first: i32, row: i32, pairStart: usize, targets: usize,
  lse: usize, entropy: usize, dlogp: usize, dentropy: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let r = begin; r < end; r++) {
    const from = z + (r as usize) * (width as usize) * 4;
    const index = (row + r) as usize;
    const firstPair = load<u32>(pairStart + index * 4);
    const endPair = load<u32>(pairStart + index * 4, 4);
    let sum: f64 = 0;
    for (let pair = firstPair; pair < endPair; pair++) {
      sum += load<f32>(dlogp + (pair as usize) * 4) as f64;
    }
    const alpha = sum as f32;
    const b: f32 = dentropy ? load<f32>(dentropy + index * 4) : 0;
    const shift = load<f32>(lse + index * 4);
    // dz = p·(−α − b·(x + H)), x = z − lse
    const constant = -alpha - b * load<f32>(entropy + index * 4);
    let i = width & ~7;
    head_slopes(from, i, shift, constant, -b);
    for (; i < width; i++) {
      const at = from + (i as usize) * 4;
      const x = load<f32>(at) - shift;
      store<f32>(at, exp1(x) * (constant - b * x));
    }
    for (let pair = firstPair; pair < endPair; pair++) {
      const column = (load<u32>(targets + (pair as usize) * 4) as i32) - first;
      if (column < 0 || column >= width) continue;
      const at = from + (column as usize) * 4;
      store<f32>(at, load<f32>(at) + load<f32>(dlogp + (pair as usize) * 4));
    }
  }
}
