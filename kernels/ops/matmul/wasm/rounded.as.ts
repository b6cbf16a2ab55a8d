// Products in bfloat16 and float16 (kernels/ops/matmul/bf16.ts and f16.ts), computed in f32. Both
// operands are rounded and packed. In every block of 32 terms the even ones come first, so that the
// register tiles can sum them, and then the odd ones. For bfloat16, the native kernels of these
// names (kernels/native/c/bf16.c) have the same bits: a product of two rounded numbers is exact,
// and no sum is subnormal.

import { panel_bytes, block_weights } from "../../../weights/types.as";
import { widen_panel, WORK_BYTES } from "../../../weights/panel.as";
import { transpose_to_panels } from "../../../weights/transpose.as";
import { tile_rows } from "./blocks.as";
import { matmul_pack } from "./pack.as";
import { widen_columns } from "./stored.as";

const LANES = 16;
const TILE_ROWS = 6;
const TERMS = 32;
const HALF = 16;
/** Kinds of b: floats, and panels [k][16] that pack_weight packed. */
const FLOATS = -1;
const PACKED = -2;
/** Bits of MIN_MAGNITUDE of bf16.ts. */
const LEAST: u32 = 0x23800000;
/** Bits of the smallest normal binary16, and of the first power of two beyond all of them. */
const F16_NORMAL: u32 = 0x38800000;
const F16_INFINITE: u32 = 0x47800000;
const INFINITE: u32 = 0x7f800000;

/** The bfloat16 nearest to a number; smaller magnitudes than MIN_MAGNITUDE become zero. */
// @ts-ignore: decorator of AssemblyScript
@inline
function bf16_of(x: f32): f32 {
  const bits = reinterpret<u32>(x), magnitude = bits & 0x7fffffff;
  if (magnitude < LEAST) return 0;
  const nearest = magnitude > 0x7f800000
    ? bits | 0x400000
    : bits + 0x7fff + ((bits >> 16) & 1);
  return reinterpret<f32>(nearest & 0xffff0000);
}

/** The same of four numbers. */
// @ts-ignore: decorator of AssemblyScript
@inline
function bf16_of4(bits: v128): v128 {
  const magnitude = v128.and(bits, i32x4.splat(0x7fffffff));
  const up = v128.and(i32x4.shr_u(bits, 16), i32x4.splat(1));
  const nearest = i32x4.add(i32x4.add(bits, i32x4.splat(0x7fff)), up);
  const nan = i32x4.gt_s(magnitude, i32x4.splat(0x7f800000));
  const chosen = v128.bitselect(v128.or(bits, i32x4.splat(0x400000)), nearest, nan);
  const kept = i32x4.ge_s(magnitude, i32x4.splat(LEAST as i32));
  return v128.and(v128.and(chosen, kept), i32x4.splat(0xffff0000));
}

/** The binary16 numbers nearest to four numbers, as in f16.ts. */
// @ts-ignore: decorator of AssemblyScript
@inline
function f16_of4(bits: v128): v128 {
  const magnitude = v128.and(bits, i32x4.splat(0x7fffffff)), half = f32x4.splat(0.5);
  // Next to 0.5, numbers of float32 are 2^-24 apart, like those of binary16 below its normal ones.
  const small = f32x4.sub(f32x4.add(magnitude, half), half);
  const odd = v128.and(i32x4.shr_u(magnitude, 13), i32x4.splat(1));
  const up = i32x4.add(i32x4.add(magnitude, i32x4.splat(0xfff)), odd);
  const normal = v128.and(up, i32x4.splat(0xffffe000));
  const infinite = i32x4.ge_s(normal, i32x4.splat(F16_INFINITE as i32));
  const large = v128.bitselect(i32x4.splat(INFINITE as i32), normal, infinite);
  const isSmall = i32x4.lt_s(magnitude, i32x4.splat(F16_NORMAL as i32));
  const number = v128.bitselect(small, large, isSmall);
  const nan = i32x4.gt_s(magnitude, i32x4.splat(INFINITE as i32));
  const chosen = v128.bitselect(v128.or(magnitude, i32x4.splat(0x400000)), number, nan);
  return v128.or(chosen, v128.andnot(bits, i32x4.splat(0x7fffffff)));
}

// @ts-ignore: decorator of AssemblyScript
@inline
function round1(half: bool, x: f32): f32 {
  return half ? f32x4.extract_lane(f16_of4(f32x4.splat(x)), 0) : bf16_of(x);
}

// @ts-ignore: decorator of AssemblyScript
@inline
function round4(half: bool, bits: v128): v128 {
  return half ? f16_of4(bits) : bf16_of4(bits);
}

/**
 * packed [m, k rounded up to 32] = a [m, k], or its transpose [k, m] with `transA`. Unit: 16 rows.
 */
export function bf16_pack_rows(
  a: usize, m: i32, k: i32, transA: i32, packed: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const to = packed + (begin as usize) * LANES * row_bytes(k);
  pack_rows(false, a, m, k, transA, to, begin * LANES, min(end * LANES, m));
}

/** The same in binary16. */
export function f16_pack_rows(
  a: usize, m: i32, k: i32, transA: i32, packed: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const to = packed + (begin as usize) * LANES * row_bytes(k);
  pack_rows(true, a, m, k, transA, to, begin * LANES, min(end * LANES, m));
}

/** Bytes of a packed row. */
function row_bytes(k: i32): usize {
  return (((k + TERMS - 1) & ~(TERMS - 1)) as usize) * 4;
}

/** Packs the rows [first, last) from `to` on. `half`: in binary16, otherwise in bfloat16. */
// @ts-ignore: decorator of AssemblyScript
@inline
function pack_rows(
  half: bool, a: usize, m: i32, k: i32, transA: i32, to: usize, first: i32, last: i32,
): void {
  const width = (k + TERMS - 1) & ~(TERMS - 1);
  const row: usize = transA ? 4 : (k as usize) * 4, term: usize = transA ? (m as usize) * 4 : 4;
  for (let i = first; i < last; i++, to += row_bytes(k)) {
    let from = a + (i as usize) * row;
    for (let kk = 0; kk < width; kk++, from += term) {
      const at = to + (((kk & ~31) | ((kk & 1) << 4) | ((kk & 31) >> 1)) as usize) * 4;
      store<f32>(at, kk < k ? round1(half, load<f32>(from)) : 0);
    }
  }
}

/** Rounds a panel [depth][16] to [depth rounded up to 32][16], in the order of sums. */
// @ts-ignore: decorator of AssemblyScript
@inline
function round_terms(half: bool, from: usize, depth: i32, to: usize): void {
  const size = (depth + TERMS - 1) & ~(TERMS - 1);
  for (let kk = 0; kk < size; kk++, from += 64) {
    const at = to + (((kk & ~31) | ((kk & 1) << 4) | ((kk & 31) >> 1)) as usize) * 64;
    if (kk < depth) {
      v128.store(at, round4(half, v128.load(from)));
      v128.store(at, round4(half, v128.load(from, 16)), 16);
      v128.store(at, round4(half, v128.load(from, 32)), 32);
      v128.store(at, round4(half, v128.load(from, 48)), 48);
    } else {
      memory.fill(at, 0, 64);
    }
  }
}

function round_panel(half: bool, from: usize, depth: i32, to: usize): void {
  if (half) round_terms(true, from, depth, to);
  else round_terms(false, from, depth, to);
}

/**
 * Packs the terms [kk, kk + depth) of `columns` columns of b from `first` on, in panels. `wide`:
 * 64 · depth bytes per panel. `work`: WORK_BYTES and 64 · columns bytes.
 */
function pack_columns(
  half: bool, type: i32, transB: i32, b: usize, n: i32, k: i32, first: i32, columns: i32, kk: i32,
  depth: i32, wide: usize, to: usize, work: usize,
): void {
  const panels = (columns + LANES - 1) / LANES, size = (depth as usize) * 64;
  const padded = (((depth + TERMS - 1) & ~(TERMS - 1)) as usize) * 64;
  if (type >= 0 && !transB) widen_columns(type, b, n, kk, depth, first, columns, wide, work);
  for (let p = 0; p < panels; p++) {
    const column = first + p * LANES, count = min(LANES, n - column);
    let from = wide;
    if (type >= 0 && transB) {
      const weights = block_weights(type), panel = b + ((column / LANES) as usize) * panel_bytes(type, k);
      widen_panel(type, panel, count, k, kk / weights, depth / weights, wide, work);
    } else if (type >= 0) {
      from += (p as usize) * size;
    } else if (type == PACKED) {
      from = b + ((column as usize) * (k as usize) + (kk as usize) * LANES) * 4;
    } else if (transB) {
      const at = b + ((column as usize) * (k as usize) + (kk as usize)) * 4;
      transpose_to_panels(at, (k as usize) * 4, count, depth, wide, 0, 1, work);
    } else {
      const at = b + ((kk as usize) * (n as usize) + (column as usize)) * 4;
      matmul_pack(at, (n as usize) * 4, count, depth, 0, wide, 0, 1, work);
    }
    round_panel(half, from, depth, to + (p as usize) * padded);
  }
}

/** sums += part, `rows` rows of 16. */
function add_rows(sums: usize, sumStep: usize, part: usize, rows: i32): void {
  for (; rows > 0; rows--, sums += sumStep, part += 64) {
    const a = f32x4.add(v128.load(sums), v128.load(part));
    const b = f32x4.add(v128.load(sums, 16), v128.load(part, 16));
    const c = f32x4.add(v128.load(sums, 32), v128.load(part, 32));
    const d = f32x4.add(v128.load(sums, 48), v128.load(part, 48));
    v128.store(sums, b, 16);
    v128.store(sums, a);
    v128.store(sums, d, 48);
    v128.store(sums, c, 32);
  }
}

/** sums [rows, 16] += the products of `terms` packed terms; `part`: 384 bytes. */
function add_terms(
  s: usize, sStep: usize, v: usize, terms: i32, rows: i32, sums: usize, sumStep: usize, part: usize,
): void {
  for (; terms > 0; terms -= TERMS, s += 128, v += 2048) {
    tile_rows(rows, s, sStep, v, 64, part, 64, HALF, 1, false);
    tile_rows(rows, s + 64, sStep, v + 1024, 64, part, 64, HALF, 1, true);
    add_rows(sums, sumStep, part, rows);
  }
}

/** out [rows, columns] = (with `accumulate` +=) alpha · sums. */
function put_sums(
  sums: usize, sumStep: usize, out: usize, outStep: usize, rows: i32, columns: i32, alpha: f32,
  accumulate: i32,
): void {
  for (; rows > 0; rows--, sums += sumStep, out += outStep) {
    for (let j: usize = 0; j < (columns as usize) * 4; j += 4) {
      const value = alpha * load<f32>(sums + j);
      store<f32>(out + j, accumulate ? load<f32>(out + j) + value : value);
    }
  }
}

/**
 * The rows [row, row + rows) × the columns [first, first + columns) of out [*, n] = (with
 * `accumulate` +=) alpha · a·b; the other arguments are those of matmul_bf16.
 */
function multiply_part(
  half: bool, type: i32, transB: i32, a: usize, b: usize, out: usize, n: i32, k: i32, row: i32,
  rows: i32, first: i32, columns: i32, unitColumns: i32, slice: i32, alpha: f32, accumulate: i32,
  scratch: usize,
): void {
  const width = (k + TERMS - 1) & ~(TERMS - 1), outStep = (n as usize) * 4;
  const aStep = (width as usize) * 4, sumStep = (unitColumns as usize) * 4;
  const bytes = ((min(slice, width) * unitColumns) as usize) * 4;
  const wide = scratch + WORK_BYTES + (unitColumns as usize) * 64, packed = wide + bytes;
  const part = packed + bytes, kept = part + 384;
  let kk = 0;
  do {
    const depth = min(slice, k - kk), padded = (depth + TERMS - 1) & ~(TERMS - 1);
    pack_columns(half, type, transB, b, n, k, first, columns, kk, depth, wide, packed, scratch);
    for (let j = 0; j < columns; j += LANES) {
      const panel = packed + (j as usize) * (padded as usize) * 4;
      for (let i = 0; i < rows; i += TILE_ROWS) {
        const height = min(TILE_ROWS, rows - i);
        // The floats of `wide` are not needed any more.
        const sums = k > slice ? kept + (i as usize) * sumStep + (j as usize) * 4 : wide;
        const step = k > slice ? sumStep : 64;
        if (kk == 0) for (let r = 0; r < height; r++) memory.fill(sums + (r as usize) * step, 0, 64);
        const s = a + ((row + i) as usize) * aStep + (kk as usize) * 4;
        add_terms(s, aStep, panel, padded, height, sums, step, part);
        if (kk + depth < k) continue;
        const to = out + ((row + i) as usize) * outStep + ((first + j) as usize) * 4;
        put_sums(sums, step, to, outStep, height, min(LANES, columns - j), alpha, accumulate);
      }
    }
    kk += slice;
  } while (kk < k);
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · a·b; a is packed by bf16_pack_rows. b [k, n], or
 * [n, k] with `transB`, is of a storage type, of floats (−1), or packed (−2). Where r > 0, the
 * product of an adapter is added: loraScale · xa [m, r] · loraB [n, r]ᵀ, of which xa is packed.
 * Unit: `unitRows` rows × `unitColumns` columns (whole blocks); the columns vary fastest. `slice`
 * terms (whole blocks, and a multiple of 32; not fewer than r) are packed at once.
 * Scratch, with d = min(slice, max(k, r)) rounded up to 32: WORK_BYTES, 64 bytes per column of a
 * unit, 8 · d · unitColumns bytes, 384 bytes, and where k > slice 4 · unitRows · unitColumns bytes.
 */
export function matmul_bf16(
  type: i32, transB: i32, a: usize, b: usize, out: usize, m: i32, n: i32, k: i32, unitRows: i32,
  unitColumns: i32, slice: i32, alpha: f32, accumulate: i32, xa: usize, loraB: usize, r: i32,
  loraScale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  multiply(
    false, type, transB, a, b, out, m, n, k, unitRows, unitColumns, slice, alpha, accumulate, xa,
    loraB, r, loraScale, begin, end, scratch,
  );
}

/** The same in binary16; a and xa are packed by f16_pack_rows. */
export function matmul_f16(
  type: i32, transB: i32, a: usize, b: usize, out: usize, m: i32, n: i32, k: i32, unitRows: i32,
  unitColumns: i32, slice: i32, alpha: f32, accumulate: i32, xa: usize, loraB: usize, r: i32,
  loraScale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  multiply(
    true, type, transB, a, b, out, m, n, k, unitRows, unitColumns, slice, alpha, accumulate, xa,
    loraB, r, loraScale, begin, end, scratch,
  );
}

function multiply(
  half: bool, type: i32, transB: i32, a: usize, b: usize, out: usize, m: i32, n: i32, k: i32,
  unitRows: i32, unitColumns: i32, slice: i32, alpha: f32, accumulate: i32, xa: usize, loraB: usize,
  r: i32, loraScale: f32, begin: i32, end: i32, scratch: usize,
): void {
  const groups = (n + unitColumns - 1) / unitColumns;
  for (let unit = begin; unit < end; unit++) {
    const row = (unit / groups) * unitRows, rows = min(unitRows, m - row);
    const first = (unit % groups) * unitColumns, columns = min(unitColumns, n - first);
    multiply_part(
      half, type, transB, a, b, out, n, k, row, rows, first, columns, unitColumns, slice, alpha,
      accumulate, scratch,
    );
    if (r > 0) {
      multiply_part(
        half, FLOATS, 1, xa, loraB, out, n, r, row, rows, first, columns, unitColumns, slice,
        loraScale, 1, scratch,
      );
    }
  }
}

/**
 * The panels of all columns of b, which is as in matmul_bf16. Unit: `unitColumns` columns (whole
 * blocks). Scratch: WORK_BYTES, and for each column of a unit 64 bytes and 4 bytes a term.
 */
export function bf16_pack_columns(
  type: i32, transB: i32, b: usize, n: i32, k: i32, unitColumns: i32, packed: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  pack_units(false, type, transB, b, n, k, unitColumns, packed, begin, end, scratch);
}

/** The same in binary16. */
export function f16_pack_columns(
  type: i32, transB: i32, b: usize, n: i32, k: i32, unitColumns: i32, packed: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  pack_units(true, type, transB, b, n, k, unitColumns, packed, begin, end, scratch);
}

function pack_units(
  half: bool, type: i32, transB: i32, b: usize, n: i32, k: i32, unitColumns: i32, packed: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const wide = scratch + WORK_BYTES + (unitColumns as usize) * 64;
  for (let unit = begin; unit < end; unit++) {
    const first = unit * unitColumns, columns = min(unitColumns, n - first);
    const to = packed + (first as usize) * row_bytes(k);
    pack_columns(half, type, transB, b, n, k, first, columns, 0, k, wide, to, scratch);
  }
}

/** Rows of a unit of matmul_bf16_rows. */
const UNIT_ROWS = 32;

/**
 * The product of matmul_bf16 for many rows, a [m, k] or [k, m] with `transA`. b and loraB are
 * packed by bf16_pack_columns. Unit: UNIT_ROWS rows × `unitColumns` columns; the rows vary fastest.
 * Scratch: UNIT_ROWS rows of a and of xa with terms rounded up to 32, and 768 bytes.
 */
export function matmul_bf16_rows(
  a: usize, transA: i32, b: usize, out: usize, m: i32, n: i32, k: i32, unitColumns: i32, alpha: f32,
  accumulate: i32, xa: usize, loraB: usize, r: i32, loraScale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  multiply_units(
    false, a, transA, b, out, m, n, k, unitColumns, alpha, accumulate, xa, loraB, r, loraScale,
    begin, end, scratch,
  );
}

/** The same in binary16; b and loraB are packed by f16_pack_columns. */
export function matmul_f16_rows(
  a: usize, transA: i32, b: usize, out: usize, m: i32, n: i32, k: i32, unitColumns: i32, alpha: f32,
  accumulate: i32, xa: usize, loraB: usize, r: i32, loraScale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  multiply_units(
    true, a, transA, b, out, m, n, k, unitColumns, alpha, accumulate, xa, loraB, r, loraScale,
    begin, end, scratch,
  );
}

function multiply_units(
  half: bool, a: usize, transA: i32, b: usize, out: usize, m: i32, n: i32, k: i32, unitColumns: i32,
  alpha: f32, accumulate: i32, xa: usize, loraB: usize, r: i32, loraScale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  const chunks = (m + UNIT_ROWS - 1) / UNIT_ROWS;
  for (let unit = begin; unit < end; unit++) {
    const row = (unit % chunks) * UNIT_ROWS, last = min(m, row + UNIT_ROWS);
    const first = (unit / chunks) * unitColumns, columns = min(unitColumns, n - first);
    const to = out + ((row as usize) * (n as usize) + (first as usize)) * 4;
    const panels = b + (first as usize) * row_bytes(k), low = loraB + (first as usize) * row_bytes(r);
    const rows = last - row, outStep = (n as usize) * 4;
    round_rows(half, a, m, k, transA, scratch, row, last);
    multiply_columns(scratch, panels, to, outStep, k, rows, columns, alpha, accumulate);
    if (r == 0) continue;
    round_rows(half, xa, m, r, 0, scratch, row, last);
    multiply_columns(scratch, low, to, outStep, r, rows, columns, loraScale, 1);
  }
}

function round_rows(
  half: bool, a: usize, m: i32, k: i32, transA: i32, to: usize, first: i32, last: i32,
): void {
  if (half) pack_rows(true, a, m, k, transA, to, first, last);
  else pack_rows(false, a, m, k, transA, to, first, last);
}

/** out [rows, columns] = (with `accumulate` +=) alpha · a·b of packed rows and columns. */
function multiply_columns(
  a: usize, b: usize, out: usize, outStep: usize, k: i32, rows: i32, columns: i32, alpha: f32,
  accumulate: i32,
): void {
  const step = row_bytes(k), part = a + UNIT_ROWS * step, sums = part + 384;
  for (let j = 0; j < columns; j += LANES) {
    for (let i = 0; i < rows; i += TILE_ROWS) {
      const height = min(TILE_ROWS, rows - i), s = a + (i as usize) * step;
      memory.fill(sums, 0, 384);
      const terms = (step / 4) as i32;
      add_terms(s, step, b + (j as usize) * step, terms, height, sums, 64, part);
      const to = out + (i as usize) * outStep + (j as usize) * 4;
      put_sums(sums, 64, to, outStep, height, min(LANES, columns - j), alpha, accumulate);
    }
  }
}
