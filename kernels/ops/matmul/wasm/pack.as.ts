// Packing of the operand whose columns fill the vector lanes: panels of 16 columns, [k, 16] each, the
// columns beyond the matrix zero; and of a transposed operand whose rows are spread: tiles of rows.

const LANES = 16;

/** Panels of `source` [k, columns] (row stride in bytes), from panel `firstPanel` on; unit = panel. */
export function matmul_pack(
  source: usize,
  stride: usize,
  columns: i32,
  k: i32,
  firstPanel: i32,
  panels: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const size = (k as usize) * 64;
  for (let p = begin; p < end; p++) {
    const first = (firstPanel + p) * LANES;
    const count = min(LANES, columns - first);
    let from = source + (first as usize) * 4;
    let to = panels + (p as usize) * size;
    if (count == LANES) {
      for (let kk = 0; kk < k; kk++) {
        v128.store(to, v128.load(from));
        v128.store(to, v128.load(from, 16), 16);
        v128.store(to, v128.load(from, 32), 32);
        v128.store(to, v128.load(from, 48), 48);
        from += stride;
        to += 64;
      }
    } else {
      memory.fill(to, 0, size);
      for (let kk = 0; kk < k; kk++) {
        for (let c = 0; c < count; c++) {
          store<f32>(to + (c as usize) * 4, load<f32>(from + (c as usize) * 4));
        }
        from += stride;
        to += 64;
      }
    }
  }
}

/** Steps along k that are copied tile by tile, so that their lines are read from the first cache. */
const TILE_STEPS = 16;

/**
 * Copies `source` [k, rows] (row stride in bytes) to tiles of `low` rows, the first `high` ones a row
 * more: tile by tile [k, height], so that a tile is read in order. Unit = tile.
 */
export function matmul_pack_tiles(
  source: usize,
  stride: usize,
  low: i32,
  high: i32,
  k: i32,
  packed: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  for (let first = 0; first < k; first += TILE_STEPS) {
    const steps = min(TILE_STEPS, k - first);
    const line = source + (first as usize) * stride;
    for (let t = begin; t < end; t++) {
      const height = t < high ? low + 1 : low;
      const row = (t * low + min(t, high)) as usize;
      let a = line + row * 4;
      let b = packed + (row * (k as usize) + (first as usize) * (height as usize)) * 4;
      if (height == 6) {
        for (let i = 0; i < steps; i++, a += stride, b += 24) {
          v128.store(b, v128.load(a));
          store<i64>(b, load<i64>(a, 16), 16);
        }
      } else if (height == 5) {
        for (let i = 0; i < steps; i++, a += stride, b += 20) {
          v128.store(b, v128.load(a));
          store<i32>(b, load<i32>(a, 16), 16);
        }
      } else {
        for (let i = 0; i < steps; i++, a += stride) {
          for (let c = 0; c < height; c++, b += 4) store<f32>(b, load<f32>(a + (c as usize) * 4));
        }
      }
    }
  }
}
