// Widens single rows of a stored weight.

import { widen_halves } from "./halves.as";
import { widen_panel, WORK_BYTES } from "./panel.as";
import { BF16, block_weights, F16, panel_bytes } from "./types.as";

const LANES = 16;

/** Number of weights of a row that are widened at once, with those of the panel's 15 other rows. */
const ROW_CHUNK = 512;

/** Bytes of scratch of widen_row. */
export const ROW_BYTES: usize = WORK_BYTES + ROW_CHUNK * 64;

/** Widens row `row` of a weight [*, k] in any storage type. `work`: ROW_BYTES. */
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
