/** A curve in braille characters, each of which has 2 × 4 dots. */

/** The bits of a character's dots, by column and by row from the top. */
const DOTS = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]] as const;

/**
 * The lines of a curve: the values from left to right, from the lowest at the bottom to the highest
 * at the top.
 * @param values at least one
 * @param width characters of a line
 * @param height lines
 */
export function brailleCurve(values: readonly number[], width: number, height: number): string[] {
  const low = Math.min(...values), size = Math.max(...values) - low || 1;
  const cells = Array.from({ length: height }, () => new Uint8Array(width));
  const across = 2 * width, down = 4 * height;
  let before: number | null = null;
  for (let x = 0; x < across; x++) {
    const at = values.length === 1 ? 0 : x * (values.length - 1) / (across - 1);
    const left = values[Math.floor(at)]!, right = values[Math.ceil(at)]!;
    const value = left + (right - left) * (at % 1);
    const y = Math.round((down - 1) * (1 - (value - low) / size));
    // Steep parts are joined, so that the curve has no gaps.
    const [from, to] = before === null ? [y, y] : y > before ? [before + 1, y] : [y, before - 1];
    for (let row = Math.min(from, y); row <= Math.max(to, y); row++) {
      cells[row >> 2]![x >> 1]! |= DOTS[x % 2]![row % 4]!;
    }
    before = y;
  }
  return cells.map((line) => String.fromCharCode(...Array.from(line, (bits) => 0x2800 + bits)));
}
