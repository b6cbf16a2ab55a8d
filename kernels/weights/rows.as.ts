// A single row of a stored weight, widened.

import { widen_halves } from "./halves.as";
import { widen_panel, WORK_BYTES } from "./panel.as";
import { BF16, block_weights, F16, panel_bytes } from "./types.as";

const LANES = 16;

/** Weights of a row that are widened at once, with their 15 neighbours. */
const ROW_CHUNK = 512;

/** Scratch of widen_row. */
export const ROW_BYTES: usize = WORK_BYTES + ROW_CHUNK * 64;

/** Row `row` of a weight [*, k] in any storage type, to `to`. `work`: ROW_BYTES. */
export function widen_row(
  type: i32, w: usize, k: i32, row: i32, to: usize, work: usize,
): void {
  if (type == F16 || type == BF16) {
    widen_halves(w + (row as usize) * (k as usize) * 2, to, k, type == BF16 ? 1 : 0);
    return;
  }
  const weights = block_weights(type);
  const panel = w + ((row / LANES) as usize) * panel_bytes(type, k);
  const wide = work + WORK_BYTES;
  for (let kk = 0; kk < k; kk += ROW_CHUNK) {
    const count = min(ROW_CHUNK, k - kk);
    widen_panel(type, panel, LANES, k, kk / weights, count / weights, wide, work);
    let from = wide + ((row % LANES) as usize) * 4;
    for (let i = 0; i < count; i++, from += 64, to += 4) store<f32>(to, load<f32>(from));
  }
}
