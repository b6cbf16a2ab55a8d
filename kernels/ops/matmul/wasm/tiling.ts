/** How products are divided for the register tiles of the WASM device (native/c/tiles.h). */

/** Max number of rows of a register tile. */
export const TILE_ROWS = 6;
/**
 * Max number of terms that are summed in order before the sum is added to the output. It limits the
 * slice of a panel (64 bytes per term, which must stay in the first-level cache) and the rounding
 * error: the error of a single running sum of random products exceeds 4·2⁻²⁴·Σ|a·b| in about one of
 * 10⁵ elements, that of two sums of half the length does not.
 */
export const K_BLOCK = 320;
/** Sums of at least this many terms are made in two blocks or more. */
const SPLIT_FROM = 17;
/** Max bytes of a row block, which should stay in the second-level cache. */
const ROW_BLOCK_BYTES = 512 * 1024;
/** Max number of tiles in a row block. */
const MAX_BLOCK_TILES = 16;
/** Number of multiply-adds in a chunk of work (about 2.5 µs). */
export const CHUNK_WORK = 130_000;

export function tileCount(rows: number): number {
  return Math.ceil(rows / TILE_ROWS);
}

/** Number of tiles in a row block: about the same in each block. */
export function blockTiles(rows: number, k: number): number {
  const tiles = tileCount(rows);
  const fitting = Math.floor(ROW_BLOCK_BYTES / (4 * TILE_ROWS * Math.max(1, k)));
  const maxTiles = Math.max(2, Math.min(MAX_BLOCK_TILES, fitting));
  return Math.ceil(tiles / Math.ceil(tiles / maxTiles));
}

/** Number of terms in each block of a sum of k terms: they are summed in order. */
export function termsInOrder(k: number): number {
  const kBlocks = Math.max(k < SPLIT_FROM ? 1 : 2, Math.ceil(k / K_BLOCK));
  return Math.max(1, Math.ceil(k / kBlocks));
}
