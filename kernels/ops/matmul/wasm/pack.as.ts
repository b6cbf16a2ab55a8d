// Packs the operand V, whose columns fill the lanes of vectors, in panels of 16 columns, [k, 16]
// each; columns beyond the matrix are zero. Packs a transposed operand S, whose elements are
// broadcast, in tiles of rows.

const LANES = 16;

/** Number of rows of the source that are copied at once, in the order of memory. */
const TILE_STEPS = 16;

/**
 * Panels of `source` [k, columns] (row stride in bytes), from panel `firstPanel` on. Unit: a panel.
 */
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
  for (let row = 0; row < k; row += TILE_STEPS) {
    const steps = min(TILE_STEPS, k - row);
    const line = source + (row as usize) * stride;
    for (let p = begin; p < end; p++) {
      const first = (firstPanel + p) * LANES;
      const count = min(LANES, columns - first);
      let from = line + (first as usize) * 4;
      let to = panels + (p as usize) * size + (row as usize) * 64;
      if (count == LANES) {
        for (let i = 0; i < steps; i++) {
          v128.store(to, v128.load(from));
          v128.store(to, v128.load(from, 16), 16);
          v128.store(to, v128.load(from, 32), 32);
          v128.store(to, v128.load(from, 48), 48);
          from += stride;
          to += 64;
        }
      } else {
        memory.fill(to, 0, (steps as usize) * 64);
        for (let i = 0; i < steps; i++) {
          for (let c = 0; c < count; c++) {
            store<f32>(to + (c as usize) * 4, load<f32>(from + (c as usize) * 4));
          }
          from += stride;
          to += 64;
        }
      }
    }
  }
}

/**
 * Copies `source` [k, rows] (row stride in bytes) to tiles [k, height], which a product reads in
 * order. The first `high` tiles have low + 1 rows, the others `low`. Unit: a tile.
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
