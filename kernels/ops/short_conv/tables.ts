/** The tables of a short convolution over a batch, from the row before each row. */
import { NO_ROW } from "./spec.ts";

/** @param previous the row of the position before each row, or NO_ROW; smaller than the row */
export function convolutionTables(
  previous: Uint32Array,
  taps: number,
): Record<"before" | "after" | "users", Uint32Array> {
  const rows = previous.length, width = taps - 1;
  const before = new Uint32Array(rows * width), after = new Uint32Array(rows * width + 1);
  for (let row = 0; row < rows; row++) {
    let other = row;
    for (let t = 0; t < width; t++) {
      other = other === NO_ROW ? NO_ROW : previous[other]!;
      before[row * width + t] = other;
      if (other !== NO_ROW) after[other * width + t + 1]!++;
    }
  }
  for (let i = 0; i < rows * width; i++) after[i + 1]! += after[i]!;
  const next = after.slice(), users = new Uint32Array(after.at(-1)!);
  before.forEach((other, i) => {
    if (other === NO_ROW) return;
    users[next[other * width + i % width]!++] = Math.floor(i / width);
  });
  return { before, after, users };
}
