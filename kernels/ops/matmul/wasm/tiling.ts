/** How products are cut for the register tiles of the WASM device (tiles.as.ts). */

/** Rows of the highest tile. */
export const TILE_ROWS = 6;
/**
 * Most terms that are summed one after the other; block sums are then added. Bounds both the panel
 * slice (64 bytes a term, to stay in the first-level cache) and the rounding error: a single running
 * sum of random products exceeds 4·2⁻²⁴·Σ|a·b| once in some 10⁵ elements, two half as long do not.
 */
export const K_BLOCK = 320;
/** Products at least this deep are summed in two blocks or more. */
const SPLIT_FROM = 17;
/** Bytes of the row block that should stay in the second-level cache. */
const ROW_BLOCK_BYTES = 512 * 1024;
export const MOST_BLOCK_TILES = 16;
/** Work worth handing to a thread, in multiply-adds (about 2.5 µs). */
export const CHUNK_WORK = 130_000;

export function tileCount(rows: number): number {
  return Math.ceil(rows / TILE_ROWS);
}

/** Tiles of a row block: about equally many in each. */
export function blockTiles(rows: number, k: number): number {
  const tiles = tileCount(rows);
  const fitting = Math.floor(ROW_BLOCK_BYTES / (4 * TILE_ROWS * Math.max(1, k)));
  const most = Math.max(2, Math.min(MOST_BLOCK_TILES, fitting));
  return Math.ceil(tiles / Math.ceil(tiles / most));
}

/** Terms of a sum of k that are added up one after the other before their block is added to the others. */
export function termsInOrder(k: number): number {
  const kBlocks = Math.max(k < SPLIT_FROM ? 1 : 2, Math.ceil(k / K_BLOCK));
  return Math.max(1, Math.ceil(k / kBlocks));
}
