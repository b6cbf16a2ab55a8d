// Copies rows of q, k, v and their gradients into the forms of tile.as.ts and back. A table of byte
// offsets says where the rows of a tile are in memory: a division for each of them would cost as
// much as copying it.
import { PANEL_BYTES, TILE, TILE_BYTES } from "./tile.as";

/** Bytes of a table of offsets. */
export const OFFSET_BYTES: usize = TILE_BYTES;

/**
 * Offsets of a tile whose element i is row i / group, head i % group. Rows are `stride` bytes and
 * heads `head` bytes apart (group = 1 for keys and values).
 */
export function tile_offsets(table: usize, stride: usize, head: usize, group: i32): void {
  let row: usize = 0;
  for (let i = 0; i < TILE; row += stride) {
    let at = row;
    for (let h = 0; h < group && i < TILE; h++, i++, at += head) {
      store<u32>(table + ((i as usize) << 2), at as u32);
    }
  }
}

/** Address of element i of a tile. */
// @ts-ignore: decorator of AssemblyScript
@inline
export function element(base: usize, offsets: usize, i: i32): usize {
  return base + load<u32>(offsets + ((i as usize) << 2));
}

/**
 * target[c][i] = scale · source[i][c] for i < count. From `count` to the next multiple of 4 the
 * last element is repeated; the memory behind keeps its old content.
 */
export function pack_transposed(
  source: usize,
  offsets: usize,
  count: i32,
  headDim: i32,
  scale: f32,
  target: usize,
): void {
  const s = f32x4.splat(scale);
  const last = count - 1;
  for (let i = 0; i < count; i += 4) {
    let p0 = element(source, offsets, i);
    let p1 = element(source, offsets, min(i + 1, last));
    let p2 = element(source, offsets, min(i + 2, last));
    let p3 = element(source, offsets, min(i + 3, last));
    let t = target + ((i as usize) << 2);
    let c = 0;
    for (; c + 4 <= headDim; c += 4) {
      const a0 = f32x4.mul(v128.load(p0), s), a1 = f32x4.mul(v128.load(p1), s);
      const a2 = f32x4.mul(v128.load(p2), s), a3 = f32x4.mul(v128.load(p3), s);
      const low01 = v128.shuffle<f32>(a0, a1, 0, 4, 1, 5);
      const low23 = v128.shuffle<f32>(a2, a3, 0, 4, 1, 5);
      const high01 = v128.shuffle<f32>(a0, a1, 2, 6, 3, 7);
      const high23 = v128.shuffle<f32>(a2, a3, 2, 6, 3, 7);
      v128.store(t, v128.shuffle<f32>(low01, low23, 0, 1, 4, 5));
      v128.store(t, v128.shuffle<f32>(low01, low23, 2, 3, 6, 7), 384);
      v128.store(t, v128.shuffle<f32>(high01, high23, 0, 1, 4, 5), 768);
      v128.store(t, v128.shuffle<f32>(high01, high23, 2, 3, 6, 7), 1152);
      t += 4 * TILE_BYTES;
      p0 += 16;
      p1 += 16;
      p2 += 16;
      p3 += 16;
    }
    for (; c < headDim; c++) {
      store<f32>(t, load<f32>(p0) * scale);
      store<f32>(t, load<f32>(p1) * scale, 4);
      store<f32>(t, load<f32>(p2) * scale, 8);
      store<f32>(t, load<f32>(p3) * scale, 12);
      t += TILE_BYTES;
      p0 += 4;
      p1 += 4;
      p2 += 4;
      p3 += 4;
    }
  }
}

/** Panels of scale · source; columns from headDim to the next multiple of 16 become 0. */
export function pack_rows(
  source: usize,
  offsets: usize,
  count: i32,
  headDim: i32,
  scale: f32,
  target: usize,
): void {
  const s = f32x4.splat(scale);
  for (let i = 0; i < count; i++) {
    let p = element(source, offsets, i);
    let t = target + ((i as usize) << 6);
    let c = headDim;
    for (; c >= 16; c -= 16) {
      v128.store(t, f32x4.mul(v128.load(p), s));
      v128.store(t, f32x4.mul(v128.load(p, 16), s), 16);
      v128.store(t, f32x4.mul(v128.load(p, 32), s), 32);
      v128.store(t, f32x4.mul(v128.load(p, 48), s), 48);
      p += 64;
      t += PANEL_BYTES;
    }
    if (c > 0) {
      for (let e = 0; e < 16; e++) {
        store<f32>(t, e < c ? load<f32>(p) * scale : 0);
        p += 4;
        t += 4;
      }
    }
  }
}

/** The inverse of `pack_rows` without the padding: target = scale · panels. */
export function unpack_rows(
  panels: usize,
  target: usize,
  offsets: usize,
  count: i32,
  headDim: i32,
  scale: f32,
): void {
  for (let i = 0; i < count; i++) {
    unpack_row(panels + ((i as usize) << 6), element(target, offsets, i), headDim, scale);
  }
}

/** Copies one row out of panels: target = scale · row. */
// @ts-ignore: decorator of AssemblyScript
@inline
export function unpack_row(panel: usize, target: usize, headDim: i32, scale: f32): void {
  const s = f32x4.splat(scale);
  let c = headDim;
  for (; c >= 16; c -= 16) {
    v128.store(target, f32x4.mul(v128.load(panel), s));
    v128.store(target, f32x4.mul(v128.load(panel, 16), s), 16);
    v128.store(target, f32x4.mul(v128.load(panel, 32), s), 32);
    v128.store(target, f32x4.mul(v128.load(panel, 48), s), 48);
    target += 64;
    panel += PANEL_BYTES;
  }
  for (; c > 0; c--) {
    store<f32>(target, load<f32>(panel) * scale);
    target += 4;
    panel += 4;
  }
}
